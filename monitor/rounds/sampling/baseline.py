"""Compare a window with earlier rounds, or with the reference, before it is labeled.

A source that loses its worst segment makes every metric better, so counts are watched too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from zoneinfo import ZoneInfo

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges, Frame, UsualRate, Window
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings, Schedule
from monitor.presentation import windows
from monitor.presentation.windows import few_rows_sentence, lost_traffic_sentence, old_rows_sentence
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling import plausibility
from monitor.rounds.sampling.plausibility import (
    Concern,
    Oddities,
    check_challenger,
    check_judge,
)
from monitor.storage.rounds import round_store
from monitor.storage.rounds.window_store import (
    DrawnWindow,
    drawn_windows,
    segment_totals,
    window_sizes,
)

ROUNDS = 8  # Earlier rounds that show how much is usually flagged: two months of weeks


def check_baseline(
    context: MonitorContext, frame: Frame, slot: datetime, settings: RoundSettings
) -> Oddities:
    """Compare a window with earlier ones; the flagged share of a first one with the reference."""
    sizes, drawn = _drawn_before(context, slot, settings)
    usual = _usually_flagged(sizes, settings)
    concerns = plausibility.flag_concerns(frame, usual, settings.threshold)
    concerns += plausibility.release_concerns(frame)
    concerns += plausibility.amount_concerns(frame, [size / rows for _, size, rows in sizes])
    late, notes = _late(context, drawn, settings)
    lost = lost_traffic(context, frame, slot, settings, drawn)
    others = check_challenger(frame, settings), check_judge(frame, settings)
    concerns += [*late, *lost, *(each for other in others for each in other.concerns)]
    return Oddities(tuple(concerns), (*notes, *(each for other in others for each in other.notes)))


def majority_sentence(
    context: MonitorContext, frame: Frame, slot: datetime, settings: RoundSettings
) -> str | None:
    """Report that most items are flagged, if there is no usual rate to compare with; else None."""
    flagged, size = frame.flagged_size, frame.size
    if not size < 2 * flagged < 2 * size:
        return None
    before, _ = _drawn_before(context, slot, settings)
    if _usually_flagged(before, settings) is not None:
        return None
    return windows.majority_flagged_sentence(
        flagged, size, has_threshold=settings.threshold is not None
    )


def _usually_flagged(
    sizes: Sequence[tuple[int, int, int]], settings: RoundSettings
) -> UsualRate | None:
    return _usual_of_rounds(sizes) if sizes else _usual_of_reference(settings)


def _drawn_before(
    context: MonitorContext, slot: datetime, settings: RoundSettings
) -> tuple[list[tuple[int, int, int]], list[DrawnWindow]]:
    """Read the sizes of the last windows before a slot, and all drawn windows, newest first."""
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, context.settings.name)
        if monitor_id is None:
            return [], []
        drawn = drawn_windows(connection, monitor_id, settings, before=slot, at_most=_FAR)
        # Another threshold flags another share; another model version should not.
        same = [each for each in drawn if each.threshold == settings.threshold]
        return window_sizes(connection, same[:ROUNDS]), drawn


def _usual_of_rounds(sizes: Sequence[tuple[int, int, int]]) -> UsualRate:
    """Return the usual flagged rate: the median of some rounds."""
    total = sum(size for _, size, _ in sizes)
    rate = median(flagged / size for flagged, size, _ in sizes)
    return UsualRate(rate * total, total, rounds=len(sizes))


def _usual_of_reference(settings: RoundSettings) -> UsualRate | None:
    matrix = settings.reference
    if matrix is not None:
        flagged = matrix.tp + matrix.fp
        return UsualRate(flagged, flagged + matrix.fn + matrix.tn)
    return None


def _late(
    context: MonitorContext, drawn: Sequence[DrawnWindow], settings: RoundSettings
) -> tuple[list[Concern], tuple[str, ...]]:
    """Count the window of the last round again: additional rows came after its draw."""
    if not drawn:
        return [], ()
    last = drawn[0]
    try:
        with outside("count"):
            late = context.source.count(last.window) - last.rows
    except SourceRefused:
        return [], ()
    if late > settings.bad_rows_max * (last.rows + late):
        sentence = windows.many_late_rows_sentence(last.number, last.rows, late)
        return [Concern(plausibility.LATE, sentence)], ()
    return [], (windows.late_rows_sentence(last.number, late),) if late > 0 else ()


LOST = "lost_traffic"
LEVEL = 0.005  # Share of ordinary windows that are reported
SEGMENT_LEVEL = 0.002  # The same for all segments together (Bonferroni)
WINDOWS = 12  # Windows like this one that are compared: of a daily schedule, of the same weekday
_FAR = 600  # rounds: of hourly ones, each hour of the week thrice
_NEARLY_A_WEEK = timedelta(days=6)
_Count = tuple[str, str] | None
"""What is counted: all rows, or the items with a value of a segment column."""


def lost_traffic(
    context: MonitorContext,
    frame: Frame,
    slot: datetime,
    settings: RoundSettings,
    drawn: Sequence[DrawnWindow],
) -> list[Concern]:
    """Compare the rows of a window, and of each of its segments, with similar windows."""
    now: dict[_Count, float] = {None: frame.rows, **_segments(frame)}
    similar = _similar(frame.window, slot, settings.schedule, drawn)
    before = _counts_before(context, frame.window, similar, now, _share(frame, settings))
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
    """Return the expected values of counts that are too low; ``before`` is oldest first."""
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
    similar: Sequence[DrawnWindow],
    now: Mapping[_Count, float],
    share: float,
) -> list[dict[_Count, float]]:
    """Read the counts of similar windows, oldest first, scaled to the length of this one.

    ``share`` is the number of rows per prediction in this one. Segment columns count only if all of
    these windows and this one have them.
    """
    with context.database.read() as connection:
        segments = segment_totals(connection, [each.round_id for each in similar])
    columns = {name[0] for name in now if name is not None}
    results: list[dict[_Count, float]] = []
    for each in reversed(similar):
        totals = segments.get(each.round_id, {})
        columns &= {name[0] for name in totals if name is not None}
        counts: dict[_Count, float] = {None: each.predictions * share, **totals}
        scale = _length(window) / _length(each.window)
        results.append({name: count * scale for name, count in counts.items()})
    return [
        {name: count for name, count in counts.items() if name is None or name[0] in columns}
        for counts in results
    ]


def _similar(
    window: Window, slot: datetime, schedule: Schedule, drawn: Sequence[DrawnWindow]
) -> list[DrawnWindow]:
    """Return the newest windows of similar length; below a week, of the same hour of the week."""
    zone = ZoneInfo(schedule.time_zone)

    def weekday_time(at: datetime) -> str:
        return "" if _length(window) > _NEARLY_A_WEEK else at.astimezone(zone).strftime("%a%H%M")

    like = _of_like_length(window, drawn)
    return [each for each in like if weekday_time(each.slot) == weekday_time(slot)][:WINDOWS]


def _of_like_length(window: Window, drawn: Sequence[DrawnWindow]) -> list[DrawnWindow]:
    return [each for each in drawn if abs(_length(each.window) / _length(window) - 1) <= 1 / 4]


OLD_ROWS = "old_rows"
ENOUGH, AT_MOST = 3, 8
"""Fewest and most windows to compare with."""

LEAST = 30
"""Fewest usual rows to report half as many: under 15 of 30 come by chance in 1 of 1,000 windows."""


def doubts(context: MonitorContext, round_: Round, frame: Frame) -> tuple[Concern, ...]:
    """Find signs that a window is not complete yet."""
    with context.database.read() as connection:
        drawn = drawn_windows(
            connection,
            round_.monitor_id,
            round_.settings,
            before=round_.slot,
            at_most=_FAR,
        )
        earlier = _usual(round_, drawn)
    if not earlier or not frame.rows:
        return ()
    sentences = {
        LOST: _few_rows(round_, frame, earlier),
        OLD_ROWS: _old_rows(context, round_, frame, earlier[:ENOUGH]),
    }
    return tuple(Concern(kind, sentence) for kind, sentence in sentences.items() if sentence)


def _usual(round_: Round, earlier: Sequence[DrawnWindow]) -> list[DrawnWindow]:
    """Return the newest windows of similar length, of the same hour of the week, else of day."""
    like = _of_like_length(round_.window, earlier)
    if len(like) < ENOUGH:
        return []
    zone = ZoneInfo(round_.settings.schedule.time_zone)
    for shown, least in (("%a%H%M", 1), ("%H%M", ENOUGH)):
        here = round_.slot.astimezone(zone).strftime(shown)
        same = [window for window in like if window.slot.astimezone(zone).strftime(shown) == here]
        if len(same) >= least:
            return same[:AT_MOST]
    return like[:AT_MOST]


def _few_rows(round_: Round, frame: Frame, earlier: Sequence[DrawnWindow]) -> str | None:
    usual = median(
        window.predictions / _length(window.window).total_seconds() for window in earlier
    )
    usual *= _length(round_.window).total_seconds() * _share(frame, round_.settings)
    if usual < LEAST or frame.rows >= usual / 2:
        return None
    return few_rows_sentence(frame, round_.window, usual)


def _old_rows(
    context: MonitorContext, round_: Round, frame: Frame, earlier: Sequence[DrawnWindow]
) -> str | None:
    """Compare the gap between the newest row and the window's end with earlier gaps."""
    if frame.newest is None:
        return None
    length, gap = _length(round_.window), round_.window.end - frame.newest
    # Not worth more scans if short, or at most ten times the average gap between rows.
    if gap <= max(length / 50, 10 * length / frame.rows):
        return None
    usual = [_gap(context, window.window, round_.seed) for window in earlier]
    existing = [delay for delay in usual if delay is not None]
    if not existing or gap <= 3 * max(existing):
        return None
    return old_rows_sentence(round_.window, frame.newest, gap, max(existing))


def _gap(context: MonitorContext, window: Window, seed: str) -> timedelta | None:
    """Return the gap of an earlier window; None if the window is refused now."""
    try:
        with outside("scan"):
            frame = context.source.scan(window, BandEdges().strata(), 1, seed)
    except SourceRefused:
        return None
    return None if frame.newest is None else window.end - frame.newest


def _share(frame: Frame, settings: RoundSettings) -> float:
    """Return the rows per prediction, which vary if a log keeps a sample."""
    return 1.0 if settings.log_sampling is None or not frame.size else frame.rows / frame.size


def _length(window: Window) -> timedelta:
    return window.end - window.start
