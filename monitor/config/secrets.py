"""The environment and secret files put into a config; secrets kept out of file and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from monitor.config.errors import is_secret, keys_of, kind_in, line_of, models_at
from monitor.config.model import Config
from monitor.config.yaml_tree import Node, Problem, Way, way_to

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_ONLY_VARIABLES = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+")
_IN_URL = re.compile(
    r"://[^/\s:@]*:(?!\$\{)[^/\s@]+@|[?&](password|sslpassword|token|secret)=(?!\$\{)"
)
_FILE_MAX = 10_000  # bytes; a secret is a line, not a document


def problem_at(root: Node, way: Way, message: str) -> tuple[Way, Problem]:
    """Make a problem of the value at a way."""
    return way, Problem(line_of(root, way), way_to(root, way), message)


@dataclass(slots=True)
class Filled:
    """The file's values with ``${NAME}`` and ``*_file`` read.

    ``held`` is what was read, by what a message may say instead.
    """

    root: Node
    environ: Mapping[str, str]
    folder: Path
    problems: list[tuple[Way, Problem]] = field(default_factory=list)
    held: dict[Way, dict[str, str]] = field(default_factory=dict)

    def values(self, node: Node, way: Way = ()) -> Any:
        """Values of a node and all below it."""
        if isinstance(node.value, dict):
            found = {key: self.values(child, (*way, key)) for key, child in node.value.items()}
            return self._with_files(found, way)
        if isinstance(node.value, list):
            return [self.values(child, (*way, i)) for i, child in enumerate(node.value)]
        if isinstance(node.value, str):
            return _VARIABLE.sub(lambda found: self._value(found, way), node.value)
        return node.value

    def without_secrets(self, way: Way, message: str) -> str:
        """Put ``${NAME}`` back wherever a message repeats what was read for its place."""
        held = {
            (text, name)
            for at, texts in self.held.items()
            if at[: len(way)] == way
            for name, text in texts.items()
        }
        for text, name in sorted(held, key=lambda one: (-len(one[0]), one)):
            for form in (text, repr(text)[1:-1], ascii(text)[1:-1], ascii(text)[1:60]):
                message = message.replace(form, name) if form.strip() else message
        return message

    def _value(self, found: re.Match[str], way: Way) -> str:
        name = found[1]
        if found[0] == "$${":
            return "${"
        if name is None:
            message = "`${` begins a variable such as ${OPS_HOOK}; write $${ for the characters"
            self.problems.append(problem_at(self.root, way, message))
        elif name not in self.environ:
            message = f"the environment has no variable {name}; set it, or write $${{ for the text"
            self.problems.append(problem_at(self.root, way, message))
        else:
            self.held.setdefault(way, {})[f"${{{name}}}"] = self.environ[name]
            return self.environ[name]
        return found[0]

    def _with_files(self, values: dict[str, Any], way: Way) -> dict[str, Any]:
        """Read ``secret_file: PATH`` into ``secret``."""
        keys = {key for model in models_at(Config, way) for key in keys_of(model)}
        own = {key for model in models_at(Config, way) for key in model.model_fields}
        for key in [key for key in values if key in keys - own]:
            secret = key.removesuffix("_file")
            if secret in values:
                message = f"{secret} is given already; keep one of {secret} and {key}"
                self.problems.append(problem_at(self.root, (*way, key), message))
            elif isinstance(values[key], str):
                values[secret] = self._read(values[key], (*way, key))
            else:
                message = "a path is wanted"
                self.problems.append(problem_at(self.root, (*way, key), message))
            del values[key]
        return values

    def _read(self, name: str, way: Way) -> str:
        try:
            with (self.folder / name).open("rb") as file:
                text = file.read(_FILE_MAX).decode().rstrip("\r\n")
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except (OSError, ValueError) as error:
            reason = str(getattr(error, "strerror", None) or "this is no path").lower()
        else:
            self.held.setdefault(way, {})[f"<{way[-1]}>"] = text
            return text
        message = f"the file with the secret cannot be read: {reason}"
        self.problems.append(problem_at(self.root, way, message))
        return ""


def literal_secrets(root: Node) -> list[tuple[Way, Problem]]:
    """Secrets that stand in the file itself, told without repeating them."""
    found = []
    for way, leaf in root.leaves():
        if leaf.value is None:
            continue
        text, key = str(leaf.value), str(way[-1]) if way else ""
        if _is_literal_secret(root, way, key, text):
            message = (
                "a secret may not stand in this file; set a variable and write "
                f"`{key}: ${{NAME}}`, or write `{key}_file: PATH`"
            )
            found.append(problem_at(root, way, message))
        elif _IN_URL.search(text):
            message = "a password may not stand in this file; set a variable and write ${NAME}"
            found.append(problem_at(root, way, message))
    return found


def _is_literal_secret(root: Node, way: Way, key: str, text: str) -> bool:
    """Whether a setting that holds a secret shows it; of a URL any part may be the secret."""
    kind = _kind_at(root, way[:-1])
    for model in models_at(Config, way[:-1]):
        if kind is not None and kind_in(model) not in {None, kind}:
            continue
        setting = model.model_fields.get(key)
        if setting is not None and is_secret(setting.annotation):
            if key.endswith("url"):
                return not any(found[1] for found in _VARIABLE.finditer(text))
            return _ONLY_VARIABLES.fullmatch(text) is None
    return False


def _kind_at(root: Node, way: Way) -> str | None:
    """Return the ``kind`` that a section of the file names, if it is one there is."""
    node = root
    for part in way:
        child = node.child(part)
        if child is None:
            return None
        node = child
    kind = node.child("kind") if isinstance(node.value, dict) else None
    named = kind.value if kind is not None else None
    known = [kind_in(model) for model in models_at(Config, way)]
    return named if isinstance(named, str) and named in known else None
