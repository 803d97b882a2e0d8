"""A warmed process that is killed."""

import json

import pytest

from tests.faults.few_points import few_points
from tests.workers import worker


@pytest.fixture(autouse=True)
def _coarse():
    with few_points(2**10):
        yield


@pytest.fixture(scope="session")
def warmed_lives():
    """Start a process whose forks are lives of the program; imports are paid once."""
    with worker("from tests.faults.lives import main\nmain()\n") as process:
        process.wait_for()
        yield process


@pytest.fixture
def lives(warmed_lives, tmp_path, request):
    """Run a command of `tests.faults.lives` and return what it said."""

    def run(do, *, store="sqlite", **asked):
        asked |= {"do": do, "folder": str(tmp_path)}
        if store == "postgresql":
            asked["server"] = request.getfixturevalue("postgres_server")
        warmed_lives.go(json.dumps(asked))
        said = json.loads(warmed_lives.said.readline())
        assert "error" not in said, said["error"]
        return said

    return run
