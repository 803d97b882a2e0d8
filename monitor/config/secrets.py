"""The environment and secret files put into a config; secrets kept out of file and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from monitor.config.errors import keys_of, kinds_at, models_in, names_at, secrets_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from monitor.config.yaml_tree import Problem, Scalar, Tree, Value, Way

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_ONLY_VARIABLES = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+")
_IN_URL = re.compile(
    r"://[^/\s:@]*:(?!\$\{)[^/\s@]+@|[?&](password|sslpassword|token|secret)=(?!\$\{)"
)
_COUNTED = {int, float, timedelta}
_FILE_MAX = 10_000  # bytes; a secret is a line, not a document


@dataclass(slots=True)
class Filled:
    """The file's values with ``${NAME}`` and ``*_file`` read.

    ``held`` is what was read, by what a message may say instead.
    """

    tree: Tree
    environ: Mapping[str, str]
    folder: Path
    problems: list[Problem] = field(default_factory=list)
    held: dict[Way, dict[str, str]] = field(default_factory=dict)

    def values(self, value: Value, way: Way = (), place: tuple[str, ...] = ()) -> Any:
        """Fill a value and all below it; ``place`` is its way in the settings (`kinds_at`)."""
        if isinstance(value, list):
            return [self.values(item, (*way, i), place) for i, item in enumerate(value)]
        if isinstance(value, dict):
            return self._section(value, way, place)
        return self._scalar(value, way, kinds_at(place))

    def without_secrets(self, problem: Problem) -> Problem:
        """Put ``${NAME}`` back wherever a message repeats what was read for its place."""
        way, message = problem.way, problem.message
        held = {
            (text, name)
            for at, texts in self.held.items()
            if at[: len(way)] == way
            for name, text in texts.items()
        }
        # The longest first, as one secret may be part of another; escaped or cut in messages.
        for text, name in sorted(held, key=lambda one: (-len(one[0]), one)):
            for form in (text, repr(text)[1:-1], ascii(text)[1:-1], ascii(text)[1:60]):
                message = message.replace(form, name) if form.strip() else message
        return problem._replace(message=message)

    def _section(self, section: dict[str, Value], way: Way, place: tuple[str, ...]) -> Any:
        kind = section.get("kind")
        named = self._looked_up(kind) if isinstance(kind, str) else None
        if named is not None and named in names_at(place):
            place = (*place, named)
        filled = {key: self.values(of, (*way, key), (*place, key)) for key, of in section.items()}
        for model in models_in(kinds_at(place)):
            for secret in secrets_in(model):
                self._read_file(filled, secret, way)
        return filled

    def _looked_up(self, text: str) -> str:
        """Fill a text before anything is known about its place; what is wrong is found later."""
        return _VARIABLE.sub(lambda match: self.environ.get(match[1] or "", match[0]), text)

    def _problem(self, way: Way, message: str) -> None:
        self.problems.append(self.tree.problem(way, message))

    def _scalar(self, value: Scalar, way: Way, kinds: tuple[object, ...]) -> Scalar:
        if isinstance(value, bool) and _COUNTED & {*kinds} and bool not in kinds:
            return str(value).lower()  # a truth, which pydantic would take for 1 or 0
        if value is not None:
            self._refuse_literal(str(value), way, secret=SecretStr in kinds)
        if isinstance(value, str):
            return _VARIABLE.sub(lambda match: self._variable(match, way), value)
        return value

    def _refuse_literal(self, text: str, way: Way, *, secret: bool) -> None:
        """Refuse a secret in the file itself; of a URL any part may be the secret."""
        key = keys_of(way)[-1]
        named = any(match[1] for match in _VARIABLE.finditer(text))
        if secret and not (named if key.endswith("url") else _ONLY_VARIABLES.fullmatch(text)):
            message = (
                "a secret may not stand in this file; set a variable and write "
                f"`{key}: ${{NAME}}`, or write `{key}_file: PATH`"
            )
            self._problem(way, message)
        elif _IN_URL.search(text):
            message = "a password may not stand in this file; set a variable and write ${NAME}"
            self._problem(way, message)

    def _variable(self, match: re.Match[str], way: Way) -> str:
        name = match[1]
        if match[0] == "$${":
            return "${"
        if name is None:
            message = "`${` begins a variable such as ${OPS_HOOK}; write $${ for the characters"
            self._problem(way, message)
        elif name not in self.environ:
            message = f"the environment has no variable {name}; set it, or write $${{ for the text"
            self._problem(way, message)
        else:
            self.held.setdefault(way, {})[f"${{{name}}}"] = self.environ[name]
            return self.environ[name]
        return match[0]

    def _read_file(self, values: dict[str, Any], secret: str, way: Way) -> None:
        """Read ``secret_file: PATH`` into ``secret``."""
        key = f"{secret}_file"
        if key not in values:
            return
        here, name = (*way, key), values.pop(key)
        if secret in values:
            self._problem(here, f"{secret} is given already; keep one of {secret} and {key}")
            return
        if not isinstance(name, str):
            self._problem(here, "a path is wanted")
            return
        reason = values[secret] = ""
        try:
            with (self.folder / name).open("rb") as file:
                values[secret] = file.read(_FILE_MAX).decode().rstrip("\r\n")
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or "this is no path").lower()
        if reason:
            self._problem(here, f"the file with the secret cannot be read: {reason}")
        self.held.setdefault(here, {})[f"<{key}>"] = values[secret]
