"""Earlier rounds are read from one row each; without these rows all comes out the same."""

from typing import Any

from sqlalchemy import delete, event, update

from monitor.domain.sample_settings import Bands, Cells, Sample
from monitor.rounds.estimation.batch_estimates import estimated
from monitor.rounds.estimation.reading import read_batch
from monitor.storage.results import past_counts
from monitor.storage.results.estimate_store import read_counts
from monitor.storage.tables import packed_counts
from tests.rounds.scene import LIMITS, WEEK, settings

CELLS = Sample(max_labels=60, bands=Bands(flagged=1, passed=2), cells=Cells(flagged=2, passed=4))
SETTINGS = settings(limits=LIMITS, sample=CELLS, deadline=52 * WEEK)


def open_round(scene, number):
    scene.draw(number, count=600, precision=0.3 if number in {4, 5} else 0.8)


def close(scene, number):
    scene.answer_round(number)
    scene.run()
    assert scene.round(number).state == "closed"


def change_answers(scene, *numbers):
    """Turn the first answers of some rounds, all before one pass."""
    for number in numbers:
        scene.turn(*scene.items(number)[:4])
    scene.run()


def forget_packed(scene, *numbers):
    ids = [scene.round(number).id for number in numbers]
    with scene.database.write() as connection:
        connection.execute(delete(packed_counts).where(packed_counts.c.round_id.in_(ids)))


def past_of(scene, number):
    round_ = scene.round(number)
    return scene.read(past_counts.read_past, round_.history_id, before=round_.slot)


def counted(past):
    return [
        (each.id, each.version, each.is_changed, *(array.tolist() for array in arrays_of(each)))
        for each in past
    ]


def arrays_of(past_round):
    counts = past_round.counts
    return counts.size, counts.labeled, counts.positive, counts.is_flagged


def pooled_rows(scene, first):
    """What a full replay gives for a round and all after it: metric to low, point and high."""
    batch = read_batch(scene.context, scene.round(first))
    return {
        member.round.number: ends(estimated(batch, scene.now)[member.round.id].rows)
        for member in batch.affected
    }


def published_rows(scene):
    """What the latest versions say, by round."""
    return {number: ends(scene.estimates(number).values()) for number in (1, 2, 3, 4)}


def ends(rows):
    return {(row.metric, row.basis, row.estimand): (row.low, row.point, row.high) for row in rows}


ORDER: list[tuple[Any, ...]] = [
    *[(open_round, n) for n in (1, 2, 3, 4)],
    (close, 1),
    (close, 4),
    (forget_packed, 1),
    (close, 2),
    (change_answers, 1),
    (forget_packed, 2, 4),
    (close, 3),
    (change_answers, 1, 2),
]
"""Closed out of order, with late labels, and rows that are lost."""


def test_what_was_published_is_what_a_replay_without_any_packed_row_gives(scene):
    for act, *numbers in ORDER:
        act(scene, *numbers)
    published = published_rows(scene)
    rows = scene.rows("select count(*) as n from packed_counts")[0]["n"]

    forget_packed(scene, 1, 2, 3, 4)

    assert pooled_rows(scene, 1) == published
    assert rows == len(published) == 4


def test_a_round_reads_the_strata_of_earlier_rounds_where_they_are_not_packed_and_packs_them(scene):
    for number in (1, 2, 3):
        open_round(scene, number)
        close(scene, number)
    change_answers(scene, 1)
    packed = past_of(scene, 3)
    stored = scene.read(read_counts, [each.id for each in packed])
    asked = rounds_whose_counts_are_read(scene)
    open_round(scene, 4)
    close(scene, 4)
    earlier = {scene.round(number).id for number in (1, 2, 3)}
    assert not earlier & asked

    forget_packed(scene, 1)
    with scene.database.write() as connection:  # a row of an older version does not count
        old = update(packed_counts).where(packed_counts.c.round_id == scene.round(2).id)
        connection.execute(old.values(version=packed_counts.c.version - 1, counts=b""))
    unpacked = past_of(scene, 3)
    open_round(scene, 5)
    close(scene, 5)

    assert [each.is_packed for each in (*packed, *unpacked)] == [True, True, False, False]
    assert counted(packed) == counted(unpacked)
    for each in packed:
        assert list(zip(*arrays_of(each), strict=True)) == [
            (part.size, part.labeled, part.positive, part.stratum.flagged)
            for part in stored[each.id]
        ]
    assert {scene.round(number).id for number in (1, 2)} <= asked
    assert all(each.is_packed for each in past_of(scene, 5))


def rounds_whose_counts_are_read(scene):
    """Gather from now on which rounds are asked for their strata's counts."""
    asked: set[int] = set()

    def note(connection, cursor, statement, parameters, *_):
        if statement.startswith("SELECT") and "counts.labeled" in statement:
            asked.update(parameters.values() if isinstance(parameters, dict) else parameters)

    event.listen(scene.database.engine, "before_cursor_execute", note)
    return asked
