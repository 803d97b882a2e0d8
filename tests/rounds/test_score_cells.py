"""Rounds whose strata are score cells."""

import pytest

from monitor.domain.settings import Bands, Cells, Sample
from monitor.rounds.sampling.draw import base_key
from monitor.storage import frame_store, report_store
from tests.rounds.scene import Scene, settings

CELLS = Sample(max_labels=360, cells=Cells(), bands=Bands(flagged=2, passed=4))
COUNTED = ("size", "planned", "labeled", "positive", "declined")


@pytest.fixture
def scene(database):
    return Scene(database, settings(sample=CELLS))


def strata_of(scene, number):
    with scene.database.read() as connection:
        return frame_store.read_strata(connection, scene.round(number).id)


def test_the_cells_of_the_first_round_are_frozen_with_the_history(scene):
    scene.play(1)
    scene.play(2, precision=0.6)

    first, second = ([part.stratum for part in strata_of(scene, n)] for n in (1, 2))
    assert first == second
    assert (sum(one.flagged for one in first), len(first)) == (20, 60)


def test_few_labels_are_drawn_from_fewer_cells(scene):
    scene.settings = settings(sample=CELLS.model_copy(update={"max_labels": 180}))
    scene.play(1)

    assert len(strata_of(scene, 1)) == 30


def test_a_report_sums_the_cells_to_bands_and_keeps_them(scene):
    scene.play(1)

    with scene.database.read() as connection:
        report = report_store.read_report(connection, scene.round(1).id, 1)
    bands, cells = report["strata"], report["cells"]
    assert [row["stratum"] for row in bands] == [
        *("flagged-1", "flagged-2"),
        *("passed-1", "passed-2", "passed-3", "passed-4"),
    ]
    assert len(cells) == 60
    assert [[row[name] for name in COUNTED] for row in bands] == [
        [sum(cell[name] for cell in cells[10 * i : 10 * i + 10]) for name in COUNTED]
        for i in range(6)
    ]


def test_histories_with_bands_keep_the_key_that_they_were_opened_with():
    bands = settings(sample=Sample(bands=Bands(flagged=4, passed=10)))

    assert base_key(bands) == (None, 4, 10)


def test_cells_are_another_history_than_as_many_bands():
    cells = settings(sample=Sample(cells=Cells(flagged=4, passed=10)))
    bands = settings(sample=Sample(bands=Bands(flagged=4, passed=10)))

    assert base_key(cells) != base_key(bands)
