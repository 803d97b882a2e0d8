"""Placeholders of a block: ``{column}`` in its settings, and what takes their place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from monitor.config.yaml_tree import Scalar, Value, Way

WORD = r"[A-Za-z_][A-Za-z0-9_]*"  # What a placeholder may be called
Row: TypeAlias = "Mapping[str, Scalar]"  # What the placeholders of one monitor stand for

_PLACEHOLDER = re.compile(rf"\{{\{{({WORD})\}}\}}|(?<!\$)\{{({WORD})\}}")


def filled(value: Value, row: Row) -> Value:
    """Fill in the values of one monitor; a placeholder that is all of a setting keeps its type."""
    if isinstance(value, dict):
        return {key: filled(child, row) for key, child in value.items()}
    if isinstance(value, list):
        return [filled(child, row) for child in value]
    if not isinstance(value, str):
        return value
    match = _PLACEHOLDER.fullmatch(value)
    if match is not None and match[2] is not None:
        return row[match[2]]
    return _PLACEHOLDER.sub(
        lambda result: f"{{{result[1]}}}" if result[1] else text_of(row[result[2]]), value
    )


def leaves(value: Value, way: Way = ()) -> Iterator[tuple[Way, Value]]:
    """Go through all values of a section, mappings before what is in them."""
    yield way, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*way, key))
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(child, (*way, index))


def placeholders_in(value: Value) -> list[str]:
    """Names of the placeholders in a text; nothing else has any."""
    matches = _PLACEHOLDER.finditer(value) if isinstance(value, str) else ()
    return [each[2] for each in matches if each[2] is not None]


def text_of(value: Value) -> str:
    """Write a value as it is inside a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
