"""What the monitors of a block of classes say together of one window: the payload of an effect."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from monitor.domain.setting_types import Report


class ClassRow(Report):
    """One class with its round of the window; ``missing`` says why it has no estimate."""

    value: str
    monitor: str | None
    round: int | None
    flagged: int | None = None
    labeled: int | None = None
    missing: str | None = None


class AverageRow(Report):
    """Precision or recall over all classes: ``macro`` or ``micro``.

    ``classes`` have their own value, ``left_out`` have none, few labels
    decide the values of ``few_labels``.
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
    """Precision and recall over the classes of a block, of one window and one state of its labels.

    ``averages`` is empty where a class is missing. ``round`` is the window's position among the
    block's, ``version`` grows with every report of the window. ``items`` counts the different items
    among the ``labels``. ``new`` and ``gone`` are classes that the window before did not have, or
    had. ``state`` is a digest of the rounds and labels that it rests on.
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
        """Find one of the averages."""
        return next(
            (row for row in self.averages if (row.average, row.metric) == (average, metric)), None
        )


@dataclass(frozen=True, slots=True)
class ClassOverview:
    """A block of classes at one moment, with what was last reported.

    ``waits_for`` are classes whose round of the newest window, due at ``slot``, has not ended; none
    if that is what was reported.
    """

    block: str
    classes: tuple[str, ...]
    report: ClassReport | None
    slot: datetime | None
    waits_for: tuple[str, ...]
