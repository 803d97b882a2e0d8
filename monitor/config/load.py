"""Reads a config file: the environment put in, secrets kept out, all problems told at once."""

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
        lines.append(f"{path}: {len(ordered) - MOST_PROBLEMS} problems more; mend these first")
    return "\n".join(lines)


def _names(tree: Tree) -> Iterator[Problem]:
    """Find monitors that share a name, and hooks that do not exist."""
    hooks = tree.at(("hooks",))
    known = list(hooks) if isinstance(hooks, dict) else []
    choice = f"known are {', '.join(known)}" if known else "add a section `hooks:` with it"
    first: dict[str, int] = {}
    for way in [("monitors", place) for place in range(len(_list(tree, ("monitors",))))]:
        name, line = tree.at((*way, "name")), tree.lines.get((*way, "name"), 0)
        if isinstance(name, str) and first.setdefault(name, line) != line:
            message = f"line {first[name]} has a monitor of this name already; names must differ"
            yield tree.problem((*way, "name"), message)
        for place, hook in enumerate(_list(tree, (*way, "hooks"))):
            if isinstance(hook, str) and hook not in known:
                message = f"there is no hook {hook!r}; {choice}"
                yield tree.problem((*way, "hooks", place), message)


def _list(tree: Tree, way: Way) -> list[Value]:
    value = tree.at(way)
    return value if isinstance(value, list) else []
