"""What a block of the config asks for: ``for_each`` or ``classes``, read from the file's tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from monitor.config.yaml_tree import Scalar, Tree, Value, Way

FOR_EACH, CLASSES, CLASS = "for_each", "classes", "class"
BLOCKS = (FOR_EACH, CLASSES)
_EXAMPLE = "such as for_each: {column: [score_travel, score_finance]}"
_CLASSES_EXAMPLE = "such as classes: {column: predicted, values: [travel, finance, other]}"
_FEWEST_CLASSES = 2
_MOST_VALUES = 1000
_MOST_CLASSES = 300
"""Each class names all others, and averages draw for all at once: of 300 it takes 0.3 GB."""


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


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """What a block asks for: a row for each monitor.

    ``placeholder`` is in the name, and tells its monitors apart by ``values``.
    """

    kind: str
    placeholder: str
    rows: Sequence[Row]
    values: Sequence[Scalar]


def is_block(monitor: Value) -> bool:
    """Whether an entry of the file stands for several monitors."""
    return isinstance(monitor, dict) and not monitor.keys().isdisjoint(BLOCKS)


def block_request(tree: Tree, way: Way, monitor: Mapping[str, Value]) -> BlockRequest | None:
    """Read what a block asks for; None for a single monitor, and for what is refused."""
    if FOR_EACH in monitor and CLASSES in monitor:
        tree.refuse((*way, CLASSES), "a block has for_each or classes, not both; make two of it")
        return None
    if FOR_EACH in monitor:
        in_name = placeholders_in(monitor.get("name"))
        return _for_each(tree, (*way, FOR_EACH), monitor[FOR_EACH], in_name)
    return _classes(tree, (*way, CLASSES), monitor[CLASSES]) if CLASSES in monitor else None


def _for_each(
    tree: Tree, way: Way, section: Value, in_name: Collection[str]
) -> BlockRequest | None:
    if not isinstance(section, dict) or not section:
        tree.refuse(way, f"it has a name and its values, {_EXAMPLE}")
        return None
    for name in section:
        if not re.fullmatch(WORD, name):
            tree.refuse((*way, name), "a placeholder is a word of letters, digits and '_'")
    lists = {name: _scalars(tree, (*way, name), values) for name, values in section.items()}
    first = next(iter(lists))
    for name, values in lists.items():
        if lists[first] and values and len(values) != len(lists[first]):
            message = (
                f"there are {len(values)} for {len(lists[first])} of {first}; lists are read side "
                "by side, so give as many"
            )
            tree.refuse((*way, name), message)
    telling = next((name for name in lists if name in in_name), first)
    _refuse_twice(tree, (*way, telling), lists[telling])
    if tree.problems:
        return None
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return BlockRequest(FOR_EACH, telling, rows, lists[telling])


def _classes(tree: Tree, way: Way, section: Value) -> BlockRequest | None:
    if not isinstance(section, dict):
        tree.refuse(way, f"it has a column and its values, {_CLASSES_EXAMPLE}")
        return None
    _check_keys(tree, way, section)
    if not isinstance(section.get("column", ""), str):
        tree.refuse((*way, "column"), "it is the name of the column with the predicted class")
    if "values" not in section:
        return None
    values, named = section["values"], None
    if isinstance(values, dict):
        named, values = list(values), list(values.values())
    result = _scalars(tree, (*way, "values"), values)
    if len(result) > _MOST_CLASSES:
        message = (
            f"these are {len(result):,} classes, and a block has monitors for {_MOST_CLASSES} at "
            "most; list those that need none in source.negative"
        )
        tree.refuse((*way, "values"), message)
    _refuse_twice(tree, (*way, "values"), [text_of(value).strip() for value in result])
    if 0 < len(result) < _FEWEST_CLASSES:
        message = "a classifier has two classes or more; of one alone make a plain monitor"
        tree.refuse((*way, "values"), message)
    if tree.problems:
        return None
    return BlockRequest(CLASSES, CLASS, [{CLASS: name} for name in named or result], result)


def _check_keys(tree: Tree, way: Way, section: Mapping[str, Value]) -> None:
    allowed = ("column", "values")
    for key in [key for key in section if key not in allowed]:
        tree.refuse((*way, key), f"there is no such setting here; known are {', '.join(allowed)}")
    for key in [key for key in allowed if key not in section]:
        tree.refuse((*way, key), f"this setting is missing; {_CLASSES_EXAMPLE}")


def _scalars(tree: Tree, way: Way, values: Value) -> list[Scalar]:
    if not isinstance(values, list) or not values:
        empty = values in ([], {})
        message = "an empty list makes no monitor; name a value or more, or remove the block"
        tree.refuse(way, message if empty else "a list of values is wanted here, such as [a, b]")
        return []
    if len(values) > _MOST_VALUES:
        message = f"these are {len(values):,} values, and a block has at most {_MOST_VALUES:,}"
        tree.refuse(way, message)
    for value in values:
        if value is None or isinstance(value, list | dict):
            tree.refuse(way, "a list of texts or numbers is wanted here, such as [a, b]")
            return []
    return values  # type: ignore[return-value]  # looked at one by one


def _refuse_twice(tree: Tree, way: Way, values: Sequence[Scalar]) -> None:
    twice = [text for text, count in Counter(map(text_of, values)).items() if count > 1]
    if twice:
        tree.refuse(way, f"{twice[0]!r} stands there twice; name each value once")


def block_name(name: str, placeholder: str) -> str:
    """Name a block as its monitors are named, without values: by ``placeholder`` if all is one."""
    parts = [part.strip("-_.") for part in re.split(rf"\{{{WORD}\}}", name)]
    return "-".join(part for part in parts if part) or placeholder
