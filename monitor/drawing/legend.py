"""The legend of a figure: what each colour and mark stands for, named once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from monitor.drawing.panel import BAND
from monitor.drawing.svg import area, circle, line, polygon, text_at, text_width

if TYPE_CHECKING:
    LegendPosition = tuple[float, float]

_WIDTH, _GAP, _BETWEEN = 18.0, 4.5, 14.0


class Key(NamedTuple):
    """An entry: how it looks, from left to right, and its words.

    ``look`` is one of ``line``, ``band``, ``bar``, ``interval``, ``point``, ``alert`` and
    ``restated``.
    """

    look: str
    colour: str
    label: str
    dash: str | None = None


def row(keys: Sequence[Key], at: LegendPosition, size: float = 9.0) -> list[str]:
    """Write entries side by side from a place on."""
    x, y = at
    shapes: list[str] = []
    for key in keys:
        shapes += _entry(key, (x, y), size)
        x += _WIDTH + _GAP + text_width(key.label, size) + _BETWEEN
    return shapes


def alert_symbol(at: LegendPosition, size: float, colour: str) -> str:
    """Draw a triangle that points down, as wide as asked, its middle at a place."""
    x, y = at
    half = size / 2
    corners = [(x - half, y - half), (x + half, y - half), (x, y + half)]
    return polygon(corners, colour, "black", 0.5)


def restated_symbol(at: LegendPosition, size: float, colour: str) -> str:
    """Draw a diamond, as wide as asked, its middle at a place."""
    x, y = at
    half = size / 2
    corners = [(x - half, y), (x, y - half), (x + half, y), (x, y + half)]
    return polygon(corners, colour, "black", 0.5)


def _entry(key: Key, at: LegendPosition, size: float) -> list[str]:
    x, y = at
    return [*_swatch(key, (x, y - 0.33 * size)), text_at((x + _WIDTH + _GAP, y), key.label, size)]


def _swatch(key: Key, at: LegendPosition) -> list[str]:
    """Draw the sign of an entry; the place is the middle of its left edge."""
    x, y = at
    middle, end = (x + _WIDTH / 2, y), (x + _WIDTH, y)
    upright = line((middle[0], y - 5), (middle[0], y + 5), key.colour, 1.0)
    corners = [(x, y - 3.5), (end[0], y - 3.5), (end[0], y + 3.5), (x, y + 3.5)]
    return {
        "line": [line(at, end, key.colour, 1.6, key.dash)],
        "band": [area(corners, key.colour, BAND), line(at, end, key.colour, 1.8)],
        "bar": [area(corners, key.colour, 1)],
        "interval": [upright, circle(middle, 2, "white", key.colour)],
        "point": [upright, circle(middle, 2.5, key.colour, "black")],
        "alert": [alert_symbol(middle, 7, key.colour)],
        "restated": [restated_symbol(middle, 7, key.colour)],
    }[key.look]
