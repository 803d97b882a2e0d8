"""Sentences about a judge, without full stops, and its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from monitor.domain.judge import Judge, JudgedRow, JudgeRow
from monitor.domain.model import Verdict
from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Ends
from monitor.domain.values import listed
from monitor.presentation.numbers import NOT_ESTIMABLE, percent_text, plural, range_text
from monitor.presentation.parts.view import PartView, with_ends
from monitor.presentation.section import Section
from monitor.presentation.table import Table

_RATES = {
    "says yes to positives": "tpr",
    "says yes to negatives": "fpr",
    "Youden's J": "youden_j",
    "agreement with people (kappa)": "kappa",
}


def no_verdicts_sentence(fault: str) -> str:
    """Return the sentence that a window was drawn without its judge, and why."""
    return f"the judge has no verdicts, so items are drawn as without a judge: {fault}"


def unjudged_sentence(missing: int, size: int) -> str:
    """Return the sentence that the judge is silent on too many items."""
    return (
        f"the judge has no verdict on {missing:,} of {size:,} items "
        f"({percent_text(missing / size)}); people label these as without a judge"
    )


def positive_in_form_sentence(judge: Judge, values: Mapping[str, int]) -> str:
    """Return the sentence that some values are no yes only because of how they are written."""
    meaning = "no" if judge.negative is None else "no verdict"
    return (
        f"judge.column {judge.column!r} holds {listed(values)}, which differs from judge.positive "
        f"only in case, blanks, punctuation or a code fence, and so counts as {meaning}; "
        "is that intended? List it under judge.positive, or correct the column"
    )


def unlisted_verdicts_sentence(judge: Judge, values: Mapping[str, int]) -> str:
    """Return the sentence that some values may be no verdicts at all."""
    what = f"judge.column {judge.column!r} holds {listed(values)}"
    if judge.negative is None:
        return (
            f"{what}, which count as no; list the values that mean no under judge.negative, so "
            "that an item with any other value has no verdict"
        )
    return f"{what}, which neither judge.positive nor judge.negative lists; they are not verdicts"


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
        f"rounds predict {expected:,}: did the judge or the items change? Estimates stay valid, "
        "but need more labels until its new rates are known"
    )


def one_verdict_sentence(judge: Judge, yes: int, no: int) -> str:
    """Return the sentence that the judge says the same of all items."""
    verdict = "yes" if yes else "no"
    return (
        f"the judge says {verdict} to all {yes + no:,} items that it has a verdict on, so it saves "
        f"no label; is its rule right ({judge.rule})?"
    )


def majority_sentence(judge: Judge, yes: int, no: int, flagged: int) -> str:
    """Return the sentence that the judge says yes to most items where few are flagged."""
    return (
        f"the judge says yes to {yes:,} of the {yes + no:,} items that it has a verdict on, where "
        f"{flagged:,} are flagged; is its rule right ({judge.rule})?"
    )


def judge_lines(row: JudgeRow) -> Iterator[str]:
    """Describe what to know about the judge; it never counts as a label."""
    if row.alone is not None:
        share = percent_text(row.alone.yes / row.alone.size)
        yield f"it says yes to {row.alone.yes:,} of {row.alone.size:,} items ({share})"
    if row.saved is not None:
        yield saved_sentence(row.saved)
    if row.missing:
        yield unjudged_sentence(row.missing, row.size)
    yield "verdicts only decide which items people label; the estimates rest on people's labels"


def _head(row: JudgedRow) -> str:
    of = "this round" if row.rounds == 1 else plural(row.rounds, "round")
    return f"{of}, {plural(row.labeled, 'label')}"


def _ends_text(ends: Ends | None) -> str:
    if ends is None:
        return NOT_ESTIMABLE
    point, low, high = ends
    return f"{point:.3f} {range_text(low, high)}"


class JudgeView(PartView[JudgeRow | None]):
    """A section with the judge's rates, which MLflow logs too."""

    name = "judge"
    kind = JudgeRow

    def section(self, report: RoundReport) -> Section | None:
        """Lay out the judge's rates, by the labels of this round and of all rounds together."""
        row = self.of(report)
        if row is None:
            return None
        rows = [each for each in (row.alone, row.pooled) if each is not None]
        cells = [
            [text, *(_ends_text(getattr(each, name)) for each in rows)]
            for text, name in _RATES.items()
            # Reports of older rounds do not have it.
            if name != "youden_j" or any(each.youden_j for each in rows)
        ]
        tables = [Table(["the judge", *map(_head, rows)], cells)] if rows else []
        return Section(self.name, f"Judge: {row.title}", tables, [*judge_lines(row)])

    def figures(self, report: RoundReport) -> dict[str, float]:
        """Name the judge's rates, of this round and ``_pooled``, and the labels it saves."""
        row = self.of(report)
        if row is None or not row.size:
            return {}
        values = {"judge/missing": row.missing / row.size}
        for called, of in (("", row.alone), ("_pooled", row.pooled)):
            for name in () if of is None else _RATES.values():
                values |= with_ends(f"judge/{name}{called}", getattr(of, name))
        return values if row.saved is None else {**values, "judge/saved": row.saved}


JUDGE = JudgeView()
