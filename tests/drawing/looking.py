"""Look at an SVG picture: its words and marks, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree as ET

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


def circles_of(panel):
    """The marks in one plot area."""
    left, top = float(panel.get("x")), float(panel.get("y"))
    return [
        Mark(left + float(dot.get("cx")), top + float(dot.get("cy")), dot.get("fill"))
        for dot in panel.iter(f"{SVG}circle")
    ]
