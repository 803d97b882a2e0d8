"""Settings of earlier versions that no longer exist, and what replaces each."""

from __future__ import annotations

from monitor.config.yaml_tree import Way

_PAGE_CONTROLS = (
    "pages no longer mix gold items and repeats into tasks, which no estimate used; to measure "
    "label errors use `overlap`, or `checks` of a column"
)
_REFERENCE_FILE = (
    "`reference` takes the four counts tp, fp, fn and tn; `monitor.evaluate` prints them for a "
    "labeled file"
)
_JUDGE_KIND = (
    "the program no longer asks a judge, and each is a column: remove `kind`, and name the column "
    "in judge.column; examples/verdicts_of_an_llm.py writes the verdicts of an LLM into one"
)
_REMOVED = {
    "monitors.threshold_target": "pr-monitor threshold tells whether the threshold in use keeps a "
    "goal; a limit in `limits` alerts",
    "sample.second_wave": (
        "a first round asks for all of its labels at once; `plan` shows its margins and those of "
        "later rounds"
    ),
    "pages.tls": "put an https proxy in front of the pages and add `behind_proxy: true`",
    "labeling.gold": _PAGE_CONTROLS,
    "labeling.gold_share": _PAGE_CONTROLS,
    "labeling.gold_feedback": _PAGE_CONTROLS,
    "labeling.repeats": _PAGE_CONTROLS,
    "labeling.for": "write labeling as {flagged: ..., passed: ...}, a labeler under each",
    "labeling.audit": (
        "people measure a column's label errors: write labeling as {flagged: ..., passed: ..., "
        "checks: ...}, with `checks: N` in the column; for labels by people use `overlap`"
    ),
    "sample.segments": (
        "no labels go to the segment that looks worst; segments of source.columns.segments are "
        "searched without it, and a larger max_labels finds them sooner"
    ),
    **{
        f"reference.{name}": _REFERENCE_FILE
        for name in ("path", "value", "score", "predicted", "positive")
    },
    "judge.kind": _JUDGE_KIND,
    **{
        f"judge.{name}": "it belonged to judges that were asked; verdicts come from judge.column"
        for name in (
            *("url", "model", "prompt", "key", "key_file", "command", "environment"),
            *("batch", "items", "budget", "timeout", "retries", "concurrency", "within"),
        )
    },
}

REMOVED_KINDS = {
    "alertmanager": "Prometheus tells an Alertmanager of `pr_monitor_alert_firing` by an alerting "
    "rule (docs/how-to/alerts.md)",
}
"""Kinds of adapters that no longer exist, and what to use in place of each."""


def replacement_of(way: Way) -> str | None:
    """Return what to use in place of a removed setting; None if no version had it."""
    # A labeler may stand by itself, or under one of these.
    above = {"flagged", "passed", "checks"}
    names = [part for part in way if isinstance(part, str) and part not in above]
    return _REMOVED.get(".".join(names[-2:]))
