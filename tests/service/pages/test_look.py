"""Colours that can be read, in light and in dark (WCAG 2.2, 1.4.3 and 1.4.11)."""

import re
from pathlib import Path

import pytest

from monitor.service import pages

CSS = (Path(pages.__file__).parent / "static" / "page.css").read_text()
TEXT, SHAPE = 4.5, 3.0
FRONTS = ("text", "faint", "strong", "alarm", "warning", "well")
PAIRS = [(front, back, TEXT) for front in FRONTS for back in ("page", "card")]
PAIRS += [("on-strong", "strong", TEXT), ("on-found", "found", TEXT)]
PAIRS += [("line", "page", SHAPE), ("line", "card", SHAPE)]


def colours(dark):
    """Colours by name; the dark one of a pair stands second."""
    both = r"--([a-z-]+): (?:light-dark\()?#([0-9a-f]{6})(?:, #([0-9a-f]{6})\))?;"
    return {
        name: of_dark if dark and of_dark else light
        for name, light, of_dark in re.findall(both, CSS)
    }


def luminance(colour):
    shares = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_is_read_stands_out(dark):
    known = colours(dark)

    for front, back, least in PAIRS:
        assert contrast(known[front], known[back]) >= least, (front, back)


def test_every_colour_has_a_name():
    rest = CSS.partition("}")[2]

    assert set(re.findall(r"#[0-9a-f]{3,8}\b(?=[;),])", rest)) <= {
        f"#{colour}" for dark in (False, True) for colour in colours(dark).values()
    }
