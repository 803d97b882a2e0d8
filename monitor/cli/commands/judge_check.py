"""What `pr-monitor check` says of a judge that is asked: its answer on one item."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from monitor.domain.errors import TryLater
from monitor.domain.judging import JudgeFailed
from monitor.domain.model import BandEdges, Verdict, Window
from monitor.domain.slots import newest_slot, slots_after, window_of
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from monitor.domain.shown import Shown
    from monitor.rounds.context import MonitorContext


_SECONDS = 120.0
_HINTS = {
    "it answered 401": "is judge.key the right one?",
    "it answered 403": "is judge.key the right one?",
    "it answered 404": "is judge.url whole, without /chat/completions, and judge.model there?",
    "the connection failed": "is judge.url right, and may this machine reach it?",
    "malformed": 'a reply must be {"verdict": ...} with one value of judge.positive or .negative',
    "it cannot be run": "judge.command starts with a program that may be run, from this folder",
    "it ended with exit code": "run it by hand with an item as a JSON line",
    "the model failed": "is it in MLflow, and does it take the columns of source.columns.show?",
}
"""What somebody can do about a fault, by how it begins."""


class JudgeSilent(TryLater):
    """A judge gave no verdict on an item; rounds go on without."""


def check_judge(context: MonitorContext) -> str:
    """Ask a judge about one item of the last window that has any, and say what it answered.

    Raises `JudgeSilent` if that is no verdict.
    """
    judge, settings = context.judge, context.settings.round.judge
    assert judge is not None  # noqa: S101  asked by the caller
    assert settings is not None  # noqa: S101
    item = _an_item(context)
    if item is None:
        return f"{settings.title}; there is no item to ask about"
    try:
        resolved = judge.resolved()
    except JudgeFailed as error:
        message = f"{settings.title}: {error}"
        raise JudgeSilent(message) from error
    began = time.monotonic()
    session = judge.session(calls=1, tokens=1, seconds=_SECONDS)
    [opinion] = session.ask([item])
    if opinion is None or opinion.verdict is Verdict.MISSING:
        why = session.stopped if opinion is None else opinion.fault
        hint = next((f"; {hint}" for fault, hint in _HINTS.items() if why.startswith(fault)), "")
        message = f"{settings.title} gave no verdict on an item of the last window: {why}{hint}"
        raise JudgeSilent(message)
    version = "" if resolved is None else f", version {resolved}"
    tokens = f", {plural(session.tokens, 'token')}" if session.tokens else ""
    seconds = time.monotonic() - began
    return (
        f"{settings.title}{version} says {opinion.verdict} to an item of the last window "
        f"({seconds:.1f} s{tokens})"
    )


def _an_item(context: MonitorContext) -> Shown | None:
    """Read an item of the last window that has any; None without one."""
    schedule, span = context.settings.round.schedule, context.source.span()
    if span is None:
        return None
    slot = newest_slot(schedule, context.clock())
    if span[1] < window_of(schedule, slot).start:
        slot = next(slots_after(schedule, span[1] + schedule.lag))
    window: Window = window_of(schedule, slot)
    frame = context.source.scan(window, BandEdges().strata(), 1, "check")
    ids = [each.id for part in frame.strata for each in part.candidates]
    return next(iter(context.source.show(ids, window).values()), None)
