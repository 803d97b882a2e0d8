"""Reads a config file: the environment put in, secrets kept out, all problems reported at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from monitor.config.errors import problems_of
from monitor.config.model import Config
from monitor.config.secrets import Filled
from monitor.config.yaml_tree import read_yaml
from monitor.domain.errors import ConfigRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from monitor.config.yaml_tree import Problem, Tree, Value, Way

MOST_PROBLEMS = 50
"""Lines of a refusal; whoever has more to fix begins with these."""


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
    tree = read_yaml(path, if_missing="; `pr-monitor init PREDICTIONS` writes one")
    filled = Filled(tree, environ, path.absolute().parent)
    values = filled.values(tree.values)
    problems = [*tree.problems, *filled.problems, *_names(tree)]
    config = None
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        problems += [filled.without_secrets(problem) for problem in problems_of(error, tree)]
    if problems or config is None:
        # Not from pydantic's error: its text repeats values, secrets among them.
        raise ConfigRefused(_listed(path, tree, problems)) from None
    return config.placed(path.absolute().parent)


def _listed(path: Path, tree: Tree, problems: list[Problem]) -> str:
    """One line for each place, in the order of the file; of very many the first."""
    first: dict[Way, Problem] = {}
    for problem in problems:
        first.setdefault(problem.way, problem)
    ordered = sorted(first.values(), key=lambda one: (one.line, tree.path(one.way)))
    lines = [f"{path}:{tree.told(problem)}" for problem in ordered[:MOST_PROBLEMS]]
    if len(ordered) > MOST_PROBLEMS:
        lines.append(f"{path}: {len(ordered) - MOST_PROBLEMS} more problems; fix these first")
    return "\n".join(lines)


def _names(tree: Tree) -> Iterator[Problem]:
    """Find monitors that share a name, and hooks that do not exist."""
    monitors = [way for way, _ in _items(tree, ("monitors",))]
    yield from _shared_names(tree, monitors)
    hooks = tree.at(("hooks",))
    known = list(hooks) if isinstance(hooks, dict) else []
    for way in monitors:
        yield from _unknown_hooks(tree, way, known)


def _shared_names(tree: Tree, monitors: list[Way]) -> Iterator[Problem]:
    first: dict[str, Way] = {}
    for way in monitors:
        name = tree.at((*way, "name"))
        if isinstance(name, str) and first.setdefault(name, way) != way:
            line = tree.lines[(*first[name], "name")]
            message = f"line {line} has a monitor of this name already; names must differ"
            yield tree.problem((*way, "name"), message)


def _unknown_hooks(tree: Tree, monitor: Way, known: list[str]) -> Iterator[Problem]:
    choice = f"known are {', '.join(known)}" if known else "add a section `hooks:` with it"
    for way, hook in _items(tree, (*monitor, "hooks")):
        if isinstance(hook, str) and hook not in known:
            yield tree.problem(way, f"there is no hook {hook!r}; {choice}")


def _items(tree: Tree, way: Way) -> list[tuple[Way, Value]]:
    """Return the items of a list with the way to each; none where the file has no list."""
    value = tree.at(way)
    items = value if isinstance(value, list) else []
    return [((*way, place), item) for place, item in enumerate(items)]
