"""What commands load: help next to nothing, and a pass with nothing due no heavy package."""

from tests.workers import python

HEAVY = ["mlflow", "duckdb", "pandas", "matplotlib"]
LIBRARIES = [*HEAVY, "numpy", "scipy", "sqlalchemy", "pydantic", "rich", "alembic", "httpx"]
ONLY_FOR_WORK = [*HEAVY, "numpy", "scipy", "alembic", "httpx", "httpcore"]


def loaded(code):
    """Top-level packages that a piece of Python has imported when it ends."""
    told = "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    guarded = f"import sys\ntry:\n    exec({code!r})\nexcept SystemExit as end:\n"
    guarded += f"    assert not end.code\n{told}"
    done = python("-c", guarded)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def command(*words):
    line = ["pr-monitor", *words]
    return f"import sys; sys.argv = {line}; from monitor.__main__ import main; main()"


def test_help_loads_no_library_but_the_one_for_commands_and_that_of_one_no_heavy_package():
    found = loaded(command("--help"))
    of_a_command = loaded(command("run-once", "--help"))

    assert "typer" in found
    assert found.isdisjoint(LIBRARIES)
    assert of_a_command.isdisjoint([*HEAVY, "numpy", "scipy", "sqlalchemy", "alembic", "httpx"])


def test_a_pass_with_nothing_due_loads_no_heavy_package(asked):
    asked.run("run-once")  # it finds nothing new, and the next knows that

    found = loaded(command("run-once"))

    assert "sqlalchemy" in found
    assert found.isdisjoint(ONLY_FOR_WORK)


def test_status_of_a_monitor_with_limits_loads_no_heavy_package(filled):
    found = loaded(command("status"))

    assert "sqlalchemy" in found
    assert found.isdisjoint(ONLY_FOR_WORK)
