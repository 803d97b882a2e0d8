"""Look at an SVG picture: its words and marks, and where they stand."""

from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree as ET

from monitor.drawing.svg import text_width

SVG = "{http://www.w3.org/2000/svg}"


class Mark(NamedTuple):
    """A mark in a plot area, in points from the picture's upper left."""

    x: float
    y: float
    fill: str


@dataclass
class Picture:
    """A picture that has been read."""

    root: ET.Element

    @property
    def title(self):
        """The name that a screen reader says."""
        return self.root.findtext(f"{SVG}title")

    @property
    def description(self):
        """The words for those who do not see the picture."""
        return self.root.findtext(f"{SVG}desc")

    @property
    def texts(self):
        """All words that are seen."""
        return [text.text for text in self.root.iter(f"{SVG}text")]

    def place_of(self, words):
        """Where words stand that are there once."""
        (text,) = [text for text in self.root.iter(f"{SVG}text") if text.text == words]
        return float(text.attrib["x"]), float(text.attrib["y"])

    def covered(self):
        """Words that lie over other words or over a plot area; turned ones are left out."""
        seen = [text for text in self.root.iter(f"{SVG}text") if "transform" not in text.attrib]
        rooms = [_room_of(text) for text in seen] + [_area_of(panel) for panel in self.panels()]
        return [
            text.text
            for place, text in enumerate(seen)
            if any(_overlap(rooms[place], other) for other in rooms[:place] + rooms[place + 1 :])
        ]

    def circles(self):
        """The marks in all plot areas."""
        return [mark for panel in self.panels() for mark in circles_of(panel)]

    def panels(self):
        """The plot areas."""
        return self.root.findall(f"{SVG}svg")

    def curves(self):
        """The lines through places, in all plot areas."""
        return [line for panel in self.panels() for line in panel.iter(f"{SVG}polyline")]

    def triangles(self):
        """How many alerts are marked, the legend's sign too."""
        return [mark for mark in self._marks() if mark == 3]

    def diamonds(self):
        """How many restated rounds are marked, the legend's sign too."""
        return [mark for mark in self._marks() if mark == 4]

    def _marks(self):
        """How many corners each mark has; what is filled without an edge is none."""
        shapes = self.root.findall(f"{SVG}polygon")
        return [len(s.attrib["points"].split()) for s in shapes if "stroke" in s.attrib]


def at(svg):
    """Read a picture; it must be XML."""
    return Picture(ET.fromstring(svg))  # noqa: S314  our own


def _area_of(panel):
    left, top, width, height = (float(panel.get(side)) for side in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


def _room_of(text):
    """Left, top, right and bottom of words, without the parts of letters under the line."""
    x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
    width = text_width(text.text, size)
    left = x - {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0.0)
    return left, y - 0.7 * size, left + width, y


def _overlap(one, other):
    return all(one[side] < other[side + 2] and other[side] < one[side + 2] for side in (0, 1))


def circles_of(panel):
    """The marks in one plot area."""
    left, top = float(panel.get("x")), float(panel.get("y"))
    return [
        Mark(left + float(dot.get("cx")), top + float(dot.get("cy")), dot.get("fill"))
        for dot in panel.iter(f"{SVG}circle")
    ]
