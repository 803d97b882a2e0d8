"""The signals that a long-running process listens to."""

from __future__ import annotations

import signal
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = getattr(signal, "SIGHUP", None)
"""None on systems that have no such signal."""


def listen() -> SimpleQueue[int]:
    """Give the signals that ask to stop or to reload, in their order.

    After the first that asks to stop, a second one ends the process at once. A handler runs
    between any two steps of the main thread, so it must take no lock that the thread may hold, be
    it the log's or an Event's; ``put`` of this queue is made for that.
    """
    asked: SimpleQueue[int] = SimpleQueue()

    def stop(number: int, _frame: FrameType | None) -> None:
        for signal_ in _STOP:
            signal.signal(signal_, signal.SIG_DFL)
        asked.put(number)

    for number in _STOP:
        signal.signal(number, stop)
    if RELOAD is not None:
        signal.signal(RELOAD, lambda number, _frame: asked.put(number))
    return asked
