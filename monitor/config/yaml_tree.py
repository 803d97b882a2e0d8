"""A YAML file as plain values that know their lines; everything odd is refused by file and line.

Accepted is YAML 1.2 as people write it by hand: one document, a mapping at the top, no key
twice, no tags, at most `MAX_BYTES` bytes and `MAX_DEPTH` levels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.parser import Parser

from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.events import Event

Way: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

MAX_BYTES = 1_000_000  # a thousand monitors; a larger file is not a config
MAX_DEPTH = 30  # three times what the settings need; keeps brackets from exhausting the stack
MAX_NODES = 100_000  # after aliases are written out, so that few lines cannot become many

_LONGEST = 500  # characters of a message; a value in it may be as long as the file
_LONGEST_NAME = 100  # characters of a list item's name that a path shows
_TAG = "tag:yaml.org,2002:"
_TAGS = {"map", "seq", "str", "null", "bool", "int", "float", "timestamp", "merge", "value"}


class Problem(NamedTuple):
    """One thing that is wrong, where it stands and what to do."""

    line: int
    way: Way
    message: str


@dataclass(slots=True)
class Tree:
    """The values of a file, the line of each key and list item, and what is wrong already."""

    values: Value = None
    lines: dict[Way, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, way: Way, message: str) -> Problem:
        """Make a problem at a way, in the line of the deepest part that the file has."""
        depth = next(depth for depth in range(len(way), -1, -1) if way[:depth] in self.lines)
        return Problem(self.lines[way[:depth]], way, message)

    def told(self, problem: Problem) -> str:
        """Write a problem as ``LINE, PATH: MESSAGE``."""
        path = self.path(problem.way)
        where = f"{problem.line}, {path}" if path else f"{problem.line}"
        return f"{where}: {' '.join(problem.message.split())[:_LONGEST]}"

    def path(self, way: Way) -> str:
        """Write a way as people read it, list items by their name: ``monitors[mail].limits``."""
        text = ""
        for depth, part in enumerate(way, start=1):
            if isinstance(part, str):
                text += f".{part}" if text else part
                continue
            item = self.at(way[:depth])
            name = item.get("name") if isinstance(item, dict) else None
            named = isinstance(name, str) and len(name) <= _LONGEST_NAME
            text += f"[{name if named else part}]"
        return re.sub(r"[^\x20-\x7e\xa0-\uffff]", "?", text)[:300]

    def at(self, way: Way) -> Value:
        """Return the value at a way, None if the file has none."""
        value: Any = self.values
        try:
            for part in way:
                value = value[part]
        except (LookupError, TypeError):
            return None
        return value  # type: ignore[no-any-return]

    def leaves(self) -> Iterator[tuple[Way, Scalar]]:
        """Every scalar, with the way to it."""
        for way in self.lines:
            value = self.at(way)
            if not isinstance(value, dict | list):
                yield way, value


def read_yaml(path: Path, *, if_missing: str = "") -> Tree:
    """Read a file; ``if_missing`` ends the sentence for a file that is not there.

    Raises
    ------
    ConfigRefused
        If there are no values to speak of: no file, not UTF-8, not YAML, too large, too deep.
    """
    try:
        return _tree_of(_text_of(path, if_missing))
    except _NoTree as error:
        where = f"{path}:{error.line}" if error.line else f"{path}"
        message = f"{where}: {error.what}"
        raise ConfigRefused(message) from None


def _tree_of(text: str) -> Tree:
    # Composed to nodes only: they know their lines, and show tags and doubled keys. The parser in
    # Python is the one that can be made to count.
    yaml = YAML(typ="safe", pure=True)
    yaml.Parser = _CountingParser
    yaml.composer.warn_double_anchors = False  # allowed, and the warning quotes the file
    try:
        document: Node | None = yaml.compose(text)
    except YAMLError as error:
        raise _syntax(error) from None
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError) as error:
        # What ruamel lets through for odd bytes; random files found each of them.
        what = f"this is not YAML: the parser gave up with {type(error).__name__}"
        raise _NoTree(None, what) from None
    if document is None:
        raise _NoTree(None, "the file is empty; `pr-monitor init PREDICTIONS` writes one")
    reader = _Reader(yaml.constructor)
    reader.tree.values = reader.value(document, _line(document))
    if not isinstance(reader.tree.values, dict):
        found = kind_of(reader.tree.values)
        what = f"a mapping such as `monitors: ...` is wanted at the top, found {found}"
        raise _NoTree(_line(document), what)
    return reader.tree


def _line(part: Node | Event) -> int:
    return int(part.start_mark.line) + 1


def kind_of(value: object) -> str:
    """Name the kind of a value without showing it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    names = {int: "a number", float: "a number", str: "text", dict: "a mapping"}
    return names.get(type(value), "nothing" if value is None else "something else")


def _text_of(path: Path, if_missing: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        message = f"there is no {path.name} in {path.absolute().parent}{if_missing}"
        raise ConfigRefused(message) from error
    except IsADirectoryError as error:
        message = f"{path} is a folder; name the config file in it, such as {path}/config.yaml"
        raise ConfigRefused(message) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"{str(path)!r} cannot be read: {reason}"
        raise ConfigRefused(message) from error
    if len(content) > MAX_BYTES:
        message = f"{path} is larger than {MAX_BYTES:,} bytes; is it a config file?"
        raise ConfigRefused(message)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"
        raise _NoTree(line, what) from None


class _NoTree(Exception):
    """The file gives no values, from the line on if there is one."""

    def __init__(self, line: int | str | None, what: str) -> None:
        super().__init__(line, what)
        self.line, self.what = line, what


class _CountingParser(Parser):
    """Refuses deep nesting and endless lists before anything recursive or slow looks at them."""

    depth = events = 0

    def get_event(self) -> Event:
        """Hand out the next event, unless it is one too many."""
        event: Event = super().get_event()
        self.events += 1
        self.depth += isinstance(event, CollectionStartEvent)
        self.depth -= isinstance(event, CollectionEndEvent)
        if self.depth > MAX_DEPTH:
            raise _NoTree(_line(event), f"nested more than {MAX_DEPTH} levels deep")
        if self.events > MAX_NODES:
            raise _NoTree(_line(event), f"over {MAX_NODES} values; is it a config file?")
        return event


def _syntax(error: YAMLError) -> _NoTree:
    """Say what the parser met, without the text around it: that may hold a secret."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        what = "this is not YAML: a character that may not stand in a text file"
        return _NoTree(None, what)
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or "cannot be read"
    problem = re.sub(r"(alias|anchor|tag|directive)\b.*", r"\1", str(problem).split("\n")[0])
    hint = "a value that holds ': ', '#', '*' or '&' wants quotes"
    return _NoTree(f"{mark.line + 1}:{mark.column + 1}", f"this is not YAML: {problem}; {hint}")


@dataclass(slots=True)
class _Reader:
    """Turns the parser's nodes into plain values, aliases written out."""

    constructor: SafeConstructor
    tree: Tree = field(default_factory=Tree)

    def value(self, node: Node, line: int, way: Way = ()) -> Value:
        if len(self.tree.lines) >= MAX_NODES or len(way) > MAX_DEPTH:  # an alias may hold itself
            raise _NoTree(line, f"aliases (*name) write out to over {MAX_NODES} values")
        self.tree.lines[way] = line
        tag = str(node.tag).removeprefix(_TAG)
        if tag not in _TAGS:
            message = "tags (words that begin with !) mean nothing here; leave it out"
            self.tree.problems.append(Problem(line, way, message))
        if isinstance(node, MappingNode):
            return self._mapping(node, way)
        if isinstance(node, SequenceNode):
            items = enumerate(node.value)
            return [self.value(item, _line(item), (*way, i)) for i, item in items]
        return self._scalar(node, tag)

    def _mapping(self, node: MappingNode, way: Way) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for key, value in node.value:
            line, here = _line(key), (*way, key.value)
            if not isinstance(key, ScalarNode):
                self.tree.problems.append(Problem(line, way, "a key must be a plain word"))
            elif key.value in values:
                first = f"the key stands here twice, first in line {self.tree.lines[here]}"
                self.tree.problems.append(Problem(line, here, f"{first}; keep one of them"))
            else:
                values[key.value] = self.value(value, line, here)
        return values

    def _scalar(self, node: Node, tag: str) -> Scalar:
        """Read null, bool, int and float; all else, dates too, is text as it stands."""
        if tag not in {"null", "bool", "int", "float"}:
            return str(node.value)
        try:
            value: Scalar = getattr(self.constructor, f"construct_yaml_{tag}")(node)
        except (ValueError, LookupError):  # such as `!!int many`
            return str(node.value)
        return value
