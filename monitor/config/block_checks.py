"""What blocks of a config are refused for, before any monitor is made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monitor.config.block_requests import (
    BLOCKS,
    CLASS,
    CLASSES,
    FOR_EACH,
    BlockRequest,
    block_name,
    filled,
    is_block,
    leaves,
    placeholders_in,
    text_of,
)

if TYPE_CHECKING:
    from monitor.config.yaml_tree import Tree, Value, Way

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""What a monitor may be called: its name becomes part of tags and file names."""


def check_blocks(
    tree: Tree, monitors: Sequence[Value], blocks: Sequence[BlockRequest | None]
) -> None:
    """Refuse what no monitor, or not the one that is meant, could be made of."""
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
            message = f"all monitors of the block would have one name; write {example}"
            tree.refuse((*way, "name"), message)


def check_class_answers(tree: Tree, monitors: Sequence[Value]) -> None:
    """Refuse to ask people for a class where there are no classes to choose from."""
    for index, monitor in enumerate(monitors):
        if isinstance(monitor, dict) and CLASSES not in monitor and _asks_for_class(monitor):
            message = (
                "people can choose a class where a block has classes; write classes: {column: ..., "
                "values: [...]}, or leave it out and ask for yes or no"
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
    used: set[str] = set()
    for path, value in leaves(
        {key: setting for key, setting in monitor.items() if key not in BLOCKS}
    ):
        used |= {*placeholders_in(value)}
        for name in {*placeholders_in(value)}.difference(placeholders):
            message = (
                f"{{{name}}} is no placeholder of this block, which has {listed}; "
                f"write {{{{{name}}}}} for the text"
            )
            tree.refuse((*way, *path), message)
        if value in [{name: None} for name in placeholders]:
            message = f"YAML reads braces without quotes as a mapping; put {listed} in quotes"
            tree.refuse((*way, *path), message)
        if path and placeholders_in(path[-1] if isinstance(path[-1], str) else None):
            message = "placeholders stand in values, not in names of settings; write the name out"
            tree.refuse((*way, *path), message)
    _check_use(tree, way, monitor, block, used)


def _check_use(
    tree: Tree, way: Way, monitor: Mapping[str, Value], block: BlockRequest, used: set[str]
) -> None:
    """Refuse a placeholder by which no two monitors differ."""
    in_source = {
        name for _, value in leaves(monitor.get("source")) for name in placeholders_in(value)
    }
    if block.kind == FOR_EACH and not in_source:
        message = (
            f"no setting of source has {{{block.placeholder}}}, so all monitors of the block would "
            f'watch the same; write it there, such as columns: {{score: "{{{block.placeholder}}}"}}'
        )
        tree.refuse((*way, FOR_EACH, block.placeholder), message)
    for name in block.rows[0]:
        if name not in {*used, block.placeholder}:
            message = f"{{{name}}} stands in no setting of the block; use it or leave it out"
            tree.refuse((*way, FOR_EACH, name), message)


def _check_class_settings(tree: Tree, way: Way, block: BlockRequest) -> None:
    """Refuse settings that the class decides."""
    negative = (*way, "source", "negative")
    values = [
        value for _, value in leaves(tree.at(negative)) if isinstance(value, str | int | float)
    ]
    negatives = {text_of(value) for value in values}
    for both in sorted(negatives & {text_of(value) for value in block.values}):
        tree.refuse(negative, f"{both!r} is among classes.values, each of which has its monitor")
    if str(tree.at((*way, "judge", "kind")) or "column") != "column":
        message = (
            "averages over classes take sizes of strata as counted, and those by a judge that is "
            "asked are estimated; write its verdicts into a column"
        )
        tree.refuse((*way, "judge"), message)
    if isinstance(tree.at((*way, "labeling")), list):
        message = "the monitors of a block of classes have one labeler each; leave the list out"
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
            tree.refuse((*way, *path), f"a block of classes needs none: {why}; leave it out")


def _check_one_question(tree: Tree, way: Way, monitor: Mapping[str, Value]) -> None:
    """Refuse a question that differs by class where one is asked for all."""
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
