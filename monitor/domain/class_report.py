"""Report on all classes of a block for one window: the payload of an effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from monitor.domain.setting_types import Report


class ClassRow(Report):
    """One class and its round of the window; ``missing`` says why there is no estimate."""

    value: str
    monitor: str | None
    round: int | None
    flagged: int | None = None
    labeled: int | None = None
    missing: str | None = None


class AverageRow(Report):
    """Precision or recall over all classes: ``macro`` or ``micro``.

    ``classes`` counts the classes with a value, ``left_out`` names those without one,
    ``few_labels`` those whose value depends on few labels.
    """

    average: str
    metric: str
    point: float | None
    low: float | None
    high: float | None
    classes: int
    left_out: tuple[str, ...] = ()
    few_labels: tuple[str, ...] = ()
    reason: str | None = None


class ClassReport(Report):
    """Precision and recall over the classes of a block, for one window and one state of its labels.

    ``averages`` is empty if a class is missing. ``round`` numbers the windows of the block,
    ``version`` the reports of the window. ``items`` counts the distinct items among the ``labels``.
    ``new`` and ``gone`` are the classes that appeared or disappeared since the previous window.
    ``state`` is a digest of the rounds and labels behind the report.
    """

    store_id: str
    block: str
    slot: datetime
    window_start: datetime
    window_end: datetime
    round: int
    version: int
    state: str
    level: float
    classes: tuple[ClassRow, ...]
    averages: tuple[AverageRow, ...]
    labels: int = 0
    items: int = 0
    unlabeled: int = 0
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[ClassRow, ...]:
        """The classes without an estimate."""
        return tuple(row for row in self.classes if row.missing is not None)

    def average(self, average: str, metric: str) -> AverageRow | None:
        """Return the row of an average and a metric, or None."""
        return next(
            (row for row in self.averages if (row.average, row.metric) == (average, metric)), None
        )


@dataclass(frozen=True, slots=True)
class ClassOverview:
    """A block of classes now, with its latest report.

    ``waits_for`` are the classes whose round of the newest window, due at ``slot``, has not ended;
    empty if the newest window is already reported.
    """

    block: str
    classes: tuple[str, ...]
    report: ClassReport | None
    slot: datetime | None
    waits_for: tuple[str, ...]
