"""Points at which a fault test may end, stop or cut off the program; else nothing happens there.

A point is before and after each commit and around each call to the outside, so a test that
kills a process at all of them has seen every state that a power cut can leave. A test checks that
no commit and no such call stands without its points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

hook: Callable[[str], None] | None = None
"""What a fault test lets happen at a point, given its name."""


def crashpoint(name: str) -> None:
    """Give a fault test its chance; in ordinary life one comparison."""
    if hook is not None:
        hook(name)


@contextmanager
def outside(call: str) -> Iterator[None]:
    """Stand around a call to the outside with a point before it and one after it."""
    crashpoint(f"before {call}")
    yield
    crashpoint(f"after {call}")
