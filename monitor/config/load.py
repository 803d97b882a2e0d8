"""Reads a config file: the environment put in, secrets kept out, all problems told at once."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from monitor.config.errors import kinds_in, models_at, problems_of
from monitor.config.model import Config
from monitor.config.secrets import Filled, literal_secrets, problem_at
from monitor.config.yaml_tree import read_yaml
from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.config.yaml_tree import Node, Problem, Way

MOST_PROBLEMS = 50
"""Lines of a refusal; whoever has more to mend begins with these."""


def load_config(path: Path | str, environ: Mapping[str, str] | None = None) -> Config:
    """Read a config file.

    Parameters
    ----------
    path
        The YAML file.
    environ
        Where ``${NAME}`` is looked up; the process's environment if not given.

    Raises
    ------
    ConfigRefused
        With every problem of the file, one a line, each with file, line, path and the way out.
    """
    path, environ = Path(path), os.environ if environ is None else environ
    root, told = read_yaml(path, if_missing="; `pr-monitor init PREDICTIONS` writes one")
    filled = Filled(root, environ, path.absolute().parent)
    values = filled.values(root)
    found = [*told, *filled.problems, *literal_secrets(root), *_truths(root), *_names(root)]
    config = None
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        found += [
            (way, replace(problem, message=filled.without_secrets(way, problem.message)))
            for way, problem in problems_of(error, root, Config)
        ]
    if found or config is None:
        raise ConfigRefused(_listed(path, found)) from None
    return config.placed(path.absolute().parent)


def _listed(path: Path, found: list[tuple[Way, Problem]]) -> str:
    """One line for each place, in the order of the file; of very many the first."""
    first: dict[Way, Problem] = {}
    for way, problem in found:
        first.setdefault(way, problem)
    ordered = sorted(first.values(), key=lambda one: (one.line, one.path))
    lines = [f"{path}:{one}" for one in ordered[:MOST_PROBLEMS]]
    if len(ordered) > MOST_PROBLEMS:
        lines.append(f"{path}: {len(ordered) - MOST_PROBLEMS} problems more; mend these first")
    return "\n".join(lines)


def _truths(root: Node) -> list[tuple[Way, Problem]]:
    """Find true and false where a number is wanted; pydantic would take them for 1 and 0."""
    found = []
    for way, leaf in root.leaves():
        if not isinstance(leaf.value, bool):
            continue
        settings = [model.model_fields.get(str(way[-1])) for model in models_at(Config, way[:-1])]
        kinds = {kind for setting in settings if setting for kind in kinds_in(setting.annotation)}
        if kinds & {int, float} and bool not in kinds:
            message = f"a number is wanted, found {str(leaf.value).lower()}"
            found.append(problem_at(root, way, message))
    return found


def _names(root: Node) -> list[tuple[Way, Problem]]:
    """Find monitors that share a name, and hooks that do not exist."""
    monitors, hooks = root.child("monitors"), root.child("hooks")
    if monitors is None or not isinstance(monitors.value, list):
        return []
    known = list(hooks.value) if hooks is not None and isinstance(hooks.value, dict) else []
    found: list[tuple[Way, Problem]] = []
    first: dict[str, int] = {}
    for place, monitor in enumerate(monitors.value):
        name = monitor.child("name")
        if name is not None and isinstance(name.value, str):
            line = first.setdefault(name.value, name.line)
            if line != name.line:
                message = f"line {line} has a monitor of this name already; names must differ"
                found.append(problem_at(root, ("monitors", place, "name"), message))
        found += _unknown_hooks(root, ("monitors", place, "hooks"), known)
    return found


def _unknown_hooks(root: Node, way: Way, known: list[str]) -> list[tuple[Way, Problem]]:
    asked = root
    for part in way:
        child = asked.child(part)
        if child is None:
            return []
        asked = child
    items = asked.value if isinstance(asked.value, list) else []
    choice = f"known are {', '.join(known)}" if known else "add a section `hooks:` with it"
    return [
        problem_at(root, (*way, place), f"there is no hook {item.value!r}; {choice}")
        for place, item in enumerate(items)
        if isinstance(item.value, str) and item.value not in known
    ]
