"""Whether positive labels become known later than ``matures`` says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.domain.crashpoint import outside
from monitor.domain.model import BandEdges, Window
from monitor.domain.settings import Schedule
from monitor.domain.slots import newest_slot, window_of
from monitor.presentation.labels import late_labels_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.truth_reach import TruthReader
from monitor.stats.labels.delays import Arrivals, arrival_curve

WINDOWS = 8  # Windows that are looked at, in equal steps
OLDEST = 4  # Their ages go up to this many times the time to maturity
MOST_ITEMS = 5_000  # Items of each class and window that are looked up
FEWEST = 20  # positive labels: fewer say little of their delays
LATE_SHARE = 0.05
"""Share of late labels above which ``matures`` is called too short."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Delays:
    """Positive labels of the windows from ``start`` to ``end``, by their age in days."""

    arrivals: list[Arrivals]
    start: datetime
    end: datetime


def late_labels_concern(
    context: MonitorContext, reader: TruthReader, matures: timedelta
) -> str | None:
    """Report that many positive labels became known later than ``matures``; None if few did.

    By the product-limit estimate of `monitor.stats.labels.delays.arrival_curve`, so that young
    windows, whose late labels are still to come, do not hide these.
    """
    delays = _delays(context, reader, matures)
    if delays is None:
        return None
    curve = arrival_curve(delays.arrivals, coarse=0.0)
    late = 1 - curve.at(matures / _DAY).share
    if late <= LATE_SHARE:
        return None
    enough = float(curve.ages[curve.share >= 1 - LATE_SHARE][0])
    return late_labels_sentence(
        late, (delays.start, delays.end), matures, timedelta(days=math.ceil(enough))
    )


def _delays(context: MonitorContext, reader: TruthReader, matures: timedelta) -> _Delays | None:
    """Read when the positive labels of some windows became known; None if too few have a time."""
    dated: list[tuple[datetime, datetime]] = []
    windows = [*_windows(context.settings.round.schedule, context.clock(), matures)]
    for window in windows:
        with outside("scan"):
            frame = context.source.scan(window, BandEdges().strata(), MOST_ITEMS, "delays")
        ids = [item for part in frame.strata for item in reader.own(frame, part)]
        with outside("collect"):
            since = reader.labeler.positive_since(ids) if ids else {}
        dated += [(window.end, at) for at in since.values()]
    if len(dated) < FEWEST:
        return None
    newest = max(at for _, at in dated)  # a file may end before today
    arrivals = [_arrival(end, at, newest) for end, at in dated]
    ends = [end for end, _ in dated]
    start = min(window.start for window in windows if window.end == min(ends))
    return _Delays(arrivals, start, max(ends))


def _arrival(end: datetime, at: datetime, newest: datetime) -> Arrivals:
    age, bound = (max(0.0, (each - end) / _DAY) for each in (at, newest))
    return Arrivals(age, age, 1, bound)


def _windows(schedule: Schedule, now: datetime, matures: timedelta) -> Iterator[Window]:
    """Return windows of different ages, the newest first."""
    step = OLDEST * matures / WINDOWS
    slots = {newest_slot(schedule, now - index * step) for index in range(1, WINDOWS + 1)}
    for slot in sorted(slots, reverse=True):
        yield window_of(schedule, slot)
