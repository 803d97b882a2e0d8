"""A round's window under another threshold or classifier: what `compare` returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.round import Round
from monitor.presentation.estimates import answered_at_random_text
from monitor.presentation.numbers import NOT_ESTIMABLE, difference_text, interval_text, percent_text
from monitor.presentation.reasons import undefined_reason
from monitor.presentation.table import Table
from monitor.results.estimates import draw_intervals
from monitor.results.other_predictions import OtherColumns, read_others
from monitor.results.result import Picture, Result
from monitor.rounds.context import MonitorContext
from monitor.rounds.forecast.compare import Compared, at_threshold, labeled_ids, with_others
from monitor.rounds.round_page import find_round
from monitor.stats.core.counts import Interval
from monitor.stats.estimation.paired import PairedMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RoundComparison(Result):
    """Precision, recall and F1 of a round's window, as it is and with another classifier.

    ``other`` names the other one: ``threshold 0.7``, or its file of predictions.
    """

    round: Round
    compared: Compared
    other: str

    def document(self) -> Sequence[str | Table]:
        """Return what it rests on, the table, and which is higher."""
        both, compared = self.compared.comparison, self.compared
        share = both.prevalence
        missing = [answered_at_random_text(compared.missing)] if compared.missing else []
        head = ["metric", "as it is", "other", "difference", "P(other higher)"]
        flagged = map(_items, (both.first_flagged, both.second_flagged))
        return [
            f"{self.round.monitor}, round {self.round.number}: as it is, and {self.other}",
            f"by {compared.labeled} labels, {compared.positive} of them positive; prevalence "
            f"{percent_text(share.point)} ({percent_text(share.low)} to "
            f"{percent_text(share.high)}); {100 * both.level:.4g}% intervals of this window's "
            "items",
            *missing,
            "",
            Table(head, [*map(_row, both.metrics), ["flagged", *flagged, "", ""]]),
            "",
            *(_sentence(paired, self.other) for paired in both.metrics),
            f"items flagged only as it is: {_items(both.only_first)}; only by the other: "
            f"{_items(both.only_second)}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all values; a metric that is not estimable has a ``reason``."""
        result = asdict(self.compared.comparison)
        result["metrics"] = [
            each | {"reason": each["reason"] and undefined_reason(each["reason"])}
            for each in result["metrics"]
        ]
        return {
            "monitor": self.round.monitor,
            "round": self.round.number,
            "other": self.other,
            "labeled": self.compared.labeled,
            "positive": self.compared.positive,
            "flagged_counted": self.compared.counted,
            "missing": self.compared.missing,
            **result,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each metric and classifier, and for the difference."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        names = ("as it is", self.other, "difference")
        rows = [
            {"metric": paired.metric, "of": name} | ({} if of is None else asdict(of))
            for paired in self.compared.comparison.metrics
            for name, of in zip(
                names, (paired.first, paired.second, paired.difference), strict=True
            )
        ]
        return pd.DataFrame(rows, columns=["metric", "of", "point", "low", "high"])

    def plot(self) -> Picture:
        """Draw the intervals of both.

        Raises `InputRefused` if no metric could be estimated.
        """
        rows = {
            f"{paired.metric}, {name}": interval
            for paired in self.compared.comparison.metrics
            for name, interval in (("as it is", paired.first), ("other", paired.second))
            if interval is not None
        }
        title = f"{self.round.monitor}, round {self.round.number}: as it is, and {self.other}"
        return Picture(draw_intervals(rows, title))


def compare_round(
    context: MonitorContext,
    number: int,
    *,
    threshold: float | None,
    file: Path | None,
    columns: OtherColumns,
) -> RoundComparison:
    """Compare a round's window with another threshold, or with predictions in a file.

    Raises `InputRefused` if there is no such round, it has no labels, or the file cannot be used.
    """
    with context.database.read() as connection:
        round_ = find_round(connection, context.settings.name, number)
        if file is None and threshold is not None:
            compared = at_threshold(connection, round_, threshold)
            return RoundComparison(round_, compared, f"threshold {threshold:g}")
        path = Path(file or "")
        ids = labeled_ids(connection, round_)
        at = round_.settings.threshold if threshold is None else threshold
        if columns.predicted is None and at is None:
            message = (
                "the monitor has no threshold for scores; give one, or the column of predicted"
            )
            raise InputRefused(message)
        others = read_others(path, ids, columns, at)
        return RoundComparison(round_, with_others(connection, round_, others), str(path))


def _row(paired: PairedMetric) -> list[str]:
    if paired.first is None or paired.second is None or paired.difference is None:
        return [paired.metric, NOT_ESTIMABLE, NOT_ESTIMABLE, "", ""]
    first, second = (interval_text(value) for value in (paired.first, paired.second))
    difference = difference_text(paired.difference)
    return [paired.metric, first, second, difference, f"{paired.higher:.3f}"]


def _sentence(paired: PairedMetric, other: str) -> str:
    if paired.difference is None:
        why = "" if paired.reason is None else undefined_reason(paired.reason)
        return f"{paired.metric}: {NOT_ESTIMABLE}: {why}"
    if paired.difference.low > 0:
        return f"{paired.metric} is higher with {other}"
    if paired.difference.high < 0:
        return f"{paired.metric} is lower with {other}"
    return f"{paired.metric}: these labels cannot tell which is higher"


def _items(interval: Interval) -> str:
    point, low, high = (
        f"{round(each):,}" for each in (interval.point, interval.low, interval.high)
    )
    return point if low == high else f"{point} ({low} to {high})"
