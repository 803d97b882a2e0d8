"""JSON as rows that people read: the way to each value, and the value as it is written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Row = tuple[str, str]

_NAMES = {True: "true", False: "false", None: "null"}


class _Pairs(list[tuple[str, Any]]):
    """What an object has, a name that is there twice too."""


def rows_of(text: str) -> list[Row] | None:
    r"""List the values of JSON; None if the text is not JSON, or neither object nor list.

    >>> rows_of('{"to": {"city": "Brno"}, "days": [1, 2.50]}')
    [('to.city', 'Brno'), ('days', '1\n2.50')]
    """
    try:
        result = json.loads(
            text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str
        )
        return list(_rows("", result)) if isinstance(result, list) else None
    except (ValueError, RecursionError):
        return None


def _rows(way: str, value: Any) -> Iterator[Row]:
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
