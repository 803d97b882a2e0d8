"""A pass reads what it needs of the store once, and what changed meanwhile is not lost."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.rounds import versions
from monitor.rounds.sampling import draw, window_scan
from monitor.storage.database import listed
from monitor.storage.labels.round_labels import read_all_labels, read_labels
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_claims, round_store
from tests.rounds.scene import LIMITS, Scene, settings
from tests.statements import counted

MOST_OF_A_CLOSING, MOST_OF_AN_IDLE_PASS = 46, 13


@pytest.fixture
def scene(database):
    sample = Sample(max_labels=100, bands=Bands(flagged=1, passed=2))
    return Scene(database, settings(limits=LIMITS, sample=sample))


def drawn(scene, number):
    scene.draw(number)
    return scene.round(number)


def labels_of(scene, found):
    with scene.database.read() as connection:
        return read_labels(connection, round_store.read_round(connection, found.id))


def test_a_pass_that_closes_a_round_or_has_nothing_to_do_sends_few_statements_and_the_latter_reads(
    scene,
):
    idle = []
    for number in (1, 2):
        scene.play(number)
        with counted(scene.database) as sent:
            scene.run()
        idle.append(sent)
    found = drawn(scene, 3)
    scene.answer()

    with counted(scene.database) as sent:
        scene.run()

    assert scene.round(found.number).state == "closed"
    assert len(sent.sent) < MOST_OF_A_CLOSING
    assert len(set(sent.selects)) == len(sent.selects)
    # The same few things, however many rounds there are.
    assert 0 < len(idle[0].sent) == len(idle[1].sent) < MOST_OF_AN_IDLE_PASS
    assert len(idle[1].selects) == len(idle[1].sent)


def test_labels_that_came_since_they_were_read_are_counted_at_the_closing(scene):
    found = drawn(scene, 1)
    before = labels_of(scene, found)
    scene.answer()
    scene.collect(found.number)
    claim = scene.write(round_claims.claim_round, found.id)
    assert claim is not None

    versions.close(scene.context, found, claim, reason="in", labels=before)

    with scene.database.read() as connection:
        stored = estimate_store.read_counts(connection, [found.id])[found.id]
    assert sum(part.labeled for part in before.counts()) == 0
    assert sum(part.labeled for part in stored) == sum(part.planned for part in stored) > 0
    assert scene.round(1).estimated_revision == scene.round(1).label_revision


def test_labels_of_several_rounds_are_those_of_each(scene):
    rounds = [scene.play(number) for number in (1, 2)]

    together = scene.read(read_all_labels, rounds)

    assert together == {round_.id: labels_of(scene, round_) for round_ in rounds}
    assert all(round_labels.labeled for round_labels in together.values())


def test_texts_of_any_kind_and_number_are_searched_in_one_statement(database):
    texts = ["it's", 'a "quote"', "back\\slash", "líně\n", *(str(n) for n in range(40_000))]

    with counted(database) as sent, database.read() as connection:
        query = listed(connection, texts)
        found = connection.execute(select(query.subquery())).scalars().all()

    assert sorted(found) == sorted(texts)
    assert len(sent.sent) == 1


# The first round of a history reads its window by class and by band, and draws once.


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
def banded(database, monkeypatch):
    monkeypatch.setattr(window_scan, "PROFILE", 150)
    sample = Sample(max_labels=100, bands=Bands(flagged=1, passed=2))
    return Scene(database, settings(sample=sample, bad_rows_max=0.6))


@pytest.mark.parametrize("copies", [1, 2])
def test_edges_and_items_of_a_first_round_are_the_same_however_its_window_is_read(
    banded, monkeypatch, copies
):
    banded.week(1)
    banded.source.rows *= copies
    plain, recut = banded.source, Recut(banded.source)
    seen: list[window_scan.WindowScan] = []

    def both(context, round_):
        seen.extend(
            window_scan.scan_window(replace(context, source=source), round_)
            for source in (plain, recut)
        )
        return seen[0]

    monkeypatch.setattr(draw, "scan_window", both)
    banded.run(1)

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
