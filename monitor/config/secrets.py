"""Variables and secret files that a config refers to; keeps their values out of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, SecretStr

from monitor.config.yaml_tree import Tree, Value, Way

_NAMED = r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
_VARIABLE = re.compile(rf"\$\$\{{|{_NAMED}|\$\{{")
_IN_URL = re.compile(
    r"://[^/\s:@]*:(?!\$\{)[^/\s@]+@|[?&](password|sslpassword|token|secret)=(?!\$\{)"
)
_NUMBERS = {int, float, timedelta}
_FILE_MAX = 10_000  # bytes; a secret is a line, not a document


class _Placed(dict[str, Any]):
    """A mapping of the file with its way in the file."""

    way: Way = ()


@dataclass(slots=True)
class Filling:
    """Fills variables and secret files into the values of a file.

    It is the context of a validation, and so is called with each section and its class
    (`monitor.domain.setting_types.Settings`), which shows which settings are secrets. ``names_at``
    has the names of settings by section; ``held`` has the values read, each with the text that
    messages show in its place.
    """

    tree: Tree
    environ: Mapping[str, str]
    folder: Path
    names_at: dict[Way, list[str]] = field(default_factory=dict)
    held: list[tuple[Way, str, str]] = field(default_factory=list)

    def values(self, value: Value, way: Way = ()) -> Any:
        """Return a value of the file, with variables filled in at all levels."""
        if isinstance(value, list):
            return [self.values(item, (*way, i)) for i, item in enumerate(value)]
        if isinstance(value, dict):
            section = _Placed(
                {key: self.values(child, (*way, key)) for key, child in value.items()}
            )
            section.way = way
            return section
        if not isinstance(value, str):
            return value
        if _IN_URL.search(value):
            message = "do not write a password into this file; set a variable and write ${NAME}"
            self.tree.refuse(way, message)
        return _VARIABLE.sub(lambda match: self._variable(match, way), value)

    def __call__(self, model: type[BaseModel], section: object) -> object:
        """Read the secrets of a section, just before its class validates it."""
        if not isinstance(section, _Placed):
            return section
        values, settings = dict(section), _settings_of(model)
        for key in settings.secrets:
            self._read_secret(values, key, section.way)
        for key in settings.numbers:
            if isinstance(values.get(key), bool):
                values[key] = str(values[key]).lower()  # pydantic would take it for 1 or 0
        self.names_at[section.way] = settings.names
        return values

    def without_secrets(self, way: Way, message: str) -> str:
        """Replace values in a message by the ``${NAME}`` that they were read for."""
        held = [one for one in self.held if one[0][: len(way)] == way[: len(one[0])]]
        # The longest first, as one secret may be part of another; escaped or cut in messages.
        for _, text, name in sorted(held, key=lambda one: -len(one[1])):
            for form in (text, repr(text)[1:-1], ascii(text)[1:-1], ascii(text)[1:60]):
                message = message.replace(form, name) if form.strip() else message
        return message

    def _variable(self, match: re.Match[str], way: Way) -> str:
        written, name = match[0], match[1]
        if name and name in self.environ:
            self.held.append((way, self.environ[name], written))
            return self.environ[name]
        if name:
            message = f"the environment has no variable {name}; set it, or write $${{ for the text"
            self.tree.refuse(way, message)
        elif written == "${":
            message = "`${` begins a variable such as ${OPS_HOOK}; write $${ for the characters"
            self.tree.refuse(way, message)
        return written.replace("$${", "${")

    def _read_secret(self, values: dict[str, Any], key: str, way: Way) -> None:
        """Read the file of ``KEY_file: PATH`` into the setting; refuse a secret in the config."""
        self._refuse_literals((*way, key), key)
        of_file, text, problem = f"{key}_file", "", ""
        if of_file not in values:
            return
        if key in values:
            problem = f"{key} is already set; keep one of {key} and {of_file}"
        try:
            with (self.folder / values.pop(of_file)).open("rb") as file:
                text = file.read(_FILE_MAX).decode().rstrip("\r\n")
        except UnicodeDecodeError:
            problem = "the file with the secret is not UTF-8"
        except (OSError, ValueError, TypeError) as error:
            reason = str(getattr(error, "strerror", None) or "this is not a path").lower()
            problem = f"the file with the secret cannot be read: {reason}"
        if problem:
            self.tree.refuse((*way, of_file), problem)
        values[key] = text
        self.held.append((way, text, f"<{of_file}>"))

    def _refuse_literals(self, way: Way, key: str) -> None:
        """Refuse a secret written in the config; a URL needs a variable in some part."""
        value = self.tree.at(way)
        pattern = _NAMED if key.endswith("url") else rf"\A({_NAMED})+\Z"
        if isinstance(value, dict | list):
            for part in value if isinstance(value, dict) else range(len(value)):
                self._refuse_literals((*way, part), key)
        elif value is not None and not re.search(pattern, str(value)):
            instead = f"`{key}: ${{NAME}}`, or write `{key}_file: PATH`"
            message = f"do not write a secret into this file; set a variable and write {instead}"
            self.tree.refuse(way, message)


class _OfModel(NamedTuple):
    """Names of the settings of a class: all valid keys, the secrets, and the numbers."""

    names: list[str]
    secrets: list[str]
    numbers: list[str]


@cache
def _settings_of(model: type[BaseModel]) -> _OfModel:
    types = {
        setting.alias or key: _types_in(setting.annotation)
        for key, setting in model.model_fields.items()
    }
    secrets = [key for key, kinds in types.items() if SecretStr in kinds]
    numbers = [key for key, kinds in types.items() if bool not in kinds and _NUMBERS & {*kinds}]
    return _OfModel(sorted([*types, *(f"{key}_file" for key in secrets)]), secrets, numbers)


def _types_in(annotation: object) -> list[object]:
    return [annotation, *(one for part in get_args(annotation) for one in _types_in(part))]
