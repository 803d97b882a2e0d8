"""The first round of a history reads its window by class and by band, and draws once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.rounds.sampling import draw, window_scan
from tests.rounds.scene import Scene, settings


class Recut:
    """A source in memory that can draw a window again by other strata."""

    def __init__(self, source):
        self.source = source
        self.asked = []

    def __getattr__(self, name):
        return getattr(self.source, name)

    def scan(self, window, strata, at_most, seed):
        self.asked.append(("scan", at_most))
        return self.source.scan(window, strata, at_most, seed)

    def rescan(self, before, strata, at_most, seed):
        self.asked.append(("again", [len(part.candidates) for part in before.strata]))
        return self.source.scan(before.window, strata, at_most, seed)


@pytest.fixture
def scene(database, monkeypatch):
    monkeypatch.setattr(window_scan, "PROFILE", 150)
    sample = Sample(max_labels=100, bands=Bands(flagged=1, passed=2))
    return Scene(database, settings(sample=sample, bad_rows_max=0.6))


@pytest.mark.parametrize("copies", [1, 2])
def test_edges_and_items_of_a_first_round_are_the_same_however_its_window_is_read(
    scene, monkeypatch, copies
):
    scene.week(1)
    scene.source.rows *= copies
    plain, recut = scene.source, Recut(scene.source)
    seen: list[window_scan.WindowScan] = []

    def both(context, round_):
        seen.extend(
            window_scan.scan_window(replace(context, source=source), round_)
            for source in (plain, recut)
        )
        return seen[0]

    monkeypatch.setattr(draw, "scan_window", both)
    scene.run(1)

    assert seen[0] == seen[1]
    assert seen[0].edges.passed
    assert recut.asked[-1][0] == "again"
    assert max(recut.asked[-1][1]) > 150


@pytest.mark.parametrize(
    ("sample", "drawn"),
    [
        (Sample(max_labels=100, cells=Cells(flagged=3, passed=5)), 2 * 5 * 100),
        (Sample(max_labels=100, cells=None, bands=Bands(flagged=4, passed=1)), 2 * 4 * 100),
        (Sample(max_labels=5000, cells=Cells(flagged=3, passed=40)), 80_000),
    ],
    ids=["cells", "bands", "at most"],
)
def test_a_first_round_draws_of_a_class_what_its_cells_need_so_that_md5_is_taken_once(
    database, monkeypatch, sample, drawn
):
    monkeypatch.setattr(window_scan, "PROFILE", 150)
    scene = Scene(database, settings(sample=sample))
    scene.week(1)
    scene.source = Recut(scene.source)

    scene.run(1)

    assert scene.source.asked[0] == ("scan", drawn)
    assert [kind for kind, _ in scene.source.asked] == ["scan", "again"]
