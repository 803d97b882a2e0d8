"""The signals that a long-running process listens to."""

from __future__ import annotations

import signal
from queue import SimpleQueue
from types import FrameType
from typing import Any

_STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = getattr(signal, "SIGHUP", None)  # None on systems that have no such signal


def hold_reload() -> None:
    """Hold back SIGHUP until `listen`: while the service starts it would end the process."""
    if RELOAD is not None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {RELOAD})


def listen() -> SimpleQueue[Any]:
    """Return the signals that ask to stop or to reload, in their order.

    A second one that asks to stop ends the process at once. A handler runs between any two steps of
    the main thread, so it must take no lock that the thread may hold, be it the log's or an
    Event's; ``put`` of this queue is made for that.
    """
    requests: SimpleQueue[Any] = SimpleQueue()

    def stop(number: int, _frame: FrameType | None) -> None:
        for signal_ in _STOP:
            signal.signal(signal_, signal.SIG_DFL)
        requests.put(number)

    for number in _STOP:
        signal.signal(number, stop)
    if RELOAD is not None:
        signal.signal(RELOAD, lambda number, _frame: requests.put(number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {RELOAD})
    return requests
