"""Loads a config file, fills in variables and secrets, and reports all problems at once.

A message quotes at most the value that it is about.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from monitor.config.adapters import LABELERS, SOURCES, Kinds
from monitor.config.blocks import RawBlock, written_out
from monitor.config.model import Config
from monitor.config.removed import replacement_of
from monitor.config.secrets import Filling
from monitor.config.yaml_tree import Tree, Way, read_yaml
from monitor.domain.block import Block
from monitor.domain.errors import ConfigRefused, SettingRefused

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MOST_PROBLEMS = 50  # lines of a refusal; whoever has more to fix begins with these
_LONGEST = 500  # characters of a message; a value in it may be as long as the file
_LONGEST_VALUE = 60  # characters of a value that a sentence shows
_PLAIN = (  # what pydantic says, one a line, without reasons and words of Python
    (r"(?m)^\w+ should", "it should"),
    (r" after validation.*|, (unable|got|not|exceeded) .*", ""),
    (r"datetime\.timedelta\((?:([ds])\w+=)?(\d+)\)", r"\2\1"),
    (r"\btuple\b", "list"),
    (r"\bdictionary\b.*", "mapping"),
    (r"\btimedelta\b", "duration such as 6h"),
    (r"\nit should be", " or"),
)
_KINDS: dict[object, Kinds[Any, Any, Any]] = {
    "labeling": LABELERS,
    "source": SOURCES,
}
_MAY_HIDE = ("string_", "model_", "dict_")  # a secret may stand where text or a section is wanted


def load_config(
    path: Path | str, environ: Mapping[str, str] | None = None, *, hooks: bool = True
) -> Config:
    """Load a config file; ``${NAME}`` comes from ``environ``, by default the process environment.

    ``hooks=False`` skips that section, so that a shell without its secrets can show results.

    Raises `ConfigRefused` with all problems of the file, each with file, line, path and solution.
    """
    path = Path(path)
    tree, blocks = written_out(read_yaml(path))
    if blocks is None:  # what else is wrong with its monitors is not known before
        raise ConfigRefused(_listed(path, tree, []))
    filling = Filling(tree, os.environ if environ is None else environ, path.absolute().parent)
    _check_names(tree)
    sections = tree.values
    if isinstance(sections, dict) and not hooks:
        sections = {name: section for name, section in sections.items() if name != "hooks"}
    try:
        config = Config.model_validate(filling.values(sections), context=filling)
    except ValidationError as error:
        for way, message in _problems_of(error, filling):
            tree.refuse(way, filling.without_secrets(way, message))
    if tree.problems:  # not chained to pydantic's error, whose text repeats secrets
        raise ConfigRefused(_listed(path, tree, blocks))
    return config.in_blocks(_blocks(blocks, filling)).placed(filling.folder)


def _blocks(raw: Sequence[RawBlock | None], filling: Filling) -> Iterator[Block | None]:
    """Yield the block of each monitor; a block's values are filled in once for all its monitors."""
    blocks_by_name: dict[str, Block] = {}
    for each in raw:
        if each is None:
            yield None
            continue
        name = str(each["name"])
        if name not in blocks_by_name:
            blocks_by_name[name] = Block.model_validate(filling.values(each))
        yield blocks_by_name[name].model_copy(update={"value": filling.values(each["value"])})


def _listed(path: Path, tree: Tree, blocks: Sequence[RawBlock | None]) -> str:
    """List problems in the order of the file, one a line, at most `MOST_PROBLEMS`."""
    first: dict[tuple[Way, tuple[int, str]], Way] = {}
    for way, problem in tree.problems.items():
        first.setdefault((_of_block(way, blocks), problem), way)
    problems = [(line, tree.path(way), why) for (_, (line, why)), way in first.items()]
    lines = [
        f"{path}:{line}, {setting}: {' '.join(why.split())[:_LONGEST]}"
        for line, setting, why in sorted(problems)[:MOST_PROBLEMS]
    ]
    if len(problems) > MOST_PROBLEMS:
        lines.append(f"{path}: {len(problems) - MOST_PROBLEMS} more problems; fix these first")
    return "\n".join(lines)


def _of_block(way: Way, blocks: Sequence[RawBlock | None]) -> Way:
    """Return the way in the file; ways of all monitors of a block become one."""
    index = way[1] if way[:1] == ("monitors",) and len(way) > 1 else None
    block = blocks[index] if isinstance(index, int) and index < len(blocks) else None
    return way if block is None else ("monitors", str(block["name"]), *way[2:])


def _check_names(tree: Tree) -> None:
    first: dict[str, Way] = {}
    hooks = tree.at(("hooks",))
    hook_names = [*hooks] if isinstance(hooks, dict) else []
    choice = (
        f"known are {', '.join(hook_names)}" if hook_names else "add a section `hooks:` with it"
    )
    for way in tree.lines:
        match way, tree.at(way):
            case ("monitors", int(), "name"), str(name) if first.setdefault(name, way) != way:
                line = tree.lines[first[name]]
                message = f"line {line} has a monitor of this name already; names must differ"
                tree.refuse(way, message)
            case ("monitors", int(), "hooks", int()), str(hook) if hook not in hook_names:
                tree.refuse(way, f"there is no hook {hook!r}; {choice}")


def _problems_of(error: ValidationError, filling: Filling) -> Iterator[tuple[Way, str]]:
    """Yield the problems of a validation, except those that follow from problems deeper inside."""
    grouped: dict[Way, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        grouped.setdefault(_way_in_file(one, filling.tree), []).append(one)
    outer = {way[:depth] for way in grouped for depth in range(len(way))}
    for way, errors in grouped.items():
        if way not in outer:
            yield _explained(way, errors, filling.names_at.get(way[:-1], []))


def _way_in_file(error: ErrorDetails, tree: Tree) -> Way:
    """Return pydantic's location without parts that the file lacks, such as members of unions."""
    way: Way = ()
    of_kind: Way | None = None
    for part in error["loc"]:
        # First in a section comes its kind; `command` is a kind, and a setting of it as well.
        if of_kind != way and part == tree.at((*way, "kind")):
            of_kind = way
            continue
        keys = [part, f"{part}_file"]
        way = next(((*way, key) for key in keys if (*way, key) in tree.lines), way)
    if error["type"] == "missing":
        return (*way, error["loc"][-1])
    return (*way, "kind") if error["type"].startswith("union_tag_") else way


def _explained(way: Way, errors: list[ErrorDetails], settings: list[str]) -> tuple[Way, str]:
    """Return the way to the invalid setting, and the message."""
    match errors[0]:
        case {"type": "value_error", "ctx": {"error": SettingRefused() as refused}}:
            parts = tuple(int(one) if one.isdigit() else one for one in refused.setting.split("."))
            is_there = way[-1:] in {parts[-1:], (f"{parts[-1]}_file",)}
            return (way if is_there else (*way, *parts)), refused.why
        case {"type": "value_error", "ctx": {"error": error}}:
            return way, str(error)
        case {"type": "missing" | "union_tag_not_found"}:
            return way, _missing_setting(str(way[-1]), settings)
        case {"type": "extra_forbidden"}:
            return way, _unknown_setting(way, settings)
        case {"type": "union_tag_invalid", "ctx": {"tag": kind, "expected_tags": kinds}}:
            close = _closest(kind, re.findall(r"'(.*?)'", kinds))
            return way, f"{shown(kind)} is not known; {close}"
    return way, _of_another_type(errors)


def _missing_setting(key: str, settings: list[str]) -> str:
    is_secret = f"{key}_file" in settings
    line = f"`{key}: ${{NAME}}` or `{key}_file: PATH`" if is_secret else f"a line `{key}: ...`"
    return f"this setting is missing; add {line}"


def _unknown_setting(way: Way, settings: list[str]) -> str:
    replacement = replacement_of(way)
    if replacement is not None:
        return f"this setting was removed: {replacement}"
    key = str(way[-1])
    section = way[-2] if len(way) > 1 else None
    kinds = _KINDS[section].with_setting(key) if section in _KINDS else []
    hint = _closest(key, settings)
    if kinds:
        has = "has" if len(kinds) == 1 else "have"
        hint = f"kind: {' and '.join(kinds)} {has} it; remove it, or change the kind"
    return f"there is no such setting here; {hint}"


def _closest(word: str, candidates: list[str]) -> str:
    close = difflib.get_close_matches(word, candidates, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(candidates)}"


def _of_another_type(errors: list[ErrorDetails]) -> str:
    """Describe the expected type, in simplified words of pydantic, and the actual value."""
    code, value = errors[0]["type"], errors[0]["input"]
    expected = "\n".join(dict.fromkeys(error["msg"] for error in errors))
    for terms, plain in _PLAIN:
        expected = re.sub(terms, plain, expected)
    hidden = not isinstance(value, str | int | float) or code.startswith(_MAY_HIDE)
    actual = _kind_of(value) if hidden else shown(value)
    choices = re.findall(r"'(.*?)'", expected) if code == "literal_error" else []
    close = difflib.get_close_matches(str(value), choices, n=1)
    hint = f"; did you mean {close[0]}?" if close else _hint(code, value)
    return f"{expected}, found {actual}{hint}"


def _hint(code: str, value: object) -> str:
    match code, value:
        case _, None:
            return "; write a value or remove the line"
        case "string_type", bool() | int() | float():
            return "; put it in quotes"
        case "int_from_float", float() if 0 < value < 1:
            return "; this is a count, not a share"
        case "tuple_type", str() if len(value) <= _LONGEST_VALUE:
            return f"; write [{value}]"
    return ""


def _kind_of(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    names = {int: "a number", float: "a number", str: "text", bool: str(value).lower()}
    return names.get(type(value), "nothing" if value is None else "a mapping")


def shown(value: object) -> str:
    """Return a value as short text on one line, for a message."""
    text = f"{value:g}" if isinstance(value, float) else ascii(value)
    if isinstance(value, bool):
        text = str(value).lower()
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
