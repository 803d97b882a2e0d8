"""A YAML file as a tree that knows its lines; everything odd is refused by file and line.

Accepted is YAML 1.2 as people write it by hand: one document, a mapping at the top, no key
twice, no tags, at most `MAX_BYTES` bytes and `MAX_DEPTH` levels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.parser import Parser

from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ruamel.yaml.events import Event
    from ruamel.yaml.nodes import Node as Parsed

Way: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None

MAX_BYTES = 1_000_000  # a thousand monitors; a larger file is not a config
MAX_DEPTH = 30  # three times what the settings need; keeps brackets from exhausting the stack
MAX_NODES = 100_000  # after aliases are written out, so that few lines cannot become many

_LONGEST = 500  # characters of a message; a value in it may be as long as the file
_TAG = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, where it stands and what to do."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.line}, {self.path}" if self.path else f"{self.line}"
        return f"{where}: {' '.join(self.message.split())[:_LONGEST]}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the file; ``line`` is that of its key, or its own in a list."""

    value: Scalar | list[Node] | dict[str, Node]
    line: int

    def child(self, part: str | int) -> Node | None:
        """Find what stands under a key, or at a place of a list."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None

    def leaves(
        self, at: tuple[str | int, ...] = ()
    ) -> Iterator[tuple[tuple[str | int, ...], Node]]:
        """Every scalar below, with the way to it."""
        if isinstance(self.value, dict):
            for key, child in self.value.items():
                yield from child.leaves((*at, key))
        elif isinstance(self.value, list):
            for place, child in enumerate(self.value):
                yield from child.leaves((*at, place))
        else:
            yield at, self


def way_to(root: Node, parts: Way) -> str:
    """Write a way as people read it, list items by their name: ``monitors[mail].limits``."""
    text = ""
    node: Node | None = root
    for part in parts:
        node = node.child(part) if node is not None else None
        if isinstance(part, str):
            text += f".{part}" if text else part
            continue
        named = node.child("name") if node is not None else None
        known = named is not None and isinstance(named.value, str) and len(named.value) <= 100  # noqa: PLR2004
        text += f"[{named.value}]" if known and named is not None else f"[{part}]"
    return re.sub(r"[^\x20-\x7e\xa0-\uffff]", "?", text)[:300]


def read_yaml(path: Path, *, if_missing: str = "") -> tuple[Node, list[tuple[Way, Problem]]]:
    """Read a file into a tree; problems that leave a tree (a key given twice) are listed.

    Parameters
    ----------
    path
        The file.
    if_missing
        What to do when there is no such file, as the end of a sentence.

    Raises
    ------
    ConfigRefused
        If there is no tree to speak of: no file, not UTF-8, not YAML, too large, too deep.
    """
    text = _text_of(path, if_missing)
    document = _parsed(path, text)
    if document is None:
        message = f"{path}: the file is empty; `pr-monitor init PREDICTIONS` writes one"
        raise ConfigRefused(message)
    reader = _Reader()
    try:
        root = reader.node(document, document.start_mark.line + 1)
    except _TooMuch as error:
        message = f"{path}:{error.line}: aliases (*name) write out to over {MAX_NODES} values"
        raise ConfigRefused(message) from None
    if not isinstance(root.value, dict):
        message = (
            f"{path}:{root.line}: a mapping such as `monitors: ...` is wanted at the top, "
            f"found {kind_of(root.value)}"
        )
        raise ConfigRefused(message)
    return root, [
        (way, Problem(line, way_to(root, way), message)) for line, way, message in reader.found
    ]


def kind_of(value: object) -> str:
    """Name the kind of a value without showing it."""
    if isinstance(value, bool):
        return str(value).lower()
    names = {int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
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
        message = f"{path}:{line}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
        raise ConfigRefused(message) from None


class _TooLarge(Exception):
    """The file is nested too deep, or holds too many values."""

    def __init__(self, line: int, what: str) -> None:
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
            what = f"nested more than {MAX_DEPTH} levels deep"
            raise _TooLarge(event.start_mark.line + 1, what)
        if self.events > MAX_NODES:
            what = f"over {MAX_NODES} values; is it a config file?"
            raise _TooLarge(event.start_mark.line + 1, what)
        return event


def _parsed(path: Path, text: str) -> Parsed | None:
    try:
        yaml = YAML(typ="safe", pure=True)
        yaml.Parser = _CountingParser
        yaml.composer.warn_double_anchors = False  # allowed, and the warning quotes the file
        found: Parsed | None = yaml.compose(text)
    except _TooLarge as error:
        message = f"{path}:{error.line}: {error.what}"
        raise ConfigRefused(message) from None
    except YAMLError as error:
        raise ConfigRefused(_syntax(path, error)) from None
    except (ValueError, LookupError, AttributeError, TypeError, AssertionError) as error:
        reason = f"the parser gave up with {type(error).__name__}"
        message = f"{path}: this is not YAML: {reason}"
        raise ConfigRefused(message) from None
    return found


def _syntax(path: Path, error: YAMLError) -> str:
    """Say what the parser met, without the text around it: that may hold a secret."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return f"{path}: this is not YAML: a character that may not stand in a text file"
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or "cannot be read"
    problem = re.sub(r"(alias|anchor|tag|directive)\b.*", r"\1", str(problem).split("\n")[0])
    hint = "; a value that holds ': ', '#', '*' or '&' wants quotes"
    return f"{path}:{mark.line + 1}:{mark.column + 1}: this is not YAML: {problem}{hint}"


class _TooMuch(Exception):
    """The tree grew past `MAX_NODES`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass(slots=True)
class _Reader:
    """Turns the parser's nodes into ours."""

    found: list[tuple[int, Way, str]] = field(default_factory=list)
    count: int = 0

    def node(self, raw: Parsed, line: int, way: Way = ()) -> Node:
        self.count += 1
        if (
            self.count > MAX_NODES or len(way) > MAX_DEPTH
        ):  # an alias may stand inside its own anchor
            raise _TooMuch(line)
        if isinstance(raw, MappingNode):
            return Node(self._mapping(raw, way), line)
        if isinstance(raw, SequenceNode):
            items = [
                self.node(item, item.start_mark.line + 1, (*way, place))
                for place, item in enumerate(raw.value)
            ]
            return Node(items, line)
        return Node(self._scalar(raw, line, way), line)

    def _mapping(self, raw: MappingNode, way: Way) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for key, value in raw.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                self.found.append((line, way, "a key must be a plain word"))
                continue
            here = (*way, key.value)
            if key.value in found:
                message = f"the key stands here twice, first in line {found[key.value].line}"
                self.found.append((line, here, f"{message}; keep one of them"))
                continue
            found[key.value] = self.node(value, line, here)
        return found

    def _scalar(self, raw: Parsed, line: int, way: Way) -> Scalar:
        text = str(raw.value)
        tag = str(raw.tag).removeprefix(_TAG)
        try:
            if tag == "null":
                return None
            if tag == "bool":
                return text.lower() == "true"
            if tag == "int":
                return _whole(text)
            if tag == "float":
                return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return text
        if tag not in {"str", "timestamp", "merge", "value"}:
            message = "tags (words that begin with !) mean nothing here; leave it out"
            self.found.append((line, way, message))
        return text


def _whole(text: str) -> int:
    """Read a whole number as YAML 1.2 writes them: 17, 1_000, 0o17, 0x1f."""
    plain = text.replace("_", "")
    return int(plain, 0) if plain[:2].lower() in {"0o", "0x", "0b"} else int(plain)
