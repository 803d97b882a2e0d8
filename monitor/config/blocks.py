"""Blocks of the config: one entry with ``for_each`` or ``classes`` defines several monitors.

Blocks are checked and expanded on the tree, before validation. So each monitor is read, compared
and refused as if the file had it separately, with the lines of its block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from monitor.config.yaml_tree import Scalar, Tree, Value, Way
from monitor.domain.values import MISSING_MARKERS

FOR_EACH, CLASSES, CLASS = "for_each", "classes", "class"
BLOCKS = (FOR_EACH, CLASSES)
_EXAMPLE = "such as for_each: {column: [score_travel, score_finance]}"
_CLASSES_EXAMPLE = "such as classes: {column: predicted, values: [travel, finance, other]}"
_FEWEST_CLASSES = 2
_MOST_VALUES = 1000
_MOST_CLASSES = 300
"""Each class lists all others, and averages draw samples for all at once: 300 take 0.3 GB."""


WORD = r"[A-Za-z_][A-Za-z0-9_]*"  # Name of a placeholder
Row: TypeAlias = "Mapping[str, Scalar]"  # The values of the placeholders for one monitor

_PLACEHOLDER = re.compile(rf"\{{\{{({WORD})\}}\}}|(?<!\$)\{{({WORD})\}}")


def filled(value: Value, row: Row) -> Value:
    """Replace placeholders by one monitor's values; a sole placeholder keeps the value's type."""
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
    """Yield all values of a section with their ways, each mapping before its values."""
    yield way, value
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*way, key))
    if isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(child, (*way, index))


def placeholders_in(value: Value) -> list[str]:
    """Return the names of the placeholders in a text; empty for other values."""
    matches = _PLACEHOLDER.finditer(value) if isinstance(value, str) else ()
    return [each[2] for each in matches if each[2] is not None]


def text_of(value: Value) -> str:
    """Return a value as part of a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """A parsed block: one row of values for each monitor.

    ``placeholder`` is the one in the name; its ``values`` distinguish the monitors.
    """

    kind: str
    placeholder: str
    rows: Sequence[Row]
    values: Sequence[Scalar]


def is_block(monitor: Value) -> bool:
    """Whether an entry of the file defines several monitors."""
    return isinstance(monitor, dict) and not monitor.keys().isdisjoint(BLOCKS)


def block_request(tree: Tree, way: Way, monitor: Mapping[str, Value]) -> BlockRequest | None:
    """Parse a block; return None for a single monitor, or if the block is refused."""
    if FOR_EACH in monitor and CLASSES in monitor:
        tree.refuse((*way, CLASSES), "a block has for_each or classes, not both; split it in two")
        return None
    if FOR_EACH in monitor:
        in_name = placeholders_in(monitor.get("name"))
        return _for_each(tree, (*way, FOR_EACH), monitor[FOR_EACH], in_name)
    return _classes(tree, (*way, CLASSES), monitor[CLASSES]) if CLASSES in monitor else None


def _for_each(
    tree: Tree, way: Way, section: Value, in_name: Collection[str]
) -> BlockRequest | None:
    if not isinstance(section, dict) or not section:
        tree.refuse(way, f"it needs a name and values, {_EXAMPLE}")
        return None
    for name in section:
        if not re.fullmatch(WORD, name):
            tree.refuse((*way, name), "a placeholder is a word of letters, digits and '_'")
    lists = {
        name: _scalars(tree, (*way, name), values, nulls=name not in in_name)
        for name, values in section.items()
    }
    first = next(iter(lists))
    for name, values in lists.items():
        if lists[first] and values and len(values) != len(lists[first]):
            message = (
                f"there are {len(values)} for {len(lists[first])} of {first}; lists are read in "
                "parallel, so make them equally long"
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
        tree.refuse(way, f"it needs a column and values, {_CLASSES_EXAMPLE}")
        return None
    _check_keys(tree, way, section)
    if not isinstance(section.get("column", ""), str):
        tree.refuse((*way, "column"), "name the column with the predicted class")
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
    existing = ("column", "values")
    for key in {**section, **dict.fromkeys(existing)}:
        if key not in existing:
            message = f"there is no such setting here; known are {', '.join(existing)}"
            tree.refuse((*way, key), message)
        elif key not in section:
            tree.refuse((*way, key), f"this setting is missing; {_CLASSES_EXAMPLE}")


def _scalars(tree: Tree, way: Way, values: Value, *, nulls: bool = False) -> list[Scalar]:
    if not isinstance(values, list) or not values:
        empty = values in ([], {})
        message = "an empty list makes no monitor; name a value or more, or remove the block"
        tree.refuse(way, message if empty else "expected a list of values, such as [a, b]")
        return []
    if len(values) > _MOST_VALUES:
        message = f"these are {len(values):,} values, and a block has at most {_MOST_VALUES:,}"
        tree.refuse(way, message)
    for value in values:
        if (value is None and not nulls) or isinstance(value, list | dict):
            tree.refuse(way, "expected a list of texts or numbers, such as [a, b]")
            return []
    return values  # type: ignore[return-value]  # looked at one by one


def _refuse_twice(tree: Tree, way: Way, values: Sequence[Scalar]) -> None:
    twice = [text for text, count in Counter(map(text_of, values)).items() if count > 1]
    if twice:
        tree.refuse(way, f"{twice[0]!r} is listed twice; name each value once")


def block_name(name: str, placeholder: str) -> str:
    """Return a monitor's name without placeholders; ``placeholder`` if nothing else remains."""
    parts = [part.strip("-_.") for part in re.split(rf"\{{{WORD}\}}", name)]
    return "-".join(part for part in parts if part) or placeholder


NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Pattern of a monitor's name, which becomes part of tags and file names."""


def check_blocks(
    tree: Tree, monitors: Sequence[Value], blocks: Sequence[BlockRequest | None]
) -> None:
    """Refuse blocks that cannot be expanded, or that would define unintended monitors."""
    singles = {
        name
        for monitor in monitors
        if isinstance(monitor, dict)
        and not is_block(monitor)
        and isinstance(name := monitor.get("name"), str)
    }
    names: dict[str, int] = {}
    for index, (monitor, block) in enumerate(zip(monitors, blocks, strict=True)):
        if block is None or not isinstance(monitor, dict):
            continue
        way: Way = ("monitors", index)
        _check_placeholders(tree, way, monitor, block)
        if block.kind == CLASSES:
            _check_class_settings(tree, way, block)
            _check_one_question(tree, way, monitor)
        name = monitor.get("name")
        if isinstance(name, str) and block.placeholder in placeholders_in(name):
            _check_names_of(tree, way, name, block)
            title = block_name(name, block.placeholder)
            line = tree.lines[("monitors", names.setdefault(title, index))]
            if names[title] != index or title in singles:
                other = f"the block of line {line}" if names[title] != index else "a monitor"
                message = f"the block is called {title}, as is {other}; give it another name"
                tree.refuse((*way, "name"), message)
        else:
            example = f"{'mail' if name is None else text_of(name)}-{{{block.placeholder}}}"
            message = f"all monitors of the block would have the same name; write {example}"
            tree.refuse((*way, "name"), message)


def check_class_answers(tree: Tree, monitors: Sequence[Value]) -> None:
    """Refuse questions for a class in monitors without classes to choose from."""
    for index, monitor in enumerate(monitors):
        if isinstance(monitor, dict) and CLASSES not in monitor and _asks_for_class(monitor):
            message = (
                "people can choose a class where a block has classes; write classes: {column: ..., "
                "values: [...]}, or remove answer and ask for yes or no"
            )
            tree.refuse(("monitors", index, "labeling", "answer"), message)


def _asks_for_class(monitor: Mapping[str, Value]) -> bool:
    labeling = monitor.get("labeling")
    return isinstance(labeling, dict) and labeling.get("answer") == "class"


def _check_placeholders(
    tree: Tree, way: Way, monitor: Mapping[str, Value], block: BlockRequest
) -> None:
    placeholders = list(block.rows[0])
    listed = ", ".join(f"{{{each}}}" for each in placeholders)
    nulls = {name for name in placeholders if any(row[name] is None for row in block.rows)}
    used: set[str] = set()
    for path, value in leaves(
        {key: setting for key, setting in monitor.items() if key not in BLOCKS}
    ):
        names = {*placeholders_in(value)}
        used |= names
        for name in names.difference(placeholders):
            message = (
                f"{{{name}}} is not a placeholder of this block, which has {listed}; "
                f"write {{{{{name}}}}} for the text"
            )
            tree.refuse((*way, *path), message)
        if names & nulls and not _PLACEHOLDER.fullmatch(str(value)):
            [name, *_] = sorted(names & nulls)
            message = f"{{{name}}} is null for a monitor, and no text holds null; use it alone"
            tree.refuse((*way, *path), message)
        if value in [{name: None} for name in placeholders]:
            message = f"YAML reads braces without quotes as a mapping; put {listed} in quotes"
            tree.refuse((*way, *path), message)
        if path and placeholders_in(path[-1] if isinstance(path[-1], str) else None):
            message = "placeholders work in values, not in names of settings; write the name out"
            tree.refuse((*way, *path), message)
    _check_use(tree, way, monitor, block, used)


def _check_use(
    tree: Tree, way: Way, monitor: Mapping[str, Value], block: BlockRequest, used: set[str]
) -> None:
    in_source = {
        name for _, value in leaves(monitor.get("source")) for name in placeholders_in(value)
    }
    if block.kind == FOR_EACH and not in_source:
        message = (
            f"no setting of source has {{{block.placeholder}}}, so all monitors of the block would "
            "read the same data; "
            f'write it there, such as columns: {{score: "{{{block.placeholder}}}"}}'
        )
        tree.refuse((*way, FOR_EACH, block.placeholder), message)
    for name in block.rows[0]:
        if name not in {*used, block.placeholder}:
            message = f"{{{name}}} is not used in any setting of the block; use it or remove it"
            tree.refuse((*way, FOR_EACH, name), message)


def _check_class_settings(tree: Tree, way: Way, block: BlockRequest) -> None:
    negative = (*way, "source", "negative")
    values = [
        value for _, value in leaves(tree.at(negative)) if isinstance(value, str | int | float)
    ]
    negatives = {text_of(value) for value in values}
    for both in sorted(negatives & {text_of(value) for value in block.values}):
        tree.refuse(negative, f"{both!r} is among classes.values, each of which has its monitor")
    labeling = tree.at((*way, "labeling"))
    if isinstance(labeling, list) or (isinstance(labeling, dict) and "flagged" in labeling):
        message = "the monitors of a block of classes have one labeler each; name one for both"
        tree.refuse((*way, "labeling"), message)
    decided = {
        ("source", "threshold"): "each class is flagged where it is the predicted one",
        ("source", "positive"): "each monitor's is its own class",
        ("source", "columns", "predicted"): "classes.column is that column",
        ("labeling", "positive"): "each monitor's is its own class",
        ("labeling", "negative"): "every other class is",
    }
    for path, why in decided.items():
        if (*way, *path) in tree.lines:
            tree.refuse((*way, *path), f"a block of classes needs none: {why}; remove it")


def _check_one_question(tree: Tree, way: Way, monitor: Mapping[str, Value]) -> None:
    """Refuse a question that depends on the class if people answer once for all classes."""
    if not _asks_for_class(monitor):
        return
    for path, value in leaves(monitor["labeling"]):
        if CLASS in placeholders_in(value):
            message = (
                "people are asked once for all classes (answer: class), so it cannot differ by "
                "class; leave {class} out, as in: What is this mail about?"
            )
            tree.refuse((*way, "labeling", *path), message)


def _check_names_of(tree: Tree, way: Way, name: str, block: BlockRequest) -> None:
    if not set(placeholders_in(name)) <= set(block.rows[0]):
        return  # refused already: no row has a value for it
    for row, value in zip(block.rows, block.values, strict=True):
        made = text_of(filled(name, row))
        if "${" in made or NAME.fullmatch(made):
            continue
        out = (
            "give classes a name each, such as values: {real-estate: Real estate}"
            if block.kind == CLASSES
            else "use a second list for the names: for_each: {column: [...], as: [...]}, and {as} "
            "in name"
        )
        message = (
            f"{text_of(value)!r} makes a monitor named {made!r}, and a name has 1 to 100 letters, "
            f"digits, '_', '-' or '.'; {out}"
        )
        tree.refuse((*way, block.kind), message)
        return


RawBlock: TypeAlias = "dict[str, Value]"
"""A `monitor.domain.block.Block` before variables are filled in."""


def written_out(tree: Tree) -> tuple[Tree, list[RawBlock | None] | None]:
    """Expand every block into its monitors, in the order of the file.

    Returns a tree with all monitors, and the block of each (None for a single monitor). If a block
    cannot be expanded, the blocks are None and the tree is the file's, with the problems.
    """
    monitors = tree.at(("monitors",))
    if not isinstance(tree.values, dict) or not isinstance(monitors, list):
        return tree, []
    check_class_answers(tree, monitors)
    if not any(is_block(monitor) for monitor in monitors):
        return tree, [None] * len(monitors)
    blocks = [
        block_request(tree, ("monitors", index), monitor) if isinstance(monitor, dict) else None
        for index, monitor in enumerate(monitors)
    ]
    check_blocks(tree, monitors, blocks)
    return (tree, None) if tree.problems else _written(tree, tree.values, monitors, blocks)


def _written(
    tree: Tree,
    values: Mapping[str, Value],
    monitors: Sequence[Value],
    requests: Sequence[BlockRequest | None],
) -> tuple[Tree, list[RawBlock | None]]:
    lines: list[dict[Way, int]] = [{} for _ in monitors]
    new = Tree()
    for way, line in tree.lines.items():
        if len(way) > 1 and way[0] == "monitors":
            lines[int(way[1])][way[2:]] = line
        else:
            new.lines[way] = line
    listed: list[Value] = []
    blocks: list[RawBlock | None] = []
    for monitor, own_lines, block in zip(monitors, lines, requests, strict=True):
        inherited = own_lines
        for written, raw_block in _monitors_of(monitor, own_lines, block):
            way = ("monitors", len(listed))
            new.lines |= {(*way, *path): line for path, line in inherited.items()}
            listed.append(written)
            blocks.append(raw_block)
            if raw_block is not None:
                inherited = {
                    path: line
                    for path, line in inherited.items()
                    if path[:1] != (raw_block["kind"],)
                }
    new.values = {**values, "monitors": listed}
    return new, blocks


def _monitors_of(
    monitor: Value, lines: dict[Way, int], block: BlockRequest | None
) -> Iterator[tuple[Value, RawBlock | None]]:
    if block is None or not isinstance(monitor, dict):
        yield monitor, None
        return
    texts = [text_of(value) for value in block.values]
    name = block_name(text_of(monitor.get("name")), block.placeholder)
    for index, (row, value) in enumerate(zip(block.rows, block.values, strict=True)):
        written = {
            key: setting if key in BLOCKS else filled(setting, row)
            for key, setting in monitor.items()
        }
        written["name"] = text_of(written.get("name"))
        if block.kind == CLASSES:
            _set_class(written, lines, value, block.values)
        if index:
            del written[block.kind]  # read with the first alone: each would repeat all values
        raw_block: RawBlock = {"name": name, "kind": block.kind, "value": text_of(value)}
        yield written, {**raw_block, "values": list(texts)}


def _set_class(
    monitor: dict[str, Value], lines: dict[Way, int], value: Scalar, values: Sequence[Scalar]
) -> None:
    """Set the class as the positive prediction, and as the positive label of a column labeler."""
    source, labeling, classes = (monitor.get(key) for key in ("source", "labeling", CLASSES))
    line = lines[(CLASSES,)]
    if isinstance(source, dict) and isinstance(classes, dict):
        negative = source.get("negative", [])
        source["negative"] = [
            *(other for other in values if other is not value),
            *(negative if isinstance(negative, list) else [negative]),
        ]
        source["positive"] = value
        columns = source.get("columns")
        if isinstance(columns, dict):
            columns["predicted"] = classes["column"]
            lines.setdefault(("source", "columns", "predicted"), line)
        lines |= {("source", made): line for made in ("positive", "negative")}
    if isinstance(labeling, dict) and labeling.get("kind") == "column":
        missing = [other for other in values if other is not value and other in MISSING_MARKERS]
        made_of_class: dict[str, Value] = {"positive": value, "unlisted_means": "negative"}
        if missing:  # a class has such a name: it is no missing value
            made_of_class["negative"] = [*missing]
        labeling |= made_of_class
        for made in made_of_class:
            lines.setdefault(("labeling", made), line)
