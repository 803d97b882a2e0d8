"""What commands load: help next to nothing, and a pass with nothing due no heavy package."""

import pytest

from tests.cli.workplace import PEOPLE
from tests.evaluation.sets import cells
from tests.workers import python

HEAVY = ["mlflow", "duckdb", "pandas", "matplotlib"]
LIBRARIES = [*HEAVY, "numpy", "scipy", "sqlalchemy", "pydantic", "rich", "alembic", "httpx"]
ONLY_FOR_WORK = [*HEAVY, "numpy", "scipy", "alembic", "httpx", "httpcore"]


def modules(*pieces):
    """All modules that one process has imported at the end of each of some pieces of Python."""
    code = "import sys\n"
    for piece in pieces:
        code += f"try:\n    exec({piece!r})\nexcept SystemExit as end:\n"
        code += "    assert not end.code\nprint(*sys.modules, file=sys.stderr)\n"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    return [set(line.split()) for line in done.stderr.splitlines()]


def loaded(code):
    """Top-level packages that a piece of Python has imported when it ends."""
    [found] = modules(code)
    return {name.partition(".")[0] for name in found}


def command(*words):
    line = ["pr-monitor", *words]
    return f"import sys; sys.argv = {line}; from monitor.__main__ import main; main()"


def test_help_loads_no_library_but_the_one_for_commands_and_that_of_one_no_heavy_package():
    found = loaded(command("--help"))
    of_a_command = loaded(command("run-once", "--help"))

    assert "typer" in found
    assert found.isdisjoint(LIBRARIES)
    assert of_a_command.isdisjoint([*HEAVY, "numpy", "scipy", "sqlalchemy", "alembic", "httpx"])


DEPENDENCIES = {
    *("alembic", "apscheduler", "argon2", "cronsim", "duckdb", "fastapi", "httpcore", "httpx"),
    *("jinja2", "markdown_it", "mlflow", "numpy", "pandas", "prometheus_client", "pydantic"),
    *("scipy", "sklearn", "sqlalchemy", "structlog", "threadpoolctl", "typer", "uvicorn", "yaml"),
}
ESTIMATE = {"numpy", "pydantic", "scipy"}
FRAMES = {*ESTIMATE, "pandas"}
CONFIG = {*ESTIMATE, "cronsim", "duckdb", "sqlalchemy", "yaml"}
COMMANDS = {"structlog", "typer"}
ASSUMED = ("plan", "--precision", ".8", "--recall", ".6", "--flagged-rate", ".03")
CELLS = [f"--{name}={count}" for name, count in {"tp": 8, "fp": 2, "fn": 1, "tn": 9}.items()]
SIZES = ("--flagged-size", "1600", "--passed-size", "48400")
LABELED = ("labels.csv", "--predicted", "predicted", *SIZES, "--at-least", "recall=0.1")
LIGHT = {
    "commands": {
        "estimate": (command("estimate", *CELLS, *SIZES), COMMANDS | ESTIMATE),
        "assumed": (command(*ASSUMED), COMMANDS | ESTIMATE | {"cronsim", "sqlalchemy"}),
        "plan": (command("plan"), COMMANDS | CONFIG),
        "init": (
            command("init", "predictions.parquet", "--config", "new.yaml"),
            COMMANDS | CONFIG | {"pandas"},
        ),
    },
    "labeled sets": {
        "gate": (command("gate", *LABELED), COMMANDS | FRAMES),
    },
}
"""Each needs all that those before it need, so one process runs them one after the other."""


@pytest.mark.slow
@pytest.mark.parametrize("of", LIGHT)
def test_what_needs_no_service_loads_neither_it_nor_mlflow(place, of):
    cells(138, 22, 108, 4732).to_csv("labels.csv", index=False)
    codes, dependencies = zip(*LIGHT[of].values(), strict=True)

    found = modules(*codes)

    needed = dict(zip(LIGHT[of], dependencies, strict=True))
    packages = [{name.partition(".")[0] for name in each} & DEPENDENCIES for each in found]
    assert dict(zip(LIGHT[of], packages, strict=True)) == needed
    ours = ("monitor.service", "monitor.plugins")
    assert [name for name in found[-1] if name.startswith(ours)] == []


def test_a_pass_with_nothing_due_loads_no_heavy_package(place_today):
    place_today.config(PEOPLE)
    place_today.run("run-once")
    place_today.run("run-once")  # it finds nothing new, and the next knows that

    found = loaded(command("run-once"))

    assert "sqlalchemy" in found
    assert found.isdisjoint(ONLY_FOR_WORK)


def test_status_of_a_monitor_with_limits_loads_no_heavy_package(filled):
    found = loaded(command("status"))

    assert "sqlalchemy" in found
    assert found.isdisjoint(ONLY_FOR_WORK)
