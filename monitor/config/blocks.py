"""Blocks of the config written out: one entry of the file becomes a monitor for each value.

It is done on the tree, before anything is validated, so that each monitor is read, compared and
refused as one that is in the file by itself, with the lines of its block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from monitor.config.block_checks import check_blocks, check_class_answers
from monitor.config.block_requests import (
    BLOCKS,
    CLASSES,
    BlockRequest,
    block_name,
    block_request,
    filled,
    is_block,
    text_of,
)
from monitor.config.yaml_tree import Scalar, Tree, Value, Way
from monitor.domain.values import MISSING_MARKERS

RawBlock: TypeAlias = "dict[str, Value]"
"""A `monitor.domain.block.Block` before variables are put in."""


@dataclass(slots=True)
class WrittenOut:
    """A tree that lists every monitor, and the block of each; a single monitor has None.

    ``is_refused`` says that a block cannot be written out; then the tree is the file's, with the
    reasons among its problems.
    """

    tree: Tree
    blocks: list[RawBlock | None] = field(default_factory=list)
    is_refused: bool = False


def written_out(tree: Tree) -> WrittenOut:
    """Give every value of every block its own monitor, in the order of the file."""
    monitors = tree.at(("monitors",))
    if not isinstance(tree.values, dict) or not isinstance(monitors, list):
        return WrittenOut(tree)
    check_class_answers(tree, monitors)
    if not any(is_block(monitor) for monitor in monitors):
        return WrittenOut(tree, [None] * len(monitors))
    blocks = [
        block_request(tree, ("monitors", index), monitor) if isinstance(monitor, dict) else None
        for index, monitor in enumerate(monitors)
    ]
    check_blocks(tree, monitors, blocks)
    if tree.problems:
        return WrittenOut(tree, is_refused=True)
    return _written(tree, tree.values, monitors, blocks)


def _written(
    tree: Tree,
    values: Mapping[str, Value],
    monitors: Sequence[Value],
    requests: Sequence[BlockRequest | None],
) -> WrittenOut:
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
    return WrittenOut(new, blocks)


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
    """Flag where the class is predicted, and take it for the truth where a column has that."""
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
