"""What `make test` runs is decided in one place, and the commands that run it are told."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    "item",
    [
        Item("tests/faults/test_x.py::test_x"),
        Item(fixtures=["tmp_path", "postgres_url"]),
        Item(fixtures=["tmp_path", "label_studio"]),
        *(Item(marks=[name]) for name in ("postgresql", "simulation", "slow", "soak")),
    ],
    ids=["faults", "a database", "label studio", "postgresql", "simulation", "slow", "soak"],
)
def test_what_takes_long_or_needs_postgresql_is_thorough(item):
    assert "thorough" in sorted_marks(item)


def test_any_other_test_is_fast():
    assert sorted_marks(Item(fixtures=["tmp_path", "mlflow_url"])) == set()


@pytest.mark.parametrize(
    ("item", "is_run"),
    [
        (Item(marks=["soak"]), False),
        (Item(fixtures=["store_url"], marks=["postgresql"]), False),
        (Item(fixtures=["store_url"]), True),
        (Item("tests/storage/test_x.py::test_x", ["store_url"], ["postgresql"]), True),
        (Item(marks=["postgresql"]), True),
    ],
)
def test_only_the_soak_runs_what_is_left_to_it(item, is_run, monkeypatch):
    monkeypatch.setattr(tiers, "SOAK", False)
    tiers.sort(item)
    assert tiers.is_run(item) == is_run

    monkeypatch.setattr(tiers, "SOAK", True)
    assert tiers.is_run(item)


def test_the_soak_runs_the_faults_and_what_is_left_to_it(monkeypatch):
    monkeypatch.setattr(tiers, "SOAK", True)

    assert "soak" in sorted_marks(Item("tests/faults/test_x.py::test_x"))
    assert "soak" in sorted_marks(Item(fixtures=["store_url"], marks=["postgresql"]))
    assert "soak" not in sorted_marks(Item(marks=["postgresql"]))


def test_tests_that_share_something_are_handed_out_together_and_their_places_exist():
    sharing = tiers.Sharing.__new__(tiers.Sharing)

    assert sharing._split_scope("tests/tracking/test_a.py::test_x") == "mlflow"
    assert sharing._split_scope("tests/rounds/test_a.py::test_x") == "tests/rounds/test_a.py"
    assert sharing._split_scope("tests/cli/test_a.py::test_x") == "tests/cli/test_a.py::test_x"
    places = [*tiers.TOGETHER, *tiers.FILE_BY_FILE, *tiers.ON_BOTH]
    files = [place.partition("::")[0] for place in places]
    assert [file for file in files if not (ROOT / file).exists()] == []


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
