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
    """Colours by name; the dark ones stand second."""
    found: dict[str, str] = {}
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    for block in blocks if dark else blocks[:1]:
        found |= re.findall(r"--([a-z-]+): #([0-9a-f]{3,8});", block)
    return found


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


def test_light_and_dark_name_the_same_colours():
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    names = [set(re.findall(r"--([a-z-]+):", block)) for block in blocks]

    assert len(blocks) == 2
    assert names[0] == names[1]
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b(?=;)", CSS)) <= {
        f"#{colour}" for dark in (False, True) for colour in colours(dark).values()
    }
