"""What a release before this one has estimated of a round stays while no label of it changes."""

from __future__ import annotations

from sqlalchemy import update

from monitor.domain.model import Answer
from monitor.storage.tables import estimates
from tests.rounds.scene import Scene, settings

ROWS = (
    "select e.basis, e.estimand, e.metric, e.point, e.low, e.high, e.method, r.number from "
    "estimates e join rounds r on r.id = e.round_id and e.version = r.version"
)


def rows_of(scene, number, *, pooled):
    found = scene.rows(f"{ROWS} where r.number = {number} order by 1, 2, 3")
    return [row for row in found if (row["basis"] == "pooled") == pooled]


def change_a_label_of(scene, number):
    item = scene.rows(
        "select i.id from items i join rounds r on r.id = i.round_id "
        f"where r.number = {number} limit 1"
    )[0]["id"]
    was = scene.labeler.answers[item]
    scene.labeler.answers[item] = Answer.NEGATIVE if was is Answer.POSITIVE else Answer.POSITIVE
    scene.run()


def as_of_an_older_release(scene):
    """Stored points as another method had them."""
    with scene.database.write() as connection:
        connection.execute(update(estimates).values(point=estimates.c.low, method="the old one"))


def test_a_round_whose_labels_change_is_estimated_anew_and_a_later_one_keeps_its_own_numbers(
    database,
):
    scene = Scene(database, settings())
    for number in (1, 2):
        scene.play(number)
    as_of_an_older_release(scene)
    own, with_history = (rows_of(scene, 2, pooled=pooled) for pooled in (False, True))

    change_a_label_of(scene, 1)

    assert [scene.round(number).version for number in (1, 2)] == [2, 2]
    assert not any(row["method"] == "the old one" for row in rows_of(scene, 1, pooled=False))
    assert rows_of(scene, 2, pooled=False) == own
    assert all(row["method"] == "the old one" for row in own)
    assert rows_of(scene, 2, pooled=True) != with_history
