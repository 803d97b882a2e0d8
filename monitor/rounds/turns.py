"""The turn of a worker: so many scan at once, and one that waits for others lets the next scan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Semaphore

_turns: ContextVar[Semaphore | None] = ContextVar("turns", default=None)


@contextmanager
def taken(turns: Semaphore) -> Iterator[None]:
    """Wait for a turn, and have it while the block runs."""
    with turns:
        token = _turns.set(turns)
        try:
            yield
        finally:
            _turns.reset(token)


@contextmanager
def released() -> Iterator[None]:
    """Let another worker have this one's turn while the block runs, which only waits."""
    turns = _turns.get()
    if turns is None:  # no service: nobody else waits
        yield
        return
    turns.release()
    try:
        yield
    finally:
        turns.acquire()
