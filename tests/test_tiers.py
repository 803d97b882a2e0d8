"""What `make test` runs is decided in one place, and the commands that run it are told."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests import tiers

ROOT = Path(__file__).parents[1]


class Item:
    """A collected test, as far as tiers look at it."""

    def __init__(self, nodeid="tests/rounds/test_x.py::test_x", fixtures=(), marks=()):
        self.nodeid, self.fixturenames = nodeid, fixtures
        self.marks = [SimpleNamespace(name=name) for name in marks]

    def iter_markers(self):
        return self.marks

    def get_closest_marker(self, name):
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, marker):
        found = SimpleNamespace(name=marker) if isinstance(marker, str) else marker.mark
        self.marks.append(found)


def sorted_marks(item):
    tiers.sort(item)
    return {mark.name for mark in item.marks}


IN_STORE = "tests/storage/test_x.py::test_x"
KINDS = {
    "any other": (Item(fixtures=["tmp_path", "mlflow_url"]), set(), True),
    "faults": (Item("tests/faults/test_x.py::test_x"), {"thorough"}, True),
    "a database": (Item(fixtures=["tmp_path", "postgres_url"]), {"thorough"}, True),
    "label studio": (Item(fixtures=["tmp_path", "label_studio"]), {"thorough"}, True),
    **{
        name: (Item(marks=[name]), {name, "thorough"}, name != "soak")
        for name in ("postgresql", "simulation", "slow", "soak")
    },
    "a second store": (
        Item(fixtures=["store_url"], marks=["postgresql"]),
        {"postgresql", "thorough", "soak"},
        False,
    ),
    "sqlite": (Item(fixtures=["store_url"]), set(), True),
    "the store": (Item(IN_STORE, ["store_url"], ["postgresql"]), {"postgresql", "thorough"}, True),
}


@pytest.mark.parametrize(("item", "marks", "is_run"), KINDS.values(), ids=KINDS)
def test_what_takes_long_or_needs_a_server_is_thorough_and_only_the_soak_runs_what_is_left_to_it(
    item, marks, is_run, monkeypatch
):
    monkeypatch.setattr(tiers, "SOAK", False)
    assert sorted_marks(item) == marks
    assert tiers.is_run(item) == is_run

    monkeypatch.setattr(tiers, "SOAK", True)
    assert tiers.is_run(item)


def test_the_soak_marks_the_faults_as_its_own(monkeypatch):
    monkeypatch.setattr(tiers, "SOAK", True)

    assert "soak" in sorted_marks(Item("tests/faults/test_x.py::test_x"))


def test_tests_that_share_something_are_handed_out_together_and_their_places_exist():
    sharing = tiers.Sharing.__new__(tiers.Sharing)

    assert sharing._split_scope("tests/tracking/test_a.py::test_x") == "mlflow"
    assert sharing._split_scope("tests/rounds/test_a.py::test_x") == "tests/rounds/test_a.py"
    assert sharing._split_scope("tests/cli/test_a.py::test_x") == "tests/cli/test_a.py::test_x"
    places = [*tiers.TOGETHER, *tiers.FILE_BY_FILE, *tiers.ON_BOTH]
    assert [place for place in places if not exists(*place.split("::"))] == []


def exists(file, test=""):
    path = ROOT / file
    return f"\ndef {test}" in path.read_text() if test else path.exists()


def test_the_store_is_tested_on_postgresql_in_the_thorough_tier_alone(request, store_url):
    marks = {mark.name for mark in request.node.iter_markers()}

    assert ("thorough" in marks) == store_url.startswith("postgresql")


def test_no_property_fails_because_the_machine_is_busy():
    assert settings().deadline is None


def test_readme_and_contributing_name_the_commands_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    readme, contributing = ((ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md"))

    named = set(re.findall(r"`make ([a-z-]+)`", readme + contributing))

    assert named <= targets
    assert {"test", "test-all", "soak", "check"} <= named
    assert "make demo" in readme
    assert "`make test`" in readme
