"""What pydantic found in a config, as sentences at a line.

A sentence never shows text that came from the environment, and shows no more of the file than
the one value it is about.
"""

from __future__ import annotations

import difflib
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, get_args, get_origin

from pydantic import BaseModel, SecretStr

from monitor.config.adapters import Kinds
from monitor.config.model import Config
from monitor.config.yaml_tree import Problem, Tree, Way, kind_of
from monitor.domain.refused_setting import SettingRefused

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

_KIND = "kind"
_LONGEST = 60  # characters of a value that a sentence shows
_KINDS = {  # what should stand there, by how pydantic's code of an error begins: no Python words
    "string": "a valid string",
    "int": "a valid integer",
    "float": "a valid number",
    "finite": "a finite number",
    "bool": "a valid boolean",
    "time": "a duration such as 6h",
    "tuple": "a valid list",
    "dict": "a valid mapping",
    "model": "a valid mapping",
}
_RENAMED = {  # settings of configs that were written for an earlier version
    "carry": "pooling",
    "own_share": "robust_weight",
    "lean": "shift",
    "gold": "audit",
}
_BOUNDS = {  # the same, by the whole code
    "greater_than": "greater than {gt}",
    "greater_than_equal": "greater than or equal to {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "less than or equal to {le}",
    "string_too_short": "at least {min_length} characters long",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
}
_TIMEDELTA = re.compile(r"datetime\.timedelta\((?:(days|seconds)=)?(\d+)\)")
"""How pydantic hands out the bound of a duration: as Python writes it, not as a timedelta."""

_OTHER = "as docs/config.md says"
"""For a code that no setting gives today."""

_MAY_HIDE = ("string_", "model_", "dict_")  # a secret may stand where text or a section is wanted


@lru_cache(maxsize=4096)  # a thousand monitors have the same few places
def kinds_at(keys: tuple[str, ...]) -> tuple[object, ...]:
    """Types that may stand at a place of the config, named by its keys and kinds of sections."""
    if not keys:
        return (Config,)
    above, key = kinds_at(keys[:-1]), keys[-1]
    models = models_in(above)
    adapter = _of_adapter(above, key)
    if adapter is not None:
        return adapter
    return (
        _of_kind(models, key)
        or _of_setting(models, key)
        or _of_mapping(above)
        or tuple(models)  # no such setting, or a section's kind where only one may stand
    )


def _of_kind(models: list[type[BaseModel]], kind: str) -> tuple[object, ...]:
    named = [model for model in models if kind_in(model) == kind]
    return tuple(named) if len(models) > 1 else ()


def _of_setting(models: list[type[BaseModel]], key: str) -> tuple[object, ...]:
    settings = [model.model_fields[key] for model in models if key in model.model_fields]
    return tuple(kind for setting in settings for kind in _types_of(setting))


def _of_mapping(above: tuple[object, ...]) -> tuple[object, ...]:
    values = [get_args(kind)[1] for kind in above if get_origin(kind) is dict]
    return tuple(kind for value in values for kind in kinds_in(value))


def _types_of(setting: FieldInfo) -> list[object]:
    """Types of a setting; those of a section that is open to other packages come with `Kinds`."""
    opened = [one for one in setting.metadata if isinstance(one, Kinds)]
    built_in = [adapter.settings for one in opened for adapter in one.built_in.values()]
    return [*built_in, *opened] if opened else kinds_in(setting.annotation)


def _of_adapter(place: tuple[object, ...], kind: str) -> tuple[object, ...] | None:
    """Class of the settings of a kind; None where a place has no such kinds."""
    for opened in place:
        if isinstance(opened, Kinds) and kind in opened.names():
            try:
                return (opened.adapter(kind).settings,)
            except SettingRefused:
                return ()  # its package is broken, which the validation reports
    return None


def keys_of(way: Way) -> tuple[str, ...]:
    """Return the keys of a way, without places in lists."""
    return tuple(part for part in way if isinstance(part, str))


def kinds_in(annotation: object) -> list[object]:
    """Every type that an annotation is made of; a mapping is one, whatever it holds."""
    if get_origin(annotation) is dict:
        return [annotation]
    return [annotation, *(kind for part in get_args(annotation) for kind in kinds_in(part))]


def models_in(kinds: tuple[object, ...]) -> list[type[BaseModel]]:
    """Sections among the types of a place."""
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def kind_in(model: type[BaseModel]) -> str | None:
    """Return the ``kind`` by which a union knows this model."""
    kind = model.model_fields.get("kind")
    return str(get_args(kind.annotation)[0]) if kind and get_args(kind.annotation) else None


def names_at(keys: tuple[str, ...]) -> set[str | None]:
    """Return every ``kind`` that the section at a place may have."""
    kinds = kinds_at(keys)
    installed = {name for place in kinds if isinstance(place, Kinds) for name in place.names()}
    return installed | {kind_in(model) for model in models_in(kinds)}


@cache
def secrets_in(model: type[BaseModel]) -> frozenset[str]:
    """Name the settings that hold a secret; the file may name the file of one as ``NAME_file``."""
    settings = model.model_fields.items()
    return frozenset(key for key, of in settings if SecretStr in kinds_in(of.annotation))


class _Said(NamedTuple):
    """What is wrong, and with which setting below the place that was checked."""

    text: str
    setting: str | None = None


def problems_of(error: ValidationError, tree: Tree) -> list[Problem]:
    """Every problem of a validation; what follows from problems further in is left out."""
    grouped: dict[Way, list[ErrorDetails]] = {}
    for one in error.errors(include_url=False):
        grouped.setdefault(_way_in_file(tree, one), []).append(one)
    outer = {way[:depth] for way in grouped for depth in range(len(way))}
    return [
        tree.problem(*_placed(way, _said(errors)))
        for way, errors in grouped.items()
        if way not in outer
    ]


def _way_in_file(tree: Tree, error: ErrorDetails) -> Way:
    """Leave out the parts of pydantic's location that the file does not have.

    It names members of unions too, and the setting of a secret whose file the config names.
    """
    way: Way = ()
    place: tuple[str, ...] = ()
    for part in error["loc"]:
        keys = [] if _is_member(place, part) else [part, f"{part}_file"]
        way = next(((*way, key) for key in keys if (*way, key) in tree.lines), way)
        place = (*place, part) if isinstance(part, str) else place
    return (*way, error["loc"][-1]) if error["type"] == "missing" else way


def _is_member(place: tuple[str, ...], part: str | int) -> bool:
    """Whether a part of a location names a member of a union, and not a setting called the same."""
    if isinstance(part, int):
        return False
    kinds = kinds_at(place)
    return _of_adapter(kinds, part) is not None or bool(_of_kind(models_in(kinds), part))


def _placed(way: Way, said: _Said) -> tuple[Way, str]:
    """Add the setting that is wrong to the way of what was checked, unless it ends there."""
    if said.setting is None:
        return way, said.text
    parts = tuple(said.setting.split("."))
    if way[-len(parts) :] == parts or way[-1:] == (f"{parts[-1]}_file",):
        return way, said.text
    if parts[0] in _settings_at(keys_of(way)):
        return (*way, *parts), said.text
    return way, f"{said.setting}: {said.text}"


def _said(errors: list[ErrorDetails]) -> _Said:
    first, code = errors[0], errors[0]["type"]
    keys, context = keys_of(first["loc"]), first.get("ctx", {})
    if code == "value_error":
        return _ours(context["error"])
    if code in {"missing", "extra_forbidden"}:
        return _Said(_of_a_key(code, keys))
    if code == "literal_error":
        return _Said(_unknown(first["input"], _words_at(keys)))
    if code == "union_tag_not_found":
        return _Said(f"this setting is missing; it is one of {', '.join(_words_at(keys))}", _KIND)
    if code == "union_tag_invalid":
        return _Said(_unknown(context["tag"], _words_at(keys)), _KIND)
    return _Said(_of_another_type(errors))


def _words_at(keys: tuple[str, ...]) -> list[str]:
    """Words that may stand at a place, or the kinds of section."""
    kinds = kinds_at(keys)
    words = [kind for kind in kinds if isinstance(kind, str)]
    return words or [str(kind_in(model)) for model in models_in(kinds)]


def _ours(error: ValueError) -> _Said:
    """Repeat what a check of ours raised."""
    if isinstance(error, SettingRefused):
        return _Said(error.why, error.setting)
    return _Said(str(error))


def _unknown(word: object, known: list[str]) -> str:
    return f"{shown(word)} is not known; {_closest(str(word), known)}"


def _of_a_key(problem: str, keys: tuple[str, ...]) -> str:
    key, settings = keys[-1], _settings_at(keys[:-1])
    if problem == "extra_forbidden":
        if _RENAMED.get(key) in settings:
            return f"there is no such setting here; it is called {_RENAMED[key]} now"
        return f"there is no such setting here; {_closest(key, settings)}"
    if f"{key}_file" in settings:
        return f"this setting is missing; add `{key}: ${{NAME}}` or `{key}_file: PATH`"
    return f"this setting is missing; add a line `{key}: ...`"


def _of_another_type(errors: list[ErrorDetails]) -> str:
    code, value = errors[0]["type"], errors[0]["input"]
    wanted = " or ".join(dict.fromkeys(_wanted(error) for error in errors))
    hidden = value is None or isinstance(value, list | dict) or code.startswith(_MAY_HIDE)
    found = kind_of(value) if hidden else shown(value)
    return f"it should be {wanted}, found {found}{_hint(code, value)}"


def _wanted(error: ErrorDetails) -> str:
    context = {name: _bound(value) for name, value in error.get("ctx", {}).items()}
    code = error["type"]
    wanted = _BOUNDS.get(code) or _KINDS.get(code.partition("_")[0], _OTHER)
    return wanted.format(**context)


def _bound(value: object) -> str:
    """Write a bound of a setting as the file would have it."""
    duration = _TIMEDELTA.fullmatch(str(value))
    if duration is not None:
        return f"{duration[2]}{'d' if duration[1] == 'days' else 's'}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _hint(code: str, value: object) -> str:
    """Say what to do about a common mistake."""
    match code, value:
        case _, None:
            return "; write a value or leave the line out"
        case "string_type", bool() | int() | float():
            return "; put it in quotes"
        case "int_from_float", float() if 0 < value < 1:
            return "; this is a count, not a share"
        case "tuple_type", str() if len(value) <= _LONGEST:
            return f"; write [{value}]"
    return ""


def _settings_at(keys: tuple[str, ...]) -> list[str]:
    models = models_in(kinds_at(keys))
    files = {f"{secret}_file" for model in models for secret in secrets_in(model)}
    return sorted(files.union(*(model.model_fields for model in models)))


def _closest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def shown(value: object) -> str:
    """Write a value for a sentence: short, on one line."""
    text = f"{value:g}" if isinstance(value, float) else ascii(value)
    if isinstance(value, bool):
        text = str(value).lower()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
