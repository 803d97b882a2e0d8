"""The signals that a long-running process listens to."""

from __future__ import annotations

import signal
from queue import SimpleQueue
from types import FrameType
from typing import Any

_STOP = (signal.SIGTERM, signal.SIGINT)
RELOAD = getattr(signal, "SIGHUP", None)  # None on systems that have no such signal


def hold_reload() -> None:
    """Block SIGHUP until `listen`: while the service starts, it would end the process."""
    if RELOAD is not None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {RELOAD})


def listen() -> SimpleQueue[Any]:
    """Return a queue of the signals to stop or to reload, in their order.

    A second signal to stop ends the process at once. A handler runs between any two steps of the
    main thread, so it must not take a lock that the thread may hold, such as the log's or an
    Event's; ``put`` of this queue is safe.
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
