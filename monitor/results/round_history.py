"""The estimates of all rounds of a monitor: what `history` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.presentation.numbers import interval_text, minute_text
from monitor.presentation.table import Table
from monitor.report.figures import metric_svg
from monitor.results.result import Picture, Result
from monitor.rounds.reporting.surroundings import monitor_timeline
from monitor.stats.core.counts import Interval
from monitor.storage.results.estimate_store import latest_estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from monitor.domain.report import TimelinePoint
    from monitor.rounds.context import MonitorContext

_METRICS = ("precision", "recall")


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class RoundHistory(Result):
    """The latest estimates of the closed rounds of a monitor, in slot order.

    ``estimates`` has a dict for each round, metric, estimand and basis; ``limits`` are the
    config's, by metric.
    """

    monitor: str
    estimates: list[dict[str, Any]]
    timeline: list[TimelinePoint]
    limits: Mapping[str, Sequence[float]]

    def document(self) -> Sequence[str | Table]:
        """Return a table of rounds: precision and recall, alone and with earlier rounds."""
        if not self.timeline:
            return [f"{self.monitor}: no round is closed yet"]
        head = ["round", "slot", "precision", "with earlier", "recall", "with earlier", "alert"]
        rows = [
            [
                str(point.round),
                minute_text(point.slot),
                *(
                    _text(getattr(point, f"{metric}_{basis}"))
                    for metric in _METRICS
                    for basis in ("round", "pooled")
                ),
                "fires" if point.alert else "",
            ]
            for point in self.timeline
        ]
        return [Table(head, rows, right="0")]

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"monitor": ..., "estimates": [...]}``."""
        return {"monitor": self.monitor, "estimates": self.estimates}

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each round, metric, estimand and basis."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        return pd.DataFrame(self.estimates)

    def plot(self, metric: str = "precision") -> Picture:
        """Draw precision or recall against the slots, with limits and alerts.

        Raises
        ------
        InputRefused
            If no round is closed yet, or the metric is another one.
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


def read_history(context: MonitorContext) -> RoundHistory:
    """Read the history of a monitor from its store."""
    name, bounds = context.settings.name, context.settings.round.limits.bounds
    with context.database.read() as connection:
        estimates = latest_estimates(connection, name)
    return RoundHistory(
        monitor=name,
        estimates=estimates,
        timeline=monitor_timeline(context.database, name, context.clock()),
        limits={metric: list(bound.sides().values()) for metric, bound in bounds.items()},
    )
