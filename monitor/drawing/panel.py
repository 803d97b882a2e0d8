"""A plot area with two axes; what is drawn in it is cut off at its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.drawing.svg import INK, area, circle, element, line, path, text_at, text_width

if TYPE_CHECKING:
    from monitor.drawing.scales import Scale

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
        there = [self._at(*location) for location in zip(x, high, strict=True)]
        back = [self._at(*location) for location in zip(x, low, strict=True)]
        if len(x) == 1:
            (middle, top), (_, bottom) = there[0], back[0]
            remaining, right = middle - _WIDE / 2, middle + _WIDE / 2
            there, back = [(remaining, top), (right, top)], [(remaining, bottom), (right, bottom)]
        self._inside.append(area([*there, *reversed(back)], colour, BAND))

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
        locations = (self._at(*location) for location in zip(x, y, strict=True))
        self._inside.append(path(locations, colour, width, dash))

    def dot(self, x: float, y: float, radius: float, colour: str, edge: str | None = None) -> None:
        """Draw a filled circle."""
        self._inside.append(circle(self._at(x, y), radius, colour, edge))

    def upright(self, x: float, low: float, high: float, colour: str, width: float = 1.0) -> None:
        """Draw an interval of the vertical axis."""
        (at, bottom), (_, top) = self._at(x, low), self._at(x, high)
        cap = 2 * width
        self._inside += [line((at, top), (at, bottom), colour, width)]
        self._inside += [
            line((at - cap, end), (at + cap, end), colour, width) for end in (top, bottom)
        ]

    def level(self, y: float, low: float, high: float, colour: str, width: float = 1.0) -> None:
        """Draw an interval of the horizontal axis."""
        (remaining, at), (right, _) = self._at(low, y), self._at(high, y)
        cap = 2 * width
        self._inside += [line((remaining, at), (right, at), colour, width)]
        self._inside += [
            line((end, at - cap), (end, at + cap), colour, width) for end in (remaining, right)
        ]

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
        remaining, right = self._width(low), self._width(high)
        corners = [
            (remaining, 0.0),
            (right, 0.0),
            (right, self.box.height),
            (remaining, self.box.height),
        ]
        self._inside.append(area(corners, colour, opacity))

    def above(self, x: float) -> Anchor:
        """Find the place in the picture where the upper edge is over a value."""
        return self.box.left + self._width(x), self.box.top

    def axes(self, *, labels: bool = True) -> None:
        """Draw the left and the lower edge with their ticks, labels of the lower one if asked."""
        remaining, top, width, height = self.box
        bottom = top + height
        self._outside += [
            line((remaining, top), (remaining, bottom), INK, 0.8),
            line((remaining, bottom), (remaining + width, bottom), INK, 0.8),
        ]
        for tick in self._x.ticks():
            at, long = remaining + self._width(tick.value), _TICK if tick.label else _SMALL_TICK
            self._outside.append(line((at, bottom), (at, bottom + long), INK, 0.8))
            if labels and tick.label:
                location = (at, bottom + _TICK + _LABEL + 1)
                self._outside.append(text_at(location, tick.label, _LABEL, anchor="middle"))
        for tick in self._y.ticks():
            at, long = top + self._height(tick.value), _TICK if tick.label else _SMALL_TICK
            self._outside.append(line((remaining - long, at), (remaining, at), INK, 0.8))
            if tick.label:
                location = (remaining - _TICK - 2.5, at + _LABEL / 3)
                self._outside.append(text_at(location, tick.label, _LABEL, anchor="end"))

    def names(self, x: str | None, y: str, size: float = _NAME) -> None:
        """Write what the axes show."""
        remaining, top, width, height = self.box
        if x is not None:
            location = (remaining + width / 2, top + height + 2 * _LABEL + size)
            self._outside.append(text_at(location, x, size, anchor="middle"))
        widest = max(text_width(tick.label, _LABEL) for tick in self._y.ticks())
        location = (remaining - _TICK - 9 - max(widest, _LEAST_LABEL), top + height / 2)
        self._outside.append(text_at(location, y, size, anchor="middle", turned=True))

    def title(self, text: str) -> None:
        """Write a line over the left end."""
        location = (self.box.left, self.box.top - 6)
        self._outside.append(text_at(location, text, _NAME, room=self.box.width + 30))

    def shapes(self) -> list[str]:
        """Give all that was drawn."""
        remaining, top, width, height = self.box
        inside = element(  # what lies outside of an inner picture is cut off
            "svg", *self._inside, x=remaining, y=top, width=width, height=height
        )
        return [inside, *self._outside]

    def _at(self, x: float, y: float) -> Anchor:
        return self._width(x), self._height(y)

    def _width(self, x: float) -> float:
        return self._x.share(x) * self.box.width

    def _height(self, y: float) -> float:
        return (1 - self._y.share(y)) * self.box.height
