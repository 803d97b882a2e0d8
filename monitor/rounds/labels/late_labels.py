"""Whether positive labels become known later than ``matures`` says, and how much later."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from monitor.domain.crashpoint import outside
from monitor.domain.label_delays import DelayCurve, LabelDelays
from monitor.domain.model import BandEdges, Window
from monitor.domain.settings import Schedule
from monitor.domain.slots import newest_slot, window_of
from monitor.presentation.labels import late_labels_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.truth_reach import TruthReader
from monitor.stats.labels.delays import ArrivalCurve, Arrivals, arrival_curve

if TYPE_CHECKING:
    from monitor.domain.ports import ReadsTruth

WINDOWS = 8  # Windows that are read, in equal steps
OLDEST = 6  # Their ages go up to this many times the time to maturity
MOST_ITEMS = 5_000  # Items of each class and window that are looked up
FEWEST = 20  # positive labels to learn delays from
LATE_SHARE = 0.05
"""Share of late labels above which ``matures`` is reported as too short."""

LEAST_LATE = 0.01
"""Share of late labels above which a round's estimates allow for labels still to come."""

MOST_AGES = 40  # Of a stored curve

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DatedLabel:
    """A positive label of an item of a window, and when it became known."""

    flagged: bool
    window: Window
    at: datetime

    @property
    def age(self) -> float:
        """Age of the window in days when the label became known."""
        return _age(self.window, self.at)


@dataclass(frozen=True, slots=True)
class PastLabels:
    """Positive labels of some windows, by which ``matures`` is judged."""

    labels: Sequence[DatedLabel]
    matures: timedelta

    @property
    def concern(self) -> str | None:
        """Report that many labels became known later than ``matures``; None if few did.

        Uses the product-limit estimate of `monitor.stats.labels.delays.arrival_curve`, so that
        young windows, whose late labels are still to come, do not hide delays.
        """
        curve = self._curve(self.labels)
        late = 1 - curve.at(self.matures / _DAY).share
        if late <= LATE_SHARE:
            return None
        enough = math.ceil(curve.age_of(1 - LATE_SHARE))
        windows = [each.window for each in self.labels]
        span = min(each.start for each in windows), max(each.end for each in windows)
        since = self._late_since(enough)
        return late_labels_sentence(late, span, since, self.matures, timedelta(days=enough))

    @property
    def delays(self) -> LabelDelays | None:
        """Label delays of each class; None if hardly any label is late."""
        by_class = {
            flagged: [each for each in self.labels if each.flagged is flagged]
            for flagged in (True, False)
        }
        if min(map(len, by_class.values())) < FEWEST:
            by_class = {flagged: list(self.labels) for flagged in by_class}
        delays = LabelDelays(flagged=self._late(by_class[True]), passed=self._late(by_class[False]))
        return None if delays == LabelDelays() else delays

    def _late(self, labels: Sequence[DatedLabel]) -> DelayCurve | None:
        """Return the delay curve of a class from ``matures`` on; None if few labels are late."""
        curve, matures = self._curve(labels), self.matures / _DAY
        on_time = curve.at(matures)
        if 1 - on_time.share <= LEAST_LATE:
            return None
        later = [float(age) for age in curve.ages if age > matures]
        ages = later[:: math.ceil(len(later) / MOST_AGES)]
        if ages[-1] != later[-1]:
            ages.append(later[-1])
        points = [on_time, *map(curve.at, ages)]
        return DelayCurve(
            ages=(matures, *ages),
            shares=tuple(each.share for each in points),
            worth=tuple(each.worth for each in points),
        )

    def _curve(self, labels: Sequence[DatedLabel]) -> ArrivalCurve:
        newest = max(each.at for each in self.labels)  # a file may end before today
        arrivals = [Arrivals(each.age, each.age, 1, _age(each.window, newest)) for each in labels]
        return arrival_curve(arrivals, coarse=0.0)

    def _late_since(self, enough: float) -> datetime | None:
        """Return the start of the run of windows with late labels that ends with the newest one.

        None if the newest window is not late, or all are. Skips windows whose labels may still
        come.
        """
        newest = max(each.at for each in self.labels)
        ages: dict[Window, list[float]] = {}
        for label in self.labels:
            if _age(label.window, newest) >= enough:
                ages.setdefault(label.window, []).append(label.age)
        windows = sorted(ages, key=lambda window: window.end, reverse=True)
        late = list(takewhile(lambda window: self._is_late(ages[window]), windows))
        return late[-1].start if late and len(late) < len(windows) else None

    def _is_late(self, ages: Sequence[float]) -> bool:
        return sum(age > self.matures / _DAY for age in ages) > LATE_SHARE * len(ages)


def past_labels(
    context: MonitorContext, reader: TruthReader, matures: timedelta
) -> PastLabels | None:
    """Read when the positive labels of some windows became known; None if too few have a time.

    A backfill closes many rounds while these windows stay the same: they are read once.
    """
    windows = tuple(_windows(context.settings.round.schedule, context.clock(), matures))
    before = _LAST_READ.get(reader.labeler)
    if before is None or before[0] != windows:
        before = windows, _read(context, reader, windows)
        _LAST_READ[reader.labeler] = before
    labels = before[1]
    return None if len(labels) < FEWEST else PastLabels(labels, matures)


_LAST_READ: WeakKeyDictionary[ReadsTruth, tuple[tuple[Window, ...], list[DatedLabel]]]
_LAST_READ = WeakKeyDictionary()


def _read(
    context: MonitorContext, reader: TruthReader, windows: Sequence[Window]
) -> list[DatedLabel]:
    items: list[tuple[str, bool, Window]] = []
    for window in windows:
        with outside("scan"):
            frame = context.source.scan(window, BandEdges().strata(), MOST_ITEMS, "delays")
        for part in frame.strata:
            items += [(item, part.stratum.flagged, window) for item in reader.own(part)]
    since = _positive_since(reader.labeler, items)
    return [
        DatedLabel(flagged, window, since[item]) for item, flagged, window in items if item in since
    ]


def _positive_since(
    labeler: ReadsTruth, items: Sequence[tuple[str, bool, Window]]
) -> Mapping[str, datetime]:
    with outside("collect"):
        return labeler.positive_since({item for item, _, _ in items}) if items else {}


def _age(window: Window, at: datetime) -> float:
    return max(0.0, (at - window.end) / _DAY)


def _windows(schedule: Schedule, now: datetime, matures: timedelta) -> Iterator[Window]:
    """Return windows of different ages, the newest first."""
    step = OLDEST * matures / WINDOWS
    slots = {newest_slot(schedule, now - index * step) for index in range(1, WINDOWS + 1)}
    for slot in sorted(slots, reverse=True):
        yield window_of(schedule, slot)
