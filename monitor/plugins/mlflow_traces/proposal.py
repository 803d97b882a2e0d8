"""A first config for an experiment, made from its newest traces."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.domain.adapters import ProposedMonitor
from monitor.domain.errors import InputRefused
from monitor.domain.visible import visible
from monitor.files.sqlite_address import absolute_address
from monitor.files.yaml_text import monitor_name, yaml_text
from monitor.plugins.mlflow_traces.paths import leaves, there_are
from monitor.plugins.mlflow_traces.reading import TraceReader, items_of

if TYPE_CHECKING:
    from mlflow.entities import Trace

NEWEST = 1000  # traces that are read
_LIMIT = timedelta(minutes=10)
_MOST_CLASSES, _MOST_SHOWN, _MOST_LISTED = 2, 3, 8
_LEAST_TEXT = 3  # different texts, at least, of what people may read
_DECISION = re.compile(
    r"flag|block|pass|allow|toxic|unsafe|safe|violat|decision|verdict|predict|is_"
)
_SCORE = re.compile(r"score|prob|confidence")
_NEGATED = re.compile(
    r"(?<!un)(?<!in)(?<!dis)(?<!by)(?<!not)(?<!not_)(pass(?!word)|allow|safe|valid)|_ok"
)
"""Names whose truth or yes means "not flagged"."""

_TRUE, _FALSE = ("yes", "true", "1"), ("no", "false", "0")
_FLAGGED = ("flagged", "toxic", "unsafe", "block", "blocked", "fail", "positive")
_PASSED = ("safe", "ok", "pass", "passed", "allow", "allowed", "negative")
_USUAL = frozenset({*_TRUE, *_FALSE, *_FLAGGED, *_PASSED})


class _Values(NamedTuple):
    """What is at a path: how often each value."""

    path: str
    counts: Counter[str]
    kinds: frozenset[type]

    @property
    def is_truth(self) -> bool:
        return self.kinds == {bool}

    @property
    def is_bit(self) -> bool:
        return self.kinds == {int} and {*self.counts} <= {"0", "1"}

    @property
    def is_class(self) -> bool:
        return (self.is_bit or not self.is_number) and 1 <= len(self.counts) <= _MOST_CLASSES

    @property
    def is_number(self) -> bool:
        return bool(self.kinds) and self.kinds <= {int, float}

    @property
    def is_share(self) -> bool:
        numbers = [float(text) for text in self.counts] if self.is_number else []
        return len(numbers) > _MOST_CLASSES and min(numbers) >= 0 and max(numbers) <= 1

    @property
    def is_decision(self) -> bool:
        is_usual = not self.is_number and {text.lower() for text in self.counts} <= _USUAL
        is_named = _DECISION.search(self.path.rpartition(".")[2].lower()) is not None
        return self.is_class and (self.is_truth or is_usual or is_named)

    @property
    def positive(self) -> str | None:
        """The value that means flagged, as YAML; None where nothing tells."""
        is_negated = _NEGATED.search(self.path.rpartition(".")[2].lower())
        if self.is_truth:
            return "false" if is_negated else "true"
        if self.is_bit:
            return yaml_text("0" if is_negated else "1")
        flagged = {*_FLAGGED, *(_FALSE if is_negated else _TRUE)}
        matches = [text for text in self.counts if text.lower() in flagged]
        return yaml_text(matches[0]) if len(matches) == 1 else None


class _SpanValues(NamedTuple):
    """A span by its name, or the whole trace, and the values at its paths."""

    span: str | None
    is_guardrail: bool
    values: Mapping[str, _Values]

    def decisions(self) -> list[_Values]:
        roots = ("outputs", "attributes")
        return [each for path, each in self.values.items() if each.is_decision and _in(path, roots)]


def propose(
    experiment: str, folder: Path, tracking_uri: str, chosen: Mapping[str, str]
) -> ProposedMonitor:
    """Write the settings of a monitor of an experiment.

    chosen: What flags said, by setting: ``span``, ``predicted``, ``score``, ``threshold`` and
        ``positive``.

    Raises `InputRefused` if the traces do not decide, with a command to copy.
    """
    if "threshold" in chosen and ("score" not in chosen or "predicted" in chosen):
        message = "--threshold is for --score, and replaces --predicted; give one of the two"
        raise InputRefused(message)
    reader = TraceReader(absolute_address(tracking_uri, folder), experiment, _LIMIT)
    traces = reader.newest(NEWEST, spans=True)
    if not traces:
        message = f"{reader.location} has no traces yet; wait for the first, or log some"
        raise InputRefused(message)
    spans = _spans_of(traces, chosen.get("span"))
    if not spans:
        names = dict.fromkeys(span.name for trace in traces for span in trace.data.spans)
        message = (
            f"none of the {len(traces):,} newest traces has a span {chosen['span']!r} (--span). "
            f"There are {there_are(names, chosen['span'])}"
        )
        raise InputRefused(message)
    command = ["pr-monitor", "init", "--experiment", experiment, "--tracking-uri", tracking_uri]
    one = _of_decision(spans, chosen, command)
    predicted = _predicted(one, chosen, command)
    lines = [*_source(experiment, one, predicted, chosen), *_class(predicted, chosen, command)]
    name, question = (
        monitor_name(one.span or experiment) or "traces",
        _question_of(predicted, chosen),
    )
    return ProposedMonitor(name, tracking_uri, [*lines, *_judge(one)], question)


def _spans_of(traces: Sequence[Trace], span: str | None) -> list[_SpanValues]:
    types: dict[str | None, set[str]] = defaultdict(set)
    for trace in traces:
        for each in trace.data.spans:
            types[None if each.parent_id is None else each.name].add(str(each.span_type))
    names = [name for name in types if span is None or name == span]
    if span is not None and not names:
        is_root = any(each.name == span for trace in traces for each in trace.data.spans)
        names = [span] if is_root else []
    return [
        _SpanValues(name, "GUARDRAIL" in types[name], _values_of(traces, name)) for name in names
    ]


def _values_of(traces: Sequence[Trace], span: str | None) -> dict[str, _Values]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    kinds: defaultdict[str, set[type]] = defaultdict(set)
    for trace in traces:
        for item in items_of(trace, span):
            for path, value in leaves(item.parts):
                counts[path][value if isinstance(value, str) else json.dumps(value)] += 1
                kinds[path].add(type(value))
    return {path: _Values(path, each, frozenset(kinds[path])) for path, each in counts.items()}


def _of_decision(
    spans: Sequence[_SpanValues], chosen: Mapping[str, str], command: Sequence[str]
) -> _SpanValues:
    """Choose the span of the decision: the only one with a decision, or the only guardrail."""
    named = [chosen[name] for name in ("predicted", "score") if name in chosen]
    fitting = [one for one in spans if all(path in one.values for path in named)]
    if not named:
        fitting = [one for one in spans if one.decisions()]
    guardrails = [one for one in fitting if one.is_guardrail]
    for some in (fitting, guardrails):
        if len(some) == 1:
            return some[0]
    if named and not fitting:
        paths = [*dict.fromkeys(path for one in spans for path in one.values)]
        missing = next((path for path in named if path not in paths), " and ".join(named))
        message = f"no item has {missing}. There are {there_are(paths, missing)}"
        raise InputRefused(message)
    raise InputRefused(_question(fitting or spans, command))


def _question(spans: Sequence[_SpanValues], command: Sequence[str]) -> str:
    """Ask for the decision: list what there is, and a command for the likeliest."""
    lines = [
        f"  {'the trace' if one.span is None else f'span {one.span!r}'}: {_described(one)}"
        for one in spans[:_MOST_LISTED]
    ]
    likely = max(spans, key=lambda one: (one.is_guardrail, one.span is not None))
    span = [] if likely.span is None else ["--span", likely.span]
    decisions = [each.path for each in likely.decisions()]
    more = [*span, "--predicted", *(decisions[:1] or ["outputs.NAME"])]
    return _with_command(
        "which span has the decision (--span), and where (--predicted, or --score with "
        "--threshold)? There are",
        lines,
        shlex.join([*command, *more]),
    )


def _with_command(question: str, lines: Sequence[str], command: str) -> str:
    return "\n".join([question, *map(visible, lines), f"such as: {command}"])


def _described(one: _SpanValues) -> str:
    outputs = [each for path, each in one.values.items() if _in(path, ("outputs", "attributes"))]
    texts = [f"{each.path} ({_examples(each)})" for each in outputs[:_MOST_LISTED]]
    return ", ".join(texts) or "nothing in outputs"


def _examples(values: _Values) -> str:
    return " or ".join(text[:20] for text, _ in values.counts.most_common(_MOST_CLASSES))


def _source(
    experiment: str, one: _SpanValues, predicted: _Values | None, chosen: Mapping[str, str]
) -> Iterator[str]:
    score = chosen.get("score") or _only(one, _is_score)
    columns = {"predicted": predicted and predicted.path, "score": score}
    named = [f"{key}: {yaml_text(path)}" for key, path in columns.items() if path is not None]
    shown = [yaml_text(path) for path, each in one.values.items() if _is_readable(each)]
    if shown:
        named.append(f"show: [{', '.join(shown[:_MOST_SHOWN])}]")
    yield from (
        "    source:",
        "      kind: mlflow_traces",
        f"      experiment: {yaml_text(experiment)}",
    )
    if one.span is not None:
        yield f"      span: {yaml_text(one.span)}"
    yield f"      columns: {{{', '.join(named)}}}"
    if predicted is None:
        yield f"      threshold: {chosen['threshold']}"


def _predicted(
    one: _SpanValues, chosen: Mapping[str, str], command: Sequence[str]
) -> _Values | None:
    if "threshold" in chosen:
        return None
    if "predicted" in chosen:
        return one.values[chosen["predicted"]]
    decisions = one.decisions()
    if len(decisions) == 1:
        return decisions[0]
    raise InputRefused(_question([one], command))


def _class(
    predicted: _Values | None, chosen: Mapping[str, str], command: Sequence[str]
) -> list[str]:
    if predicted is None:
        return []
    positive = _positive(predicted, chosen)
    if positive is None:
        values = ", ".join(map(repr, predicted.counts))
        rarest = min(predicted.counts, key=predicted.counts.__getitem__)
        more = ["--predicted", predicted.path, "--positive", rarest]
        question = f"which value of {predicted.path} means flagged (--positive)? It has {values}"
        raise InputRefused(_with_command(question, [], shlex.join([*command, *more])))
    if positive == "true":
        return []
    lines = [f"      positive: {positive:<27} # this value means flagged"]
    if predicted.is_truth:
        return lines
    negatives = [text for text in map(yaml_text, predicted.counts) if text != positive]
    return [*lines, f"      negative: [{', '.join(negatives)}]"] if negatives else lines


def _positive(predicted: _Values, chosen: Mapping[str, str]) -> str | None:
    if "positive" not in chosen:
        return predicted.positive
    return chosen["positive"] if predicted.is_truth else yaml_text(chosen["positive"])


def _question_of(predicted: _Values | None, chosen: Mapping[str, str]) -> str:
    if predicted is None:
        return f"Is the score ({chosen['score']}) right to be high here?"
    name = predicted.path.rpartition(".")[2].replace("_", " ").removeprefix("is ")
    word = (_positive(predicted, chosen) or "").strip('"')
    if word.lower() in _TRUE:
        word = name
    elif word.lower() in _FALSE:
        word = f"not {name}"
    return f"Is this really {word}?"


def _judge(one: _SpanValues) -> Iterator[str]:
    """Write the only assessment that is a verdict of yes or no, if there is one."""
    verdicts = [
        each
        for path, each in one.values.items()
        if _in(path, ("assessments",)) and each.is_class and each.positive is not None
    ]
    if len(verdicts) == 1:
        name = verdicts[0].path.partition(".")[2]
        yield f"    judge: {{assessment: {yaml_text(name)}, positive: {verdicts[0].positive}}}"


def _only(one: _SpanValues, fits: Any) -> str | None:
    paths = [path for path, each in one.values.items() if fits(each)]
    return paths[0] if len(paths) == 1 else None


def _is_score(values: _Values) -> bool:
    return values.is_share and _in(values.path, ("outputs",)) and bool(_SCORE.search(values.path))


def _is_readable(values: _Values) -> bool:
    is_text = values.kinds == {str} and len(values.counts) >= _LEAST_TEXT
    return is_text and _in(values.path, ("inputs",))


def _in(path: str, roots: Sequence[str]) -> bool:
    return path.partition(".")[0] in roots
