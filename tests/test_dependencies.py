"""What the package imports is what it asks to be installed."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).parents[1]


def imported(node):
    """Names of the libraries that a module imports when it runs, wherever in it."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        yield str(node.module).partition(".")[0]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield from imported(child)


def declared():
    """Names of the packages that come with it or with one of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    return {
        canonical(re.split(r"[^\w.-]", line)[0]) for line in (*project["dependencies"], *extras)
    }


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_version_to_cite_is_the_one_that_is_released():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)

    assert cited is not None
    assert cited[1] == project["version"]


def test_the_lowest_versions_are_those_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = (ROOT / "requirements" / "lowest.lock").read_text()
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", lock, re.MULTILINE))

    floors = dict(
        re.findall(r"^([\w.-]+)>=([\w.]+)", "\n".join(project["dependencies"]), re.MULTILINE)
    )

    assert len(floors) == len(project["dependencies"])
    for name, floor in floors.items():
        assert re.fullmatch(rf"{re.escape(floor)}(\.0)*", locked[name]), name


def test_every_library_that_is_imported_is_declared():
    modules = [ast.parse(path.read_text()) for path in (ROOT / "monitor").rglob("*.py")]
    libraries = {name for module in modules for name in imported(module)}
    libraries -= {*sys.stdlib_module_names, "monitor"}

    packages = packages_distributions()
    found = {name: {canonical(package) for package in packages[name]} for name in libraries}

    assert [name for name, packages in found.items() if not packages & declared()] == []
    assert len(libraries) > 15
