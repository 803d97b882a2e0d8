"""Folders with a config and predictions, and the command line in them."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from monitor.cli.commands import first_answer
from tests.cli.workplace import PEOPLE, Workplace, working_in
from tests.coarse import coarse, coarsely  # noqa: F401  a fixture

LIMITS = ("    labeling", "    limits: {recall: 0.95, false_alarm_every: 10}\n    labeling")


@pytest.fixture
def bare(store_folder, monkeypatch):
    """A folder with nothing but a store that has its tables."""
    monkeypatch.chdir(store_folder)
    monkeypatch.delenv("PR_MONITOR_CONFIG", raising=False)
    return Workplace(store_folder)


@pytest.fixture
def place(bare):
    """A folder with predictions and a config whose labels stand in a column."""
    bare.predictions()
    bare.config()
    return bare


@pytest.fixture
def place_today(bare):
    """The same up to the present, for commands in processes of their own."""
    today = replace(bare, now=datetime.now(UTC))
    today.predictions()
    today.config()
    return today


@pytest.fixture
def storeless(place):
    """A `place` without a store."""
    (place.folder / "monitor.db").unlink()
    return place


@pytest.fixture
def uncosted(monkeypatch):
    """Let `init` plan no labels, which takes seconds, for tests of what else it says."""
    monkeypatch.setattr(first_answer, "_costs_of", lambda *_: None)


@pytest.fixture(scope="session")
def closed_folder(tmp_path_factory, store_tables):
    """One closed round, whose labels stand in a column."""
    return after_a_pass(tmp_path_factory.mktemp("closed"), store_tables)


@pytest.fixture(scope="session")
def asked_folder(tmp_path_factory, store_tables):
    """A round whose 40 tasks stand in the folder `labels`."""
    return after_a_pass(tmp_path_factory.mktemp("asked"), store_tables, PEOPLE)


def after_a_pass(folder, store_tables, *labeling):
    shutil.copy(store_tables, folder / "monitor.db")
    with coarse(), working_in(folder) as place:
        place.predictions()
        place.config(*labeling)
        place.said = place.run("run-once")
    return place


@pytest.fixture
def closed(closed_folder, bare):
    """A copy of `closed_folder`."""
    return copy_of(closed_folder, bare.folder)


@pytest.fixture
def asked(asked_folder, bare):
    """A copy of `asked_folder`."""
    return copy_of(asked_folder, bare.folder)


@pytest.fixture(scope="session")
def played(tmp_path_factory, store_tables):
    """Play the beginning of a story once for all tests that go on from it, each in a copy."""
    begun = {}

    def play(begin):
        if begin not in begun:
            folder = tmp_path_factory.mktemp(begin.__name__)
            shutil.copy(store_tables, folder / "monitor.db")
            with coarse(), working_in(folder) as place:
                begin(place)
            begun[begin] = place
        return begun[begin]

    return play


@pytest.fixture
def copied(played, bare):
    """Copies of what `played` plays, as the folder that a test works in."""
    return lambda begin: copy_of(played(begin), bare.folder)


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory, store_tables):
    """Eight closed rounds of a monitor whose recall is far under its limit."""
    with coarse(), working_in(tmp_path_factory.mktemp("filled")) as filled:
        shutil.copy(store_tables, filled.folder / "monitor.db")
        filled.predictions(days=8, rows=1600)
        filled.config(limits=LIMITS)
        filled.said = filled.backfill(days=8)
    return filled


@pytest.fixture(scope="session")
def corrected_folder(filled_folder, tmp_path_factory):
    """The same after most labels changed and some were taken back: version 2 of each round."""
    corrected = copy_of(filled_folder, tmp_path_factory.mktemp("corrected"))
    with pytest.MonkeyPatch.context() as patch, coarse():
        patch.chdir(corrected.folder)
        corrected.predictions(days=8, rows=1600, is_travel="case when i % 3 > 0 then i % 2 end")
        corrected.run("run-once")
    return corrected


@pytest.fixture
def filled(filled_folder, bare):
    """A copy of `filled_folder`."""
    return copy_of(filled_folder, bare.folder)


@pytest.fixture
def corrected(corrected_folder, bare):
    """A copy of `corrected_folder`."""
    return copy_of(corrected_folder, bare.folder)


def copy_of(place, folder):
    shutil.copytree(place.folder, folder, dirs_exist_ok=True)
    return replace(place, folder=folder)
