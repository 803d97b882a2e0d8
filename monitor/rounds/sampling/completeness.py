"""Whether a window holds as much as windows like it did: an export cut short looks like data."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused
from monitor.domain.model import BandEdges
from monitor.presentation.numbers import minute_text
from monitor.rounds.sampling.plausibility import Concern
from monitor.storage.waiting_store import drawn_before

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from monitor.domain.model import Frame, Window
    from monitor.rounds.context import MonitorContext
    from monitor.storage.round_store import Round
    from monitor.storage.waiting_store import Drawn

FEW_ROWS, OLD_ROWS = "few_rows", "old_rows"

ENOUGH, AT_MOST = 3, 8
"""Windows that say what is usual: fewer in all say nothing, older ones are of other times."""

LEAST = 30
"""Rows from which half as many is no chance: of 30, under 15 come once in 1,000 windows."""

_FAR = 600  # rounds: of hourly ones, each hour of the week thrice


def doubts(context: MonitorContext, found: Round, frame: Frame) -> tuple[Concern, ...]:
    """Say what makes a window look as if not all of it were there yet."""
    with context.database.read() as connection:
        earlier = _alike(found, drawn_before(connection, found, _FAR))
    if not earlier or not frame.rows:
        return ()
    told = {
        FEW_ROWS: _few_rows(found, frame, earlier),
        OLD_ROWS: _old_rows(context, found, frame, earlier[:ENOUGH]),
    }
    return tuple(Concern(kind, sentence) for kind, sentence in told.items() if sentence)


def _alike(found: Round, earlier: Sequence[Drawn]) -> list[Drawn]:
    """Choose the newest windows of like length, of the same hour of the week if there are any.

    Nights and weekends are quieter. Else those of the same hour, else all.
    """
    length = _length(found.window)
    like = [each for each in earlier if abs(_length(each.window) / length - 1) <= 1 / 4]
    if len(like) < ENOUGH:
        return []
    zone = ZoneInfo(found.settings.schedule.time_zone)
    for shown, least in (("%a %H %M", 1), ("%H %M", ENOUGH)):
        here = found.slot.astimezone(zone).strftime(shown)
        same = [each for each in like if each.slot.astimezone(zone).strftime(shown) == here]
        if len(same) >= least:
            return same[:AT_MOST]
    return like[:AT_MOST]


def _few_rows(found: Round, frame: Frame, earlier: Sequence[Drawn]) -> str | None:
    usual = median(each.rows / _length(each.window).total_seconds() for each in earlier)
    usual *= _length(found.window).total_seconds()
    if usual < LEAST or frame.rows >= usual / 2:
        return None
    return (
        f"{frame.rows} predictions from {found.window}, where {usual:.0f} are usual in windows "
        "like it; are all of them there?"
    )


def _old_rows(
    context: MonitorContext, found: Round, frame: Frame, earlier: Sequence[Drawn]
) -> str | None:
    """Compare the time from the newest row to the window's end with what it was before.

    The earlier windows are read only where that time is long by itself.
    """
    if frame.newest is None:
        return None
    length, gap = _length(found.window), found.window.end - frame.newest
    if gap <= max(length / 50, 10 * length / frame.rows):
        return None
    usual = [_gap(context, each.window, found.seed) for each in earlier]
    known = [each for each in usual if each is not None]
    if not known or gap <= 3 * max(known):
        return None
    return (
        f"the newest prediction from {found.window} is of {minute_text(frame.newest)}, "
        f"{span_text(gap)} before its end, where {span_text(max(known))} was the most in windows "
        "like it; are all of them there?"
    )


def _gap(context: MonitorContext, window: Window, seed: str) -> timedelta | None:
    """Read a window that was drawn before; one that is refused by now says nothing of this one."""
    try:
        with outside("scan"):
            frame = context.source.scan(window, BandEdges().strata(), 1, seed)
    except SourceRefused:
        return None
    return None if frame.newest is None else window.end - frame.newest


def _length(window: Window) -> timedelta:
    return window.end - window.start


def span_text(span: timedelta) -> str:
    """Say how long in the largest unit that leaves two digits: ``42 h``, ``12 min``."""
    seconds = span.total_seconds()
    units = ((2 * 86_400, 86_400, "days"), (2 * 3600, 3600, "h"), (0, 60, "min"))
    unit, name = next((unit, name) for least, unit, name in units if seconds >= least)
    return f"{seconds / unit:.0f} {name}"
