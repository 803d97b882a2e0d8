"""A plot area with two axes; what is drawn in it is cut off at its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.drawing.scales import Scale
from monitor.drawing.svg import INK, area, circle, element, line, path, text_at, text_width

if TYPE_CHECKING:
    Anchor = tuple[float, float]

DASHED, DOTTED = "6.5 4", "1.5 1.5"
BAND = 0.22  # opacity

_GRID = "#DDDDDD"
_TICK, _SMALL_TICK = 3.5, 2.0
_LABEL, _NAME = 9.0, 10.0  # font sizes
_LEAST_LABEL = 16.0  # width, so that panels over each other have their names in line
_WIDE = 14.0  # of a band over one place only


class Box(NamedTuple):
    """Where a panel is in its picture, in points from the upper left."""

    left: float
    top: float
    width: float
    height: float


class Panel:
    """A plot area; later things lie over earlier ones."""

    def __init__(self, box: Box, x: Scale, y: Scale) -> None:
        self.box = box
        self._x, self._y = x, y
        self._inside: list[str] = []
        self._outside: list[str] = []

    def grid(self, *, upright: bool = True) -> None:
        """Draw pale lines at the labeled ticks."""
        for tick in self._y.ticks():
            if tick.label:
                self.across(tick.value, _GRID, 0.6)
        for tick in self._x.ticks():
            if tick.label and upright:
                self.up(tick.value, _GRID, 0.6)

    def band(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str
    ) -> None:
        """Fill between two curves; over one place only, a wide stroke."""
        upper = [self._at(*point) for point in zip(x, high, strict=True)]
        lower = [self._at(*point) for point in zip(x, low, strict=True)]
        if len(x) == 1:
            (middle, top), (_, bottom) = upper[0], lower[0]
            start, end = middle - _WIDE / 2, middle + _WIDE / 2
            upper, lower = [(start, top), (end, top)], [(start, bottom), (end, bottom)]
        self._inside.append(area([*upper, *reversed(lower)], colour, BAND))

    def curve(
        self,
        x: Sequence[float],
        y: Sequence[float],
        colour: str,
        *,
        width: float = 1.8,
        dash: str | None = None,
    ) -> None:
        """Draw a line through places."""
        points = (self._at(*point) for point in zip(x, y, strict=True))
        self._inside.append(path(points, colour, width, dash))

    def dot(self, x: float, y: float, radius: float, colour: str, edge: str | None = None) -> None:
        """Draw a filled circle."""
        self._inside.append(circle(self._at(x, y), radius, colour, edge))

    def upright(self, x: float, low: float, high: float, colour: str, width: float = 1.0) -> None:
        """Draw an interval of the vertical axis."""
        (at, bottom), (_, top) = self._at(x, low), self._at(x, high)
        cap = 2 * width
        self._inside.append(line((at, top), (at, bottom), colour, width))
        for end in (top, bottom):
            self._inside.append(line((at - cap, end), (at + cap, end), colour, width))

    def level(self, y: float, low: float, high: float, colour: str, width: float = 1.0) -> None:
        """Draw an interval of the horizontal axis."""
        (start, at), (stop, _) = self._at(low, y), self._at(high, y)
        cap = 2 * width
        self._inside.append(line((start, at), (stop, at), colour, width))
        for end in (start, stop):
            self._inside.append(line((end, at - cap), (end, at + cap), colour, width))

    def across(self, y: float, colour: str, width: float, dash: str | None = None) -> None:
        """Draw a line from the left edge to the right one."""
        at = self._height(y)
        self._inside.append(line((0, at), (self.box.width, at), colour, width, dash))

    def up(self, x: float, colour: str, width: float, dash: str | None = None) -> None:
        """Draw a line from the lower edge to the upper one."""
        at = self._width(x)
        self._inside.append(line((at, 0), (at, self.box.height), colour, width, dash))

    def shade(self, low: float, high: float, colour: str, opacity: float) -> None:
        """Tint a part of the horizontal axis."""
        start, end, bottom = self._width(low), self._width(high), self.box.height
        corners = [(start, 0.0), (end, 0.0), (end, bottom), (start, bottom)]
        self._inside.append(area(corners, colour, opacity))

    def above(self, x: float) -> Anchor:
        """Find the place in the picture where the upper edge is over a value."""
        return self.box.left + self._width(x), self.box.top

    def axes(self, *, labels: bool = True) -> None:
        """Draw the left and the lower edge with their ticks, labels of the lower one if asked."""
        left, top, width, height = self.box
        bottom = top + height
        self._outside += [
            line((left, top), (left, bottom), INK, 0.8),
            line((left, bottom), (left + width, bottom), INK, 0.8),
        ]
        for tick in self._x.ticks():
            at, long = left + self._width(tick.value), _TICK if tick.label else _SMALL_TICK
            self._outside.append(line((at, bottom), (at, bottom + long), INK, 0.8))
            if labels and tick.label:
                corner = (at, bottom + _TICK + _LABEL + 1)
                self._outside.append(text_at(corner, tick.label, _LABEL, anchor="middle"))
        for tick in self._y.ticks():
            at, long = top + self._height(tick.value), _TICK if tick.label else _SMALL_TICK
            self._outside.append(line((left - long, at), (left, at), INK, 0.8))
            if tick.label:
                corner = (left - _TICK - 2.5, at + _LABEL / 3)
                self._outside.append(text_at(corner, tick.label, _LABEL, anchor="end"))

    def names(self, x: str | None, y: str, size: float = _NAME) -> None:
        """Write what the axes show."""
        left, top, width, height = self.box
        if x is not None:
            corner = (left + width / 2, top + height + 2 * _LABEL + size)
            self._outside.append(text_at(corner, x, size, anchor="middle"))
        widest = max(text_width(tick.label, _LABEL) for tick in self._y.ticks())
        corner = (left - _TICK - 9 - max(widest, _LEAST_LABEL), top + height / 2)
        self._outside.append(text_at(corner, y, size, anchor="middle", turned=True))

    def title(self, text: str) -> None:
        """Write a line over the left end."""
        corner = (self.box.left, self.box.top - 6)
        self._outside.append(text_at(corner, text, _NAME, room=self.box.width + 30))

    def shapes(self) -> list[str]:
        """Give all that was drawn."""
        # What lies outside of an inner picture is cut off.
        x, y, width, height = self.box
        inside = element("svg", *self._inside, x=x, y=y, width=width, height=height)
        return [inside, *self._outside]

    def _at(self, x: float, y: float) -> Anchor:
        return self._width(x), self._height(y)

    def _width(self, x: float) -> float:
        return self._x.share(x) * self.box.width

    def _height(self, y: float) -> float:
        return (1 - self._y.share(y)) * self.box.height
