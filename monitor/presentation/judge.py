"""Sentences about a judge, without full stops, and its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from monitor.domain.judge import AnyJudge, Judge, JudgedRow, JudgeRow, OnDemandJudge
from monitor.domain.model import Verdict
from monitor.domain.setting_types import Ends
from monitor.domain.values import listed
from monitor.presentation.numbers import NOT_ESTIMABLE, percent_text, plural, range_text
from monitor.presentation.table import Table

_RATES = {
    "says yes to positives": "tpr",
    "says yes to negatives": "fpr",
    "agreement with people (kappa)": "kappa",
}


SEGMENTS_OF_JUDGED = (
    "sizes by verdict are estimated from the items that the judge was to judge, and these "
    "intervals take them as counted"
)


def no_verdicts_sentence(fault: str) -> str:
    """Return the sentence that a window was drawn without its judge, and why."""
    return f"the judge has no verdicts, and labels are spent as without one: {fault}"


def waits_for_version_sentence(judge: OnDemandJudge, fault: str) -> str:
    """Return the sentence that a round waits to know which version its judge's alias names."""
    return (
        f"the judge's version is not known ({judge.name}): {fault}; the round tries again, for as "
        "long as judge.within says"
    )


def last_version_sentence(judge: OnDemandJudge, version: str, fault: str) -> str:
    """Return the sentence that a judge is taken for the version that the last round had."""
    return (
        f"the judge's version is not known ({judge.name}): {fault}; it is taken for version "
        f"{version}, as in the last round, and people label as without a judge"
    )


def changed_judge_sentence(judge: AnyJudge) -> str:
    """Return the sentence that a round was opened with a judge that the config has no longer."""
    return (
        f"the round was opened with the judge {judge.title}, which the config has no longer, so it "
        "is drawn without a judge"
    )


def unjudged_sentence(missing: int, size: int) -> str:
    """Return the sentence that the judge is silent on too many items."""
    return (
        f"the judge has no verdict on {missing:,} of {size:,} items "
        f"({percent_text(missing / size)}); people label these as without a judge"
    )


def positive_in_form_sentence(judge: Judge, values: Mapping[str, int]) -> str:
    """Return the sentence that some values are no yes only because of how they are written."""
    return (
        f"judge.column {judge.column!r} holds {listed(values)}, which differs from judge.positive "
        f"only in case, blanks, punctuation or a code fence, and so counts as {_counts_as(judge)}; "
        "is it meant? List it under judge.positive, or correct the column"
    )


def unlisted_verdicts_sentence(judge: Judge, values: Mapping[str, int]) -> str:
    """Return the sentence that some values may be no verdicts at all."""
    what = f"judge.column {judge.column!r} holds {listed(values)}"
    if judge.negative is None:
        return (
            f"{what}, which count as no; list the values that mean no under judge.negative, so "
            "that an item with any other value has no verdict"
        )
    return f"{what}, which neither judge.positive nor judge.negative lists, so they are no verdict"


def _counts_as(judge: Judge) -> str:
    return "no" if judge.negative is None else "no verdict"


def partly_judged_sentence(missing: int, requested: int, why: str) -> str:
    """Return the sentence that a judge that was asked is silent on too many items, and why."""
    return (
        f"the judge has no verdict on {missing:,} of the {requested:,} items that it was to judge "
        f"({percent_text(missing / requested)}): {why}; people label these as without a judge"
    )


def why_missing_text(faults: Mapping[str | None, int], stopped: str) -> str:
    """Return why items have no verdict: how many for which reason, and what ended the asking.

    >>> why_missing_text({"malformed": 3, None: 40}, "its time was over")
    '40 not asked about, 3 malformed; its time was over'
    """
    by_count = sorted(faults.items(), key=lambda one: -one[1])
    counted = ", ".join(f"{count:,} {fault or 'not asked about'}" for fault, count in by_count)
    return f"{counted}; {stopped}" if stopped else counted


def cost_sentence(row: JudgeRow) -> str:
    """Return what asking the judge has cost a round."""
    cost = [plural(row.calls or 0, "call")]
    cost += [plural(row.tokens, "token")] if row.tokens else []
    took = ", ".join([*cost, f"{row.seconds or 0:,.0f} s"])
    return f"to judge {plural(row.first_phase or 0, 'item')} took {took}"


def verdicts_text(sizes: Mapping[Verdict | None, int]) -> str:
    """Return how many items the judge says yes and no to."""
    yes, no, missing = (sizes[each] for each in (Verdict.YES, Verdict.NO, Verdict.MISSING))
    silent = f", nothing to {missing:,}" if missing else ""
    return f"the judge says yes to {yes:,}, no to {no:,}{silent}"


def saved_sentence(share: float) -> str:
    """Return the sentence on the labels that a judge saves, or costs.

    >>> saved_sentence(0.57)
    'it saves about 57 % of the labels that equal intervals would take without it'
    >>> saved_sentence(-0.002)
    'it saves no labels'
    """
    if round(share, 2) <= 0:
        return "it saves no labels"
    return (
        f"it saves about {percent_text(share, 2)} of the labels that equal intervals would take "
        "without it"
    )


def judge_moved_sentence(yes: int, expected: int) -> str:
    """Return the sentence that a judge says yes more often, or more seldom, than it did."""
    return (
        f"the judge says yes to {yes:,} of the items that it judged, where its verdicts in earlier "
        f"rounds would lead to {expected:,}: did the judge change, or the items? Estimates stay "
        "right, but need more labels until its rates are known again"
    )


def one_verdict_sentence(judge: AnyJudge, yes: int, no: int) -> str:
    """Return the sentence that the judge says the same of all items."""
    verdict = "yes" if yes else "no"
    return (
        f"the judge says {verdict} to all {yes + no:,} items that it has a verdict on, so it saves "
        f"no label; is its rule right ({judge.rule})?"
    )


def judge_tables(row: JudgeRow) -> Iterator[Table]:
    """Lay out the judge's rates, by the labels of this round and of all rounds together."""
    rows = [each for each in (row.alone, row.pooled) if each is not None]
    if rows:
        cells = [
            [text, *(_ends_text(getattr(each, name)) for each in rows)]
            for text, name in _RATES.items()
        ]
        yield Table(["the judge", *map(_head, rows)], cells)


def judge_lines(row: JudgeRow) -> Iterator[str]:
    """Describe what to know about the judge; it never counts as a label."""
    if row.alone is not None:
        share = percent_text(row.alone.yes / row.alone.size)
        about = "" if row.first_phase is None else "about "
        yield f"it says yes to {about}{row.alone.yes:,} of {row.alone.size:,} items ({share})"
    if row.first_phase is not None:
        yield cost_sentence(row)
    if row.saved is not None:
        yield saved_sentence(row.saved)
    if row.missing:
        why = f" ({row.why})" if row.why else ""
        yield unjudged_sentence(row.missing, row.size) + why
    yield "verdicts only decide which items people label; the estimates rest on people's labels"


def _head(row: JudgedRow) -> str:
    of = "this round" if row.rounds == 1 else plural(row.rounds, "round")
    return f"{of}, {plural(row.labeled, 'label')}"


def _ends_text(ends: Ends | None) -> str:
    if ends is None:
        return NOT_ESTIMABLE
    point, low, high = ends
    return f"{point:.3f} {range_text(low, high)}"
