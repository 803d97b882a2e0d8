"""Whether a window holds as much as windows like it did: an export cut short looks like data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges, Frame, Window
from monitor.presentation.windows import few_rows_sentence, old_rows_sentence
from monitor.rounds.sampling.plausibility import Concern
from monitor.rounds.sampling.traffic import LOST
from monitor.storage.rounds.window_store import DrawnWindow, drawn_windows

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round

OLD_ROWS = "old_rows"

ENOUGH, AT_MOST = 3, 8
"""Windows that show what is usual: fewer are too few, older ones are of other times."""

LEAST = 30
"""Rows from which on half as many is no chance: where 30 are usual, under 15 come once in 1,000
windows."""

_FAR = 600  # rounds: of hourly ones, each hour of the week thrice


def doubts(context: MonitorContext, round_: Round, frame: Frame) -> tuple[Concern, ...]:
    """Find what makes a window look as if not all of it were there yet."""
    with context.database.read() as connection:
        drawn = drawn_windows(connection, round_.monitor_id, before=round_.slot, at_most=_FAR)
        earlier = _similar(round_, drawn)
    if not earlier or not frame.rows:
        return ()
    sentences = {
        LOST: _few_rows(round_, frame, earlier),
        OLD_ROWS: _old_rows(context, round_, frame, earlier[:ENOUGH]),
    }
    return tuple(Concern(kind, sentence) for kind, sentence in sentences.items() if sentence)


def _similar(round_: Round, earlier: Sequence[DrawnWindow]) -> list[DrawnWindow]:
    """Choose the newest windows of like length, of the same hour of the week if there are any.

    Nights and weekends are quieter. Else the same hour, else all.
    """
    length = _length(round_.window)
    like = [window for window in earlier if abs(_length(window.window) / length - 1) <= 1 / 4]
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
    usual = median(window.rows / _length(window.window).total_seconds() for window in earlier)
    usual *= _length(round_.window).total_seconds()
    if usual < LEAST or frame.rows >= usual / 2:
        return None
    return few_rows_sentence(frame, round_.window, usual)


def _old_rows(
    context: MonitorContext, round_: Round, frame: Frame, earlier: Sequence[DrawnWindow]
) -> str | None:
    """Compare the time from the newest row to the window's end with what it was before.

    The earlier windows are read only where that time is long by itself.
    """
    if frame.newest is None:
        return None
    length, gap = _length(round_.window), round_.window.end - frame.newest
    # Short, or ten times what lies between two rows on the average: not worth more scans.
    if gap <= max(length / 50, 10 * length / frame.rows):
        return None
    usual = [_gap(context, window.window, round_.seed) for window in earlier]
    existing = [delay for delay in usual if delay is not None]
    if not existing or gap <= 3 * max(existing):
        return None
    return old_rows_sentence(round_.window, frame.newest, gap, max(existing))


def _gap(context: MonitorContext, window: Window, seed: str) -> timedelta | None:
    """Read a window that was drawn before; one that is refused by now is no comparison."""
    try:
        with outside("scan"):
            frame = context.source.scan(window, BandEdges().strata(), 1, seed)
    except SourceRefused:
        return None
    return None if frame.newest is None else window.end - frame.newest


def _length(window: Window) -> timedelta:
    return window.end - window.start
