"""What people see of an item: its texts, with an end and with nothing in them that steers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.visible import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

AT_FIRST = 4000
"""Characters of a text that are shown before somebody asks for all."""

AT_MOST = 200_000
"""Characters that are shown at all; ten items are sent at a time."""

_GONE = "What this item showed was deleted."


class Part(NamedTuple):
    """A text of an item: what is shown first, the rest, and what is said about the rest."""

    name: str
    text: str
    rest: str = ""
    more: str = ""


def parts_of(shown: Mapping[str, str] | None) -> list[Part]:
    """Make parts of what an item shows, a column each; of a deleted one a part that says so."""
    if shown is None:
        return [Part("", _GONE)]
    return [_part(visible(name), visible_lines(text)) for name, text in shown.items()]


def _part(name: str, text: str) -> Part:
    if len(text) <= AT_FIRST:
        return Part(name, text)
    rest, more = text[AT_FIRST:AT_MOST], f"Show all {len(text):,} characters"
    if len(text) > AT_MOST:
        more = f"Show the first {AT_MOST:,} of {len(text):,} characters"
    return Part(name, text[:AT_FIRST], rest, more)
