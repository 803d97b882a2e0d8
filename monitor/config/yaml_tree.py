"""A YAML file as plain values that know their lines; everything odd is refused by file and line.

Accepted is YAML 1.2 as people write it by hand: one document, no key twice, no tags, at most
`MAX_BYTES` bytes, `MAX_DEPTH` levels and `MAX_NODES` values.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.parser import Parser

from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from pathlib import Path

    from ruamel.yaml.events import Event

Way: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

MAX_BYTES = 1_000_000  # a thousand monitors; a larger file is not a config
MAX_DEPTH = 30  # three times what the settings need; keeps brackets from exhausting the stack
MAX_NODES = 100_000  # after aliases are written out, so that few lines cannot become many

_LONGEST_NAME = 100  # characters of a list item's name that a path shows
_TAG = "tag:yaml.org,2002:"
_SCALARS = YAML(typ="safe", pure=True).constructor
_READ = {"null", "bool", "int", "float"}  # all else, dates too, is text as it stands
_TAGS = {*_READ, "map", "seq", "str", "timestamp", "merge", "value"}


@dataclass(slots=True)
class Tree:
    """The values of a file, the line of each key and list item, and what is wrong with it."""

    values: Value = None
    lines: dict[Way, int] = field(default_factory=dict)
    problems: dict[Way, tuple[int, str]] = field(default_factory=dict)

    def refuse(self, way: Way, message: str, line: int | None = None) -> None:
        """Add the problem of a place, unless it has one; its line is that of its deepest part."""
        depth = next(depth for depth in range(len(way), -1, -1) if way[:depth] in self.lines)
        self.problems.setdefault(way, (line or self.lines[way[:depth]], message))

    def path(self, way: Way) -> str:
        """Write a way as people read it, list items by their name: ``monitors[mail].limits``."""
        text = "" if way else "the file"
        for depth, part in enumerate(way, start=1):
            name = self.at((*way[:depth], "name"))
            named = isinstance(name, str) and len(name) <= _LONGEST_NAME
            text += f".{part}" if isinstance(part, str) else f"[{name if named else part}]"
        return re.sub(r"[^\x20-\x7e\xa0-\uffff]", "?", text.removeprefix("."))[:300]

    def at(self, way: Way) -> Value:
        """Return the value at a way, None if the file has none."""
        value: Any = self.values
        try:
            for part in way:
                value = value[part]
        except (LookupError, TypeError):
            return None
        return value  # type: ignore[no-any-return]


def read_yaml(path: Path) -> Tree:
    """Read a file; `ConfigRefused` if it is none, not UTF-8, not YAML, too large or too deep."""
    try:
        with path.open("rb") as file:
            return _tree_of(file.read(MAX_BYTES + 1))
    except FileNotFoundError:
        folder = path.absolute().parent
        message = f"there is no {path.name} in {folder}; `pr-monitor init PREDICTIONS` writes one"
    except IsADirectoryError:
        message = f"{path} is a folder; name the config file in it, such as {path}/config.yaml"
    except _NoTree as error:
        message = f"{path}{error}"
    except YAMLError as error:
        message = f"{path}{_syntax(error)}"
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    except (OSError, ValueError) as error:
        message = f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
    raise ConfigRefused(message)


def _syntax(error: YAMLError) -> str:
    """Say what the parser met, without the text around it: that may hold a secret."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return ": this is not YAML: a character that may not stand in a text file"
    problem = str(getattr(error, "problem", None) or "it cannot be read")
    problem = re.sub(r"(alias|anchor|tag|directive)\b.*|\n.*", r"\1", problem)
    hint = "a value that holds ': ', '#', '*' or '&' wants quotes"
    return f":{mark.line + 1}:{mark.column + 1}: this is not YAML: {problem}; {hint}"


def _tree_of(content: bytes) -> Tree:
    if len(content) > MAX_BYTES:
        message = f" is larger than {MAX_BYTES:,} bytes; is it a config file?"
        raise _NoTree(message)
    # Composed to nodes only: they know their lines, and show tags and doubled keys. The parser in
    # Python is the one that can be made to count.
    yaml = YAML(typ="safe", pure=True)
    yaml.Parser = _CountingParser
    yaml.composer.warn_double_anchors = False  # allowed, and the warning quotes the file
    text = content.decode("utf-8-sig")
    try:
        document: Node | None = yaml.compose(text)
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError) as error:
        # What ruamel lets through for odd bytes; random files found each of them.
        message = f": this is not YAML: the parser gave up with {type(error).__name__}"
        raise _NoTree(message) from None
    if document is None:
        message = ": the file is empty; `pr-monitor init PREDICTIONS` writes one"
        raise _NoTree(message)
    tree = Tree()
    tree.values = _value(tree, document, _line(document))
    return tree


class _NoTree(Exception):
    """There are no values; the message goes on after the name of the file."""


def _line(part: Node | Event) -> int:
    return int(part.start_mark.line) + 1


def _check_size(line: int, *, depth: int, values: int) -> None:
    if depth > MAX_DEPTH or values > MAX_NODES:
        what = f"{MAX_DEPTH} levels deep" if depth > MAX_DEPTH else f"{MAX_NODES} values"
        message = f":{line}: over {what}, aliases (*name) written out; is it a config file?"
        raise _NoTree(message)


class _CountingParser(Parser):
    """Refuses deep nesting and endless lists before anything recursive or slow looks at them."""

    depth = events = 0

    def get_event(self) -> Event:
        """Hand out the next event, unless it is one too many."""
        event: Event = super().get_event()
        self.events += 1
        self.depth += isinstance(event, CollectionStartEvent)
        self.depth -= isinstance(event, CollectionEndEvent)
        _check_size(_line(event), depth=self.depth, values=self.events)
        return event


def _value(tree: Tree, node: Node, line: int, way: Way = ()) -> Value:
    """Turn the parser's nodes into plain values, aliases written out."""
    _check_size(line, depth=len(way), values=len(tree.lines))  # an alias may hold itself
    tree.lines[way] = line
    tag = str(node.tag).removeprefix(_TAG)
    if tag not in _TAGS:
        tree.refuse(way, "tags (words that begin with !) mean nothing here; leave it out")
    if isinstance(node, MappingNode):
        return _mapping(tree, node, way)
    if isinstance(node, SequenceNode):
        return [_value(tree, one, _line(one), (*way, i)) for i, one in enumerate(node.value)]
    if tag in _READ:
        with suppress(ValueError, LookupError):  # such as `!!int many`
            return getattr(_SCALARS, f"construct_yaml_{tag}")(node)  # type: ignore[no-any-return]
    return str(node.value)


def _mapping(tree: Tree, node: MappingNode, way: Way) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key, value in node.value:
        line, here = _line(key), (*way, key.value)
        if not isinstance(key, ScalarNode):
            tree.refuse(way, "a key must be a plain word", line)
        elif key.value in values:
            first = f"the key stands here twice, first in line {tree.lines[here]}"
            tree.refuse(here, f"{first}; keep one of them", line)
        else:
            values[key.value] = _value(tree, value, line, here)
    return values
