"""A process that ends at one of its crash points, played in this one."""

from collections.abc import Callable
from contextlib import contextmanager, suppress

from monitor.domain import crashpoint


class Killed(BaseException):
    """The process is gone: nothing of it happens after this."""


@contextmanager
def at_points(act: Callable[[str], None]):
    """Let a function be called at every crash point inside."""
    crashpoint.hook = act
    try:
        yield
    finally:
        crashpoint.hook = None


@contextmanager
def killed_at(place):
    """Let what is done inside die at a crash point, counted from 0; gives the points it came to."""
    points: list[str] = []

    def die(name):
        points.append(name)
        if len(points) > place:
            raise Killed

    with suppress(Killed), at_points(die):
        yield points
