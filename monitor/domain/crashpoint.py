"""Points at which a fault test can kill, stop or disconnect the program; no-ops in production.

Each commit and each call to the outside has a point before and after it, so a test that kills a
process at every point covers every state that a power cut can leave. Another test checks that no
commit and no such call lacks its points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

hook: Callable[[str], None] | None = None
"""Function that a fault test sets; it is called with the name of each point."""


def crashpoint(name: str) -> None:
    """Call the hook of a fault test; without one, this costs one comparison."""
    if hook is not None:
        hook(name)


@contextmanager
def outside(call: str) -> Iterator[None]:
    """Wrap a call to the outside with a point before it and one after it."""
    crashpoint(f"before {call}")
    yield
    crashpoint(f"after {call}")
