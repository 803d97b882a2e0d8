"""Sentences about a challenger, without full stops, and its table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from monitor.domain.challenger import ChallengerRow, ComparedMetric, ComparisonRow
from monitor.domain.model import Decisions
from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Ends
from monitor.presentation.estimates import answered_at_random_text
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    difference_text,
    interval_text,
    percent_text,
    plural,
    score_range_text,
    signed_text,
)
from monitor.presentation.parts.view import PartView, with_ends
from monitor.presentation.section import Section
from monitor.presentation.table import Table

_LEAST = 0.001  # Simulated probabilities beyond it are not known to a digit
HEAD = ["metric", "classifier", "challenger", "difference", "P(challenger higher)"]
_DESCRIPTIONS = ("precision", "recall")
NOT_READ = "its decisions could not be read when the round was drawn"
NO_DECISIONS = "its source has no decisions of challengers"
FEW_LABELS = "too few labels, or none of what it flags is among them"
ONE_ANALYSIS = (
    "each interval is valid for a single look: stopping at the first round whose interval excludes "
    "0 is wrong more often"
)


def undecided_reason(undecided: int, size: int, allowed: float) -> str:
    """Return the sentence that the challenger made no decision on too many items."""
    return (
        f"it made no decision on {undecided:,} of {size:,} items, more than bad_rows_max = "
        f"{allowed:g} allows"
    )


def fault_sentence(title: str, fault: str) -> str:
    """Return the sentence that a window was drawn without its challenger, and why."""
    return f"challenger {title} is not compared: {fault}"


def undecided_sentence(title: str, decided: Decisions, size: int) -> str:
    """State that items on which the challenger did not decide count as not flagged."""
    share = percent_text(decided.undecided / size, 2)
    return (
        f"challenger {title} made no decision on {decided.undecided:,} items ({share}); they count "
        "as not flagged by it"
    )


def extreme_sentence(title: str, decided: Decisions, size: int) -> str:
    """Return the sentence that a challenger flags nothing, or everything."""
    what = "nothing" if decided.flagged == 0 else "everything"
    scores = "" if decided.low is None else f" (its scores go from {_ends_text(decided)})"
    return f"challenger {title} flags {what} of {size:,} items{scores}; is its threshold right?"


def scale_sentence(title: str, decided: Decisions) -> str:
    """State that the challenger's scores are of another scale than the classifier's."""
    return (
        f"the scores of challenger {title} go from {_ends_text(decided)}, the classifier's lie "
        "between 0 and 1; is its threshold meant for such scores?"
    )


def same_sentence(title: str, size: int) -> str:
    """Return the sentence that the challenger decides as the classifier does."""
    return (
        f"challenger {title} flags the same items as the classifier, all {size:,} alike, so the "
        "difference is 0; is it another classifier's column?"
    )


def challenger_tables(row: ChallengerRow) -> Iterator[Table]:
    """Lay out each comparison."""
    for comparison in row.comparisons:
        labels = f"{comparison.labeled:,} labels, {comparison.positive:,} of them positive"
        rounds = "this round" if comparison.rounds == 1 else f"{comparison.rounds} rounds together"
        rows = [_cells(metric) for metric in comparison.metrics]
        yield Table(HEAD, rows, title=f"{rounds}, {labels}")


def challenger_lines(row: ChallengerRow) -> Iterator[str]:
    """Describe what to know about the comparisons."""
    newest = row.pooled or row.alone
    if newest is None:
        return
    only_champion, only_challenger = map(_count, (newest.only_champion, newest.only_challenger))
    yield (
        f"of {newest.size:,} items the challenger flags {newest.flagged:,}; only the classifier "
        f"flags {only_champion}, only the challenger {only_challenger}"
    )
    if row.undecided:
        yield (
            f"on {plural(row.undecided, 'item')} of this window it made no decision; they count as "
            "not flagged by it"
        )
    for metric in newest.metrics:
        if metric.reason is not None:
            yield f"{metric.metric}: {metric.reason}"
    if newest.unlabeled:
        yield answered_at_random_text(newest.unlabeled, newest.rounds)
    yield ONE_ANALYSIS


def _description(row: ComparisonRow) -> str:
    return ", ".join(
        f"{metric.metric} {_difference(metric)}"
        for metric in row.metrics
        if metric.metric in _DESCRIPTIONS
    )


def _difference(metric: ComparedMetric) -> str:
    if metric.difference is None:
        return NOT_ESTIMABLE
    point, low, high = map(signed_text, metric.difference)
    return f"{point} ({low} to {high})"


def _cells(metric: ComparedMetric) -> list[str]:
    return [
        metric.metric,
        *(interval_text(_Ends(*ends or ())) for ends in (metric.champion, metric.challenger)),
        difference_text(_Ends(*metric.difference or ())),
        "" if metric.higher is None else _probability_text(metric.higher),
    ]


def _probability_text(probability: float) -> str:
    if probability < _LEAST:
        return f"under {_LEAST}"
    return f"over {1 - _LEAST}" if probability > 1 - _LEAST else f"{probability:.3f}"


class _Ends(NamedTuple):
    point: float | None = None
    low: float | None = None
    high: float | None = None


def _count(ends: Ends) -> str:
    point, low, high = (f"{round(each):,}" for each in ends)
    return point if low == high else f"{point} ({low} to {high})"


def _ends_text(decided: Decisions) -> str:
    return score_range_text(decided.low, decided.high)


class ChallengerView(PartView[ChallengerRow | None]):
    """A section with a table for each comparison, and its differences in MLflow."""

    name = "challenger"
    kind = ChallengerRow

    def section(self, report: RoundReport) -> Section | None:
        """Lay out the comparisons."""
        row = self.of(report)
        if row is None:
            return None
        if row.alone is None:
            parts = [f"challenger {row.name} is not compared: {row.reason}"]
        else:
            labels = f"{row.alone.labeled:,} labels"
            parts = [f"challenger {row.name} on the same {labels}: {_description(row.alone)}"]
        if row.pooled is not None:
            parts.append(f"after {plural(row.pooled.rounds, 'round')}: {_description(row.pooled)}")
        lines = ["; ".join(parts), *challenger_lines(row)]
        return Section(self.name, f"Challenger: {row.name}", [*challenger_tables(row)], lines)

    def figures(self, report: RoundReport) -> dict[str, float]:
        """Name the figures of the challenger, of this round and ``_pooled`` over several."""
        values: dict[str, float] = {}
        row = self.of(report)
        if row is None:
            return values
        for called, of in (("", row.alone), ("_pooled", row.pooled)):
            for metric in [] if of is None else filter(None, map(of.metric, _DESCRIPTIONS)):
                name = f"challenger/{metric.metric}"
                if not called and metric.challenger is not None:
                    values[name] = metric.challenger[0]
                values |= with_ends(f"{name}_difference{called}", metric.difference)
        return values
