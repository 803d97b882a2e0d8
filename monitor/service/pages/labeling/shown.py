"""What people see of an item: its parts, with an end and with nothing in them that steers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.visible import visible, visible_lines

if TYPE_CHECKING:
    from monitor.domain.shown import Shown, Value

AT_FIRST = 4000
"""Characters of a text that are shown before somebody asks for all."""

AT_MOST = 200_000
"""Characters that are shown at all; ten items are sent at a time."""

_GONE = "What this item showed was deleted."


class Part(NamedTuple):
    """A part of an item: what is shown first of a text, the rest, and what is said about the rest.

    ``kind`` is ``text``, or ``image``, which lies at an ``address`` of its own.
    """

    name: str
    text: str = ""
    rest: str = ""
    more: str = ""
    kind: str = "text"
    address: str = ""


def parts_of(shown: Shown | None, task: str = "") -> list[Part]:
    """Make parts of what a task shows; of a deleted one a part that says so."""
    if shown is None:
        return [Part("", _GONE)]
    return [
        _part(visible(name), value, f"?task={task}&part={number}")
        for number, (name, value) in enumerate(shown.items())
    ]


def _part(name: str, value: Value, query: str) -> Part:
    if isinstance(value, str):
        return _text(name, visible_lines(value))
    if "problem" in value:
        return Part(name, f"This picture cannot be shown: {value['problem']}")
    return Part(name, kind="image", address=f"/label/picture{query}")


def _text(name: str, text: str) -> Part:
    if len(text) <= AT_FIRST:
        return Part(name, text)
    rest, more = text[AT_FIRST:AT_MOST], f"Show all {len(text):,} characters"
    if len(text) > AT_MOST:
        more = f"Show the first {AT_MOST:,} of {len(text):,} characters"
    return Part(name, text[:AT_FIRST], rest, more)
