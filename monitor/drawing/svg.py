"""Shapes of an SVG picture as text.

The same calls always give the same bytes. No element has an id, so several pictures can be in
one page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Anchor = tuple[float, float]

INK = "#1A1A1A"
QUIET = "#4D4D4D"
FONTS = "'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"

_DOTS = 110 / 72  # pixels for a point: the size at which a viewer shows the picture first
_EM = 0.53  # width of a usual letter, in font sizes
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def picture(
    size: tuple[float, float], title: str, description: str, shapes: Iterable[str]
) -> bytes:
    """Write a picture on white, regardless of what is below it; sizes are in points.

    Title and description are for those who do not see it.
    """
    width, height = size
    head = element("title", title) + element("desc", description)
    ground = element("rect", width=width, height=height, fill="white")
    image = element(
        "svg",
        *(head, ground, *shapes),
        xmlns="http://www.w3.org/2000/svg",
        width=round(width * _DOTS),
        height=round(height * _DOTS),
        viewBox=f"0 0 {_text(width)} {_text(height)}",
        role="img",
        font_family=FONTS,
        fill=INK,
    )
    return image.encode()


def element(name: str, *content: str, **attributes: str | float | None) -> str:
    """Write an element; `_` in the name of an attribute stands for `-`, None leaves it out.

    Content is markup already, but for the elements that hold text.
    """
    inner = "".join(map(_clean, content)) if name in _OF_TEXT else "".join(content)
    written = "".join(
        f' {key.replace("_", "-")}="{_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{inner}</{name}>" if inner else f"<{name}{written}/>"


_OF_TEXT = frozenset({"desc", "text", "title"})


def line(start: Anchor, end: Anchor, colour: str, width: float, dash: str | None = None) -> str:
    """Draw a straight line."""
    (x1, y1), (x2, y2) = start, end
    return element(
        "line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=width, stroke_dasharray=dash
    )


def path(points: Iterable[Anchor], colour: str, width: float, dash: str | None = None) -> str:
    """Draw a line through places."""
    return element(
        "polyline",
        points=_coordinates(points),
        fill="none",
        stroke=colour,
        stroke_width=width,
        stroke_dasharray=dash,
        stroke_linejoin="round",
    )


def polygon(points: Iterable[Anchor], fill: str, edge: str, width: float) -> str:
    """Fill a shape and draw its outline."""
    return element(
        "polygon", points=_coordinates(points), fill=fill, stroke=edge, stroke_width=width
    )


def circle(middle: Anchor, radius: float, fill: str, edge: str | None = None) -> str:
    """Draw a filled circle, its outline if asked."""
    x, y = middle
    return element("circle", cx=x, cy=y, r=radius, fill=fill, stroke=edge)


def area(points: Iterable[Anchor], colour: str, opacity: float) -> str:
    """Fill what lies between places, as see-through as asked."""
    return element("polygon", points=_coordinates(points), fill=colour, fill_opacity=opacity)


def text_at(
    at: Anchor,
    text: str,
    size: float,
    *,
    anchor: str = "start",
    colour: str | None = None,
    bold: bool = False,
    room: float | None = None,
    turned: bool = False,
) -> str:
    """Write words on a base line; smaller where they would need more than the room there is."""
    x, y = at
    if room is not None:
        size = min(size, size * room / max(text_width(text, size), 1))
    return element(
        "text",
        text,
        x=x,
        y=y,
        font_size=size,
        text_anchor=None if anchor == "start" else anchor,
        fill=colour,
        font_weight="bold" if bold else None,
        transform=f"rotate(-90 {_text(x)} {_text(y)})" if turned else None,
    )


def text_width(text: str, size: float) -> float:
    """Guess how wide words are: the font is the viewer's."""
    return len(text) * _EM * size


def _coordinates(points: Iterable[Anchor]) -> str:
    """Write places, leaving out those that fall on the one before."""
    written = [f"{_text(x)},{_text(y)}" for x, y in points]
    previous = [None, *written]
    return " ".join(now for now, last in zip(written, previous, strict=False) if now != last)


def _text(value: str | float) -> str:
    """Write a number to a hundredth, so that flat curves show no steps; escape words."""
    return _clean(value) if isinstance(value, str) else f"{round(value, 2):g}"


def _clean(text: str) -> str:
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))
