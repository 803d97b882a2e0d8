"""A YAML file as plain values with their lines; unusual YAML is refused with file and line.

Accepts YAML as people write it by hand, with words as in YAML 1.2: one document, no repeated keys
or anchors, no tags, at most `MAX_BYTES` bytes, `MAX_DEPTH` levels and `MAX_NODES` values.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from monitor.domain.errors import ConfigRefused

Way: TypeAlias = tuple[str | int, ...]
Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

MAX_BYTES = 1_000_000  # a thousand monitors; a larger file is not a config
MAX_DEPTH = 30  # three times what the settings need; keeps brackets from exhausting the stack
MAX_NODES = 100_000  # after aliases are written out, so that few lines cannot become many
_LONGEST_NAME = 100  # characters of a list item's name that a path shows
# In C, ten times as fast, where PyYAML was built with libyaml, as its wheels are.
_PARSER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_PLAIN_WORDING: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_PLAIN_WORDING |= dict.fromkeys(("true", "True", "TRUE"), True)
_PLAIN_WORDING |= dict.fromkeys(("false", "False", "FALSE"), False)
_INT = re.compile(r"[-+]?(0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|[0-9_]+)")
_BASES = {"0b": 2, "0o": 8, "0x": 16}
_FLOAT = re.compile(
    r"[-+]?(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)


@dataclass(slots=True)
class Tree:
    """The values of a file, the lines of keys and list items, and the problems found."""

    values: Value = None
    lines: dict[Way, int] = field(default_factory=dict)
    problems: dict[Way, tuple[int, str]] = field(default_factory=dict)

    def refuse(self, way: Way, message: str, line: int | None = None) -> None:
        """Add a problem at a way, unless it has one; by default on the line of its deepest part."""
        depth = next(depth for depth in range(len(way), -1, -1) if way[:depth] in self.lines)
        self.problems.setdefault(way, (line or self.lines[way[:depth]], message))

    def path(self, way: Way) -> str:
        """Return a way as text, with list items by name: ``monitors[mail].limits``."""
        text = "" if way else "the file"
        for depth, part in enumerate(way, start=1):
            name = self.at((*way[:depth], "name"))
            named = isinstance(name, str) and len(name) <= _LONGEST_NAME
            text += f".{part}" if isinstance(part, str) else f"[{name if named else part}]"
        return re.sub(r"[^\x20-\x7e\xa0-\uffff]", "?", text.removeprefix("."))[:300]

    def at(self, way: Way) -> Value:
        """Return the value at a way; None if the file has no value there."""
        value: Any = self.values
        try:
            for part in way:
                value = value[part]
        except (LookupError, TypeError):
            return None
        return value  # type: ignore[no-any-return]


def read_yaml(path: Path) -> Tree:
    """Read a YAML file.

    Raises `ConfigRefused` if it is missing, not UTF-8, not YAML, too large or too deep.
    """
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
    except yaml.YAMLError as error:
        message = f"{path}{_syntax(error)}"
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"{path}:{line}: byte {error.start + 1} is not UTF-8; save the file as UTF-8"
    except (OSError, ValueError) as error:
        message = f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}"
    raise ConfigRefused(message)


def _syntax(error: yaml.YAMLError) -> str:
    """Describe a syntax error without quoting the text around it, which may contain a secret."""
    marker = getattr(error, "problem_mark", None)
    if marker is None:
        return ": this is not YAML: a character that is not allowed in a text file"
    problem = str(getattr(error, "problem", None) or "it cannot be read")
    problem = re.sub(r"(alias|anchor|tag|directive)\b.*|\n.*", r"\1", problem)
    hint = "a value that holds ': ', '#', '*' or '&' needs quotes"
    return f":{marker.line + 1}:{marker.column + 1}: this is not YAML: {problem}; {hint}"


def _tree_of(content: bytes) -> Tree:
    if len(content) > MAX_BYTES:
        message = f" is larger than {MAX_BYTES:,} bytes; is it a config file?"
        raise _NoTree(message)
    text = content.decode("utf-8-sig")
    _check_events(text)
    root = yaml.compose(text, Loader=_PARSER)
    if root is None:
        message = ": the file is empty; `pr-monitor init PREDICTIONS` writes one"
        raise _NoTree(message)
    tree = Tree()
    tree.values = _value(tree, root, _line(root))
    return tree


class _NoTree(Exception):
    """The file cannot be used; the message continues after the name of the file."""


def _check_size(line: int, *, depth: int, values: int) -> None:
    if depth > MAX_DEPTH or values > MAX_NODES:
        what = f"{MAX_DEPTH} levels deep" if depth > MAX_DEPTH else f"{MAX_NODES} values"
        message = f":{line}: over {what}, aliases (*name) written out; is it a config file?"
        raise _NoTree(message)


def _check_events(text: str) -> None:
    """Refuse tags, repeated anchors, deep nesting and very long lists, before composing nodes."""
    depth = values = 0
    anchors: set[str] = set()
    for event in yaml.parse(text, Loader=_PARSER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.NodeEvent):
            values += 1
            line = event.start_mark.line + 1
            _check_size(line, depth=depth, values=values)
            if isinstance(event, yaml.AliasEvent):
                continue
            if event.tag is not None:
                message = f":{line}: tags (words that begin with !) are not supported; remove it"
                raise _NoTree(message)
            if event.anchor in anchors:
                message = f":{line}: this anchor (&name) is used before; give it another name"
                raise _NoTree(message)
            anchors |= {event.anchor} - {None}


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _value(tree: Tree, node: yaml.Node, line: int, way: Way = ()) -> Value:
    """Convert the parser's nodes to plain values, with aliases expanded."""
    _check_size(line, depth=len(way), values=len(tree.lines))  # an alias may hold itself
    tree.lines[way] = line
    if isinstance(node, yaml.MappingNode):
        return _mapping(tree, node, way)
    if isinstance(node, yaml.SequenceNode):
        return [_value(tree, one, _line(one), (*way, i)) for i, one in enumerate(node.value)]
    return str(node.value) if node.style else _word(node.value)


def _mapping(tree: Tree, node: yaml.MappingNode, way: Way) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            tree.refuse(way, "a key must be a plain word", _line(key))
            continue
        name = key.value
        path = (*way, name)
        if name in values:
            first = f"the key is repeated, first in line {tree.lines[path]}"
            tree.refuse(path, f"{first}; keep one of them", _line(key))
        else:
            values[name] = _value(tree, value, _line(key), path)
    return values


def _word(text: str) -> Scalar:
    """Convert an unquoted word as YAML 1.2 does, and accept grouped digits (``10_000``)."""
    if text in _PLAIN_WORDING:
        return _PLAIN_WORDING[text]
    if text[0] not in "-+.0123456789":
        return text
    digits = text.replace("_", "").lower()
    with suppress(ValueError):  # more digits than Python reads, or none
        if _INT.fullmatch(text):
            return int(digits, _BASES.get(digits.lstrip("-+")[:2], 10))
        if _FLOAT.fullmatch(text):
            return float(digits.replace(".inf", "inf").replace(".nan", "nan"))
    return text
