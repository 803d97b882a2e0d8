"""Parts of an item as people see them: of limited length, and without control characters.

Untrusted HTML is in a sandboxed frame: no script runs, nothing is loaded, no form is sent and no
window opened. Elements that could still lead elsewhere on a click, or look up an address, are
replaced by elements without meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from monitor.domain.shown import Shown, Value
from monitor.domain.visible import visible, visible_lines

AT_FIRST = 4000  # Characters of a cell, and of a text until all is requested
AT_MOST = 200_000  # Characters that are shown at all; ten items are sent at a time
MOST_ROWS = 200  # Of a table

_REMOVED = "What this item showed was deleted."
_EMPTY = "Empty."
_NO_JSON = "This JSON does not fit in a table, so here is its text."

_Row = tuple[str, str]
_NAMES = {True: "true", False: "false", None: "null"}

MOST_HTML = 1_000_000  # Characters of HTML that are shown

FRAME_HEADERS = {
    "content-security-policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "x-dns-prefetch-control": "off",
    "x-frame-options": "SAMEORIGIN",
    "referrer-policy": "no-referrer",
}

_LEADING = re.compile(r"<(/?)(a|area|base|link|meta)(?=[\s/>])", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:x0*([0-9a-f]{1,6})|0*([0-9]{1,7}))(?![0-9a-f]);?", re.IGNORECASE)
_FIRST_STEERING = 0x2000  # below it browsers read many of these numbers as other characters
_PAGE = (
    '<!doctype html><meta charset="utf-8"><style>:root{color-scheme:light;background:#fff;'
    "color:#000}body{font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere;margin:0.75rem}"
    "img{max-width:100%}</style>\n"
)
_CUT = "<p><em>(cut here: the first {shown:,} of {all:,} characters)</em></p>"


class Part(NamedTuple):
    """A part of an item; ``kind`` says which of the rest it has.

    ``text`` is the beginning of a text, ``more`` the label of its ``rest``. ``rows``
    belong to a table. An ``image`` and ``html`` have a separate ``address``.
    ``note`` is a remark of the page about the part.
    """

    name: str
    kind: str = "text"
    note: str = ""
    text: str = ""
    more: str = ""
    rest: str = ""
    rows: Sequence[_Row] = ()
    address: str = ""


def parts_of(shown: Shown | None, task: str) -> list[Part]:
    """Return the parts of a task; if it was deleted, one part that says so."""
    if shown is None:
        return [Part("", note=_REMOVED)]
    return [
        _part(_line(name), value, f"?task={task}&part={number}")
        for number, (name, value) in enumerate(shown.items())
    ]


def _part(name: str, value: Value, query: str) -> Part:
    if isinstance(value, str):
        return _text(name, value)
    if "problem" in value:
        about = f"{value['path']}: " if "path" in value else ""
        return Part(name, note=_line(f"This picture cannot be shown: {about}{value['problem']}."))
    if not value["value"]:
        return Part(name, note=_EMPTY)
    return _of_kind(name, value, query)


def _of_kind(name: str, value: Mapping[str, Any], query: str) -> Part:
    match value["kind"]:
        case "image":
            return Part(name, kind="image", address=f"/label/picture{query}")
        case "html":
            return Part(name, kind="html", address=f"/label/html{query}")
        case "link":
            return Part(name, kind="link", text=_line(value["value"][:AT_FIRST]))
        case "table":
            return _table(name, [(row, text) for row, text in value["value"]])
        case "json":
            rows = rows_of(value["value"]) if len(value["value"]) <= AT_MOST else None
            return _text(name, value["value"], _NO_JSON) if rows is None else _table(name, rows)
        case _:
            return _text(name, str(value["value"]))


def _table(name: str, rows: Sequence[_Row]) -> Part:
    note = ""
    if len(rows) > MOST_ROWS:
        note = f"The first {MOST_ROWS} of {len(rows):,} rows."
    return Part(
        name,
        kind="table",
        note=note,
        rows=[(_cell(_line(row), 200), _cell(text, AT_FIRST)) for row, text in rows[:MOST_ROWS]],
    )


def _line(text: str) -> str:
    return visible(visible_lines(text))


def _cell(text: str, longest: int) -> str:
    safe = visible_lines(text[: longest + 1])
    if len(text) <= longest:
        return safe
    return f"{safe[:longest]} ... (cut here, of {len(text):,} characters)"


def _text(name: str, value: str, note: str = "") -> Part:
    text = visible_lines(value)
    if not text:
        return Part(name, note=_EMPTY)
    if len(text) <= AT_FIRST:
        return Part(name, note=note, text=text)
    # Between words, so that none is torn, and a search finds it.
    end = max(text.rfind(gap, AT_FIRST - 100, AT_FIRST) for gap in " \n") + 1 or AT_FIRST
    rest, more = text[end:AT_MOST], f"Show all {len(text):,} characters"
    if len(text) > AT_MOST:
        more = f"Show the first {AT_MOST:,} of {len(text):,} characters"
    return Part(name, note=note, text=text[:end], rest=rest, more=more)


class _Pairs(list[tuple[str, Any]]):
    """Members of a JSON object, including repeated names."""


def rows_of(text: str) -> list[_Row] | None:
    r"""List the values of JSON; None if the text is not JSON, or neither object nor list.

    >>> rows_of('{"to": {"city": "Brno"}, "days": [1, 2.50]}')
    [('to.city', 'Brno'), ('days', '1\n2.50')]
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
        return list(_rows("", value)) if isinstance(value, list) else None
    except (ValueError, RecursionError):
        return None


def _rows(way: str, value: Any) -> Iterator[_Row]:
    if isinstance(value, _Pairs) and value:
        for name, inner in value:
            yield from _rows(f"{way}.{name}" if way else name, inner)
    elif isinstance(value, list) and any(isinstance(inner, list) for inner in value):
        for index, inner in enumerate(value):
            yield from _rows(f"{way}[{index}]", inner)
    elif isinstance(value, _Pairs):
        yield way, "{}"
    elif isinstance(value, list):
        yield way, "\n".join(map(_written, value)) if value else "[]"
    else:
        yield way, _written(value)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else _NAMES[value]


def framed(html: str) -> str:
    """Make a page of HTML that people are shown.

    >>> framed('<a href="https://example.org">here</a>').splitlines()[-1]
    '<x-a href="https://example.org">here</x-a>'
    """
    cut = _CUT.format(shown=MOST_HTML, all=len(html)) if len(html) > MOST_HTML else ""
    text = _REFERENCE.sub(_seen, visible_lines(html[:MOST_HTML]))
    return _PAGE + _LEADING.sub(r"<\1x-\2", text) + cut


def _seen(reference: re.Match[str]) -> str:
    """Show a control character by its code, even if HTML names it by its number."""
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    if not _FIRST_STEERING <= code < 0x10000:  # noqa: PLR2004  those beyond it show
        return reference[0]
    char = chr(code)
    return reference[0] if visible_lines(char) == char else visible_lines(char)
