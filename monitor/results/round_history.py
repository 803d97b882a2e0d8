"""The estimates of all rounds of a monitor: what `history` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.report import TimelinePoint
from monitor.domain.settings import Limits
from monitor.domain.state import RoundState
from monitor.presentation.estimates import WHATEVER
from monitor.presentation.numbers import interval_text, minute_text
from monitor.presentation.running import of_newest_history, running_lines
from monitor.presentation.table import Table
from monitor.report.figures import metric_svg
from monitor.results.result import Picture, Result, dump
from monitor.results.variation import variation_sentences
from monitor.rounds.reporting.report import read_monitor_timeline
from monitor.stats.core.counts import Interval
from monitor.storage.database import Database
from monitor.storage.results.estimate_store import latest_estimates
from monitor.storage.rounds import round_store
from monitor.storage.tables import estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import pandas as pd


_METRICS = ("precision", "recall")


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RoundHistory(Result):
    """The latest estimates of the closed rounds of a monitor, in slot order.

    ``estimates`` has a dict for each round, metric, estimand and basis; ``limits`` are the
    config's, by metric. ``variation`` has a sentence for each metric that moves more from round to
    round of the newest history than its labels explain. ``by_amount`` are the rounds that count by
    ``source.columns.weight``.
    """

    monitor: str
    estimates: list[dict[str, Any]]
    timeline: list[TimelinePoint]
    limits: Mapping[str, Sequence[float]]
    variation: Sequence[str] = ()
    by_amount: Sequence[int] = ()

    def document(self) -> Sequence[str | Table]:
        """Return precision and recall of the newest rounds, alone and with earlier ones."""
        if not self.timeline:
            return [f"{self.monitor}: no round is closed yet"]
        head = ["round", "slot", "precision", "with earlier", "recall", "with earlier", "alert"]
        names = [f"{metric}_{basis}" for metric in _METRICS for basis in ("round", "pooled")]
        rows = [
            [str(point.round), minute_text(point.slot)]
            + [_text(getattr(point, name)) for name in names]
            + ["fires" if point.alert else ""]
            for point in self.timeline
        ]
        return [Table(head, rows, right="0"), *self._remarks()]

    def _remarks(self) -> list[str]:
        shown = {point.round for point in self.timeline}
        numbers = {row["round"] for row in self.estimates}
        lines = [*self.variation, *running_lines(self.timeline)]
        if amounts := [str(number) for number in self.by_amount if number in shown]:
            which = "all" if len(amounts) == len(shown) else ", ".join(amounts)
            lines.append(f"rounds by amount (source.columns.weight): {which}")
        if len(numbers) > len(shown):
            lines.append(f"the newest {len(shown)} of {len(numbers)} rounds; to_frame() has all")
        partial = sorted(
            {row["round"] for row in self.estimates if row["bound_low"] is not None} & shown
        )
        if partial:
            lines.append(
                f"answers are missing in {', '.join(map(str, partial))}: these intervals are "
                f"worst-case bounds, which hold {WHATEVER}"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"monitor": ..., "estimates": [...]}``, ready for JSON."""
        return {"monitor": self.monitor, "estimates": dump(self.estimates)}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each round, metric, estimand and basis."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        columns = ["round", "slot", *(c.name for c in estimates.c if c.name != "round_id")]
        return pd.DataFrame(self.estimates, columns=columns)

    def plot(self, metric: str = "precision") -> Picture:
        """Draw precision or recall against the slots, with limits and alerts.

        Raises `InputRefused` if no round is closed yet, or the metric is another one.
        """
        if metric not in _METRICS:
            message = f"metric is {metric!r}; precision and recall can be drawn"
            raise InputRefused(message)
        if not self.timeline:
            message = f"there is nothing to draw: {self.document()[0]}"
            raise InputRefused(message)
        limits = self.limits.get(metric, ())
        return Picture(metric_svg(self.timeline, metric, limits, monitor=self.monitor))


def _text(triple: tuple[float, float, float] | None) -> str:
    return "-" if triple is None else interval_text(Interval(*triple))


def read_history(database: Database, monitor: str, limits: Limits, now: datetime) -> RoundHistory:
    """Read the history of a monitor from its store."""
    with database.read() as connection:
        rows = latest_estimates(connection, monitor)
        timeline = read_monitor_timeline(connection, monitor, now)
        closed = round_store.find_rounds(connection, monitor, states=[RoundState.CLOSED])
    comparable = {point.round for point in of_newest_history(timeline)}
    return RoundHistory(
        monitor=monitor,
        estimates=rows,
        timeline=timeline,
        limits={metric: list(bound.sides().values()) for metric, bound in limits.bounds.items()},
        variation=variation_sentences([row for row in rows if row["round"] in comparable], limits),
        by_amount=[round_.number for round_ in closed if round_.settings.by_amount],
    )
