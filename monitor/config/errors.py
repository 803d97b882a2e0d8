"""What pydantic found in a config, in plain words and at a line.

A sentence never shows text that came from the environment, and shows no more of the file than
the one value it is about.
"""

from __future__ import annotations

import difflib
import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import BaseModel, SecretStr

from monitor.config.yaml_tree import Node, Problem, Way, kind_of, way_to
from monitor.domain.refused_setting import SettingRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails


class _Want(StrEnum):
    """What a setting may hold, in words."""

    TEXT = "text"
    WHOLE_NUMBER = "a whole number"
    NUMBER = "a number"
    FINITE_NUMBER = "a finite number"
    TRUTH = "true or false"
    LIST = "a list"
    MAPPING = "a mapping"
    DURATION = "a duration such as 6h"
    PATH = "a path"


_WANTED = {
    "string": _Want.TEXT,
    "int": _Want.WHOLE_NUMBER,
    "float": _Want.NUMBER,
    "finite": _Want.FINITE_NUMBER,
    "bool": _Want.TRUTH,
    "list": _Want.LIST,
    "tuple": _Want.LIST,
    "set": _Want.LIST,
    "dict": _Want.MAPPING,
    "model": _Want.MAPPING,
    "mapping": _Want.MAPPING,
    "time": _Want.DURATION,
    "path": _Want.PATH,
}
_BOUNDS = {
    "greater_than": ("gt", "small", "more than"),
    "greater_than_equal": ("ge", "small", "at least"),
    "less_than": ("lt", "large", "less than"),
    "less_than_equal": ("le", "large", "at most"),
}
_TYPE_ENDS = ("_type", "_parsing", "_from_float", "_parsing_size", "_number", "_attributes_type")
_NO_KIND = ("union_tag_not_found", "union_tag_invalid")
_LONGEST = 60  # characters of a value that a sentence shows


class _Said(NamedTuple):
    """What is wrong, and with which setting below the place that was checked."""

    text: str
    setting: str | None = None


def problems_of(
    error: ValidationError, root: Node, top: type[BaseModel]
) -> list[tuple[Way, Problem]]:
    """Every problem of a validation, with its way in the file."""
    grouped: dict[Way, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        grouped.setdefault(_way_in_file(root, one), []).append(one)
    outer = {way[:depth] for way in grouped for depth in range(len(way))}
    found = []
    for short, errors in grouped.items():
        if short in outer and _only_follow(errors):
            continue
        way, message = _placed(short, _said(errors, short, top), top)
        found.append((way, Problem(line_of(root, way), way_to(root, way), message)))
    return found


def _only_follow(errors: list[ErrorDetails]) -> bool:
    """Whether these come of problems further in, as an "empty" list of refused items does."""
    return all(
        one["type"].endswith("too_short") or _wanted(one["type"]) is not None for one in errors
    )


def _placed(way: Way, said: _Said, top: type[BaseModel]) -> tuple[Way, str]:
    """Add the setting that is wrong to the way of what was checked, unless it ends there."""
    if said.setting is None:
        return way, said.text
    parts = tuple(said.setting.split("."))
    if parts == way[-len(parts) :] or way[-1:] == (f"{parts[-1]}_file",):
        return way, said.text
    if any(parts[0] in model.model_fields for model in models_at(top, way)):
        return (*way, *parts), said.text
    return way, f"{said.setting}: {said.text}"


def line_of(root: Node, way: Way) -> int:
    """Line of the deepest part of the way that the file has."""
    node = root
    for part in way:
        child = node.child(part)
        if child is None:
            break
        node = child
    return node.line


def models_at(top: type[BaseModel], loc: tuple[str | int, ...]) -> tuple[type[BaseModel], ...]:
    """Models that may stand at a place, from pydantic's location or a way in the file."""
    return _models_under(top, tuple(part for part in loc if isinstance(part, str)))


@lru_cache(maxsize=4096)  # a thousand monitors have the same few places
def _models_under(top: type[BaseModel], keys: tuple[str, ...]) -> tuple[type[BaseModel], ...]:
    models = [top]
    for part in keys:
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        if fields:
            models = [model for of in fields for model in _models_in(of.annotation)]
        else:
            models = [model for model in models if part == kind_in(model)] or models
    return tuple(models)


def kind_in(model: type[BaseModel]) -> str | None:
    """Return the ``kind`` by which a union knows this model."""
    kind = model.model_fields.get("kind")
    return str(get_args(kind.annotation)[0]) if kind and get_args(kind.annotation) else None


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _way_in_file(root: Node, error: ErrorDetails) -> Way:
    """Leave out the parts of pydantic's location that the file does not have."""
    way: list[str | int] = []
    node = root
    for place, part in enumerate(error["loc"], start=1):
        key = part if node.child(part) is not None else f"{part}_file"
        child = node.child(key)
        if child is not None:
            way.append(key)
            node = child
        elif error["type"] == "missing" and place == len(error["loc"]):
            way.append(part)
    return tuple(way)


def _said(errors: list[ErrorDetails], way: Way, top: type[BaseModel]) -> _Said:
    ours = errors[0].get("ctx", {}).get("error")
    if isinstance(ours, SettingRefused) and _is_no_type_error(errors):
        return _Said(ours.why, ours.setting)
    if errors[0]["type"] in _NO_KIND and _is_no_type_error(errors):
        return _Said(_of_kinds(errors[0], models_at(top, errors[0]["loc"])), "kind")
    return _Said(_sentence(errors, way, top))


def _is_no_type_error(errors: list[ErrorDetails]) -> bool:
    return all(_wanted(one["type"]) is None for one in errors)


def _of_kinds(error: ErrorDetails, models: Sequence[type[BaseModel]]) -> str:
    kinds = [kind for model in models if (kind := kind_in(model)) is not None]
    if error["type"] == "union_tag_not_found":
        return f"this setting is missing; it is one of {', '.join(kinds)}"
    tag = error.get("ctx", {})["tag"]
    return f"{shown(tag)} is not known; {_closest(str(tag), kinds)}"


def _sentence(errors: list[ErrorDetails], way: Way, top: type[BaseModel]) -> str:
    wants = dict.fromkeys(want for one in errors if (want := _wanted(one["type"])) is not None)
    if wants:
        return _wrong_type(_narrowest(list(wants)), errors[0]["input"])
    first = errors[0]
    kind, context = first["type"], first.get("ctx", {})
    if kind == "missing":
        return _missing(str(way[-1]), models_at(top, first["loc"][:-1]))
    if kind == "extra_forbidden":
        return _unknown_key(str(first["loc"][-1]), models_at(top, first["loc"][:-1]))
    if kind in _BOUNDS:
        key, size, words = _BOUNDS[kind]
        return f"{shown(first['input'])} is too {size}. It must be {words} {_plain(context[key])}"
    if kind == "value_error":
        return str(context["error"])
    return _of_a_choice(first, context)


def _of_a_choice(error: ErrorDetails, context: dict[str, Any]) -> str:
    if error["type"] == "literal_error":
        known = [word.strip("' ") for word in re.split(r",| or ", str(context["expected"]))]
        return f"{shown(error['input'])} is not known; {_closest(str(error['input']), known)}"
    if error["type"].endswith("too_short"):
        return "it is empty; at least one is wanted"
    plain = error["msg"].replace("Input should", "it should")
    return f"{shown(error['input'])} cannot be used: {plain[:1].lower()}{plain[1:]}"


def _missing(key: str, models: Sequence[type[BaseModel]]) -> str:
    if any(f"{key}_file" in keys_of(model) for model in models):
        return f"this setting is missing; add `{key}: ${{NAME}}` or `{key}_file: PATH`"
    return f"this setting is missing; add a line `{key}: ...`"


@cache
def keys_of(model: type[BaseModel]) -> tuple[str, ...]:
    """Keys that the file may hold here; a secret may also be named by the file it stands in."""
    secrets = [f"{key}_file" for key, of in model.model_fields.items() if is_secret(of.annotation)]
    return (*model.model_fields, *secrets)


def is_secret(annotation: object) -> bool:
    """Whether a setting holds a secret."""
    return SecretStr in kinds_in(annotation)


def kinds_in(annotation: object) -> list[object]:
    """Every type that an annotation is made of."""
    return [annotation, *(kind for part in get_args(annotation) for kind in kinds_in(part))]


def _plain(limit: object) -> str:
    if isinstance(limit, float):
        return f"{limit:g}"
    if not str(limit).startswith("datetime.timedelta("):
        return str(limit)
    parts = re.findall(r"(days|seconds)=(\d+)", str(limit))
    seconds = sum(int(count) * (86_400 if unit == "days" else 1) for unit, count in parts)
    return f"{seconds}s"


def _wanted(kind: str) -> _Want | None:
    if not kind.endswith(_TYPE_ENDS):
        return None
    return _WANTED.get(kind.partition("_")[0])


def _narrowest(wants: list[_Want]) -> list[_Want]:
    """Leave out what another one says already."""
    if _Want.NUMBER in wants:
        return [want for want in wants if want is not _Want.WHOLE_NUMBER]
    return wants


def _wrong_type(wants: list[_Want], value: object) -> str:
    wanted = " or ".join(wants)
    if value is None:
        return f"{wanted} is wanted, found nothing; write a value or leave the line out"
    if wants == [_Want.TEXT] and isinstance(value, bool | int | float):
        return f"text is wanted, found {kind_of(value)}; put it in quotes"
    is_word = isinstance(value, str | int | float) and wants[0] not in {_Want.TEXT, _Want.MAPPING}
    what = shown(value) if is_word else kind_of(value)
    if wants == [_Want.WHOLE_NUMBER] and isinstance(value, float) and 0 < value < 1:
        return f"a whole number is wanted, found {what}; this is a count, not a share"
    if wants == [_Want.LIST] and isinstance(value, str) and len(value) <= _LONGEST:
        what = f"text; write [{value}]"
    return f"{wanted} is wanted, found {what}"


def _unknown_key(key: str, models: Sequence[type[BaseModel]]) -> str:
    known = sorted({name for model in models for name in keys_of(model)})
    return f"there is no such setting here; {_closest(key, known)}"


def _closest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def shown(value: object) -> str:
    """Write a value for a sentence: short, on one line."""
    text = f"{value:g}" if isinstance(value, float) else ascii(value)
    if isinstance(value, bool):
        text = str(value).lower()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
