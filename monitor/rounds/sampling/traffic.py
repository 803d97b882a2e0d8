"""Lost traffic: a window, or a segment of it, that holds fewer items than windows like it did.

A source that loses its worst segment makes every metric better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from monitor.presentation.windows import lost_traffic_sentence
from monitor.rounds.sampling.plausibility import Concern
from monitor.storage.rounds import round_store, window_store

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Window
    from monitor.domain.settings import RoundSettings, Schedule
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.window_store import DrawnWindow

LOST = "lost_traffic"

LEVEL = 0.005  # Share of ordinary windows of which fewer rows are reported
SEGMENT_LEVEL = 0.002  # The same of all segments that are watched, together (Bonferroni)
WINDOWS = 12  # Windows like this one that are compared: of a daily schedule, of the same weekday
_FAR = 600  # rounds: of hourly ones, each hour of the week thrice
_NEARLY_A_WEEK = timedelta(days=6)

_Count = tuple[str, str] | None
"""What is counted: all rows, or the items with a value of a segment column."""


def lost_traffic(
    context: MonitorContext, frame: Frame, slot: datetime, settings: RoundSettings
) -> list[Concern]:
    """Compare the rows of a window, and of each of its segments, with windows like it."""
    now: dict[_Count, float] = {None: frame.rows, **_segments(frame)}
    before = _counts_before(context, frame.window, slot, settings.schedule, now)
    lost = [
        (None if name is None else f"{name[0]} {name[1]!r}", int(now.get(name, 0)), expected)
        for name, expected in reported(now, before).items()
    ]
    if not lost:
        return []
    sentence = lost_traffic_sentence(frame.window, lost, windows=len(before))
    return [Concern(LOST, sentence)]


def reported(
    now: Mapping[_Count, float], before: Sequence[Mapping[_Count, float]]
) -> dict[_Count, float]:
    """Give what is to be expected of counts that earlier ones, oldest first, show to be too low."""
    from monitor.stats.drift.volume import expected_count  # noqa: PLC0415  scipy takes half a second

    last, watched = before[-WINDOWS:], {}
    for name in sorted({name for counts in last for name in counts}, key=lambda each: each or ()):
        result = expected_count(now.get(name, 0.0), [counts.get(name, 0.0) for counts in last])
        if result is not None:
            watched[name] = result
    return {
        name: result.count
        for name, result in watched.items()
        if result.probability < (LEVEL if name is None else SEGMENT_LEVEL / len(watched))
    }


def _segments(frame: Frame) -> Counter[_Count]:
    counts: Counter[_Count] = Counter()
    for part in frame.strata:
        for column, sizes in zip(frame.segment_columns, part.segments, strict=True):
            counts.update({(column, value): size for value, size in sizes.items()})
    return counts


def _counts_before(
    context: MonitorContext,
    window: Window,
    slot: datetime,
    schedule: Schedule,
    now: Mapping[_Count, float],
) -> list[dict[_Count, float]]:
    """Read the counts of windows like this one, oldest first, as if they were as long.

    Segment columns count that all of these windows and this one have.
    """
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        if monitor_id is None:
            return []
        drawn = window_store.drawn_windows(connection, monitor_id, before=slot, at_most=_FAR)
        similar = _similar(window, slot, schedule, drawn)
        ids = [each.round_id for each in similar]
        segments = window_store.segment_totals(connection, ids)
    columns = {name[0] for name in now if name is not None}
    length = window.end - window.start
    results: list[dict[_Count, float]] = []
    for each in reversed(similar):
        totals = segments.get(each.round_id, {})
        columns &= {name[0] for name in totals if name is not None}
        counts: dict[_Count, int] = {None: each.rows, **totals}
        scale = length / (each.window.end - each.window.start)
        results.append({name: count * scale for name, count in counts.items()})
    return [
        {name: count for name, count in counts.items() if name is None or name[0] in columns}
        for counts in results
    ]


def _similar(
    window: Window, slot: datetime, schedule: Schedule, drawn: Sequence[DrawnWindow]
) -> list[DrawnWindow]:
    """Choose the newest windows of like length; shorter than a week, of the same hour of it."""
    length, zone = window.end - window.start, ZoneInfo(schedule.time_zone)

    def place(at: datetime) -> str:
        return "" if length > _NEARLY_A_WEEK else at.astimezone(zone).strftime("%a%H%M")

    similar = [
        each
        for each in drawn
        if abs((each.window.end - each.window.start) / length - 1) <= 1 / 4
        and place(each.slot) == place(slot)
    ]
    return similar[:WINDOWS]
