"""Folders with a config and predictions, and the command line in them."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from tests.cli.workplace import Workplace

LIMITS = ("    labeling", "    limits: {recall: 0.95, false_alarm_every: 10}\n    labeling")


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PR_MONITOR_CONFIG", raising=False)
    return Workplace(tmp_path)


@pytest.fixture
def place(bare):
    """A folder with predictions and a config whose labels stand in a column."""
    bare.predictions()
    bare.config()
    return bare


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory):
    """Eight closed rounds of a monitor whose recall is far under its limit."""
    filled = Workplace(tmp_path_factory.mktemp("filled"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(filled.folder)
        filled.predictions(days=8, rows=1600)
        filled.config(limits=LIMITS)
        start = filled.slot - timedelta(days=8)
        filled.said = filled.run("backfill", "--from", f"{start:%Y-%m-%dT%H:%M}")
    return filled


@pytest.fixture(scope="session")
def corrected_folder(filled_folder, tmp_path_factory):
    """The same after most labels changed and some were taken back: version 2 of each round."""
    corrected = copy_of(filled_folder, tmp_path_factory.mktemp("corrected"))
    with pytest.MonkeyPatch.context() as patch:
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
    return Workplace(folder, place.now, place.said)
