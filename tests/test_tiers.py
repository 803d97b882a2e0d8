"""What `make test` runs is decided in one place, and the commands that run it are told."""

import re
from pathlib import Path

from hypothesis import settings

from tests import tiers

ROOT = Path(__file__).parents[1]


def test_tests_that_share_something_are_handed_out_together_and_their_places_exist():
    sharing = tiers.Sharing.__new__(tiers.Sharing)

    assert sharing._split_scope("tests/tracking/test_a.py::test_x") == "mlflow"
    assert sharing._split_scope("tests/rounds/test_a.py::test_x") == "tests/rounds/test_a.py"
    assert sharing._split_scope("tests/hooks/test_a.py::test_x") == "tests/hooks/test_a.py::test_x"
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
