"""What people were shown is deleted when nobody waits for labels of it any more."""

from datetime import timedelta

import pytest

from monitor.domain.errors import ConfigRefused, StoppedByBug
from monitor.domain.model import Answer
from monitor.rounds.labels.collect import forget_item
from monitor.rounds.opening.removed_monitors import forget_removed_monitors
from monitor.storage.samples import payload_store
from tests.rounds.scene import Scene, settings

LATE = timedelta(days=90)


class NotInstalled(ConfigRefused):
    """Why a labeler refuses."""


def shown(scene):
    """Numbers of the rounds of which the store holds texts."""
    rows = scene.rows(
        "select distinct r.number from payloads p join rounds r on r.id = p.round_id order by 1"
    )
    return [row["number"] for row in rows]


def test_a_closed_round_shows_its_items_as_long_as_it_takes_labels(scene):
    scene.play(1)
    closed = scene.round(1).closed_at
    scene.settings = settings(schedule={"cron": "0 6 1 1 *"})  # no other round meanwhile

    scene.now = closed + LATE
    scene.run()
    last_day = shown(scene)
    scene.run(later=timedelta(seconds=1))

    assert last_day == [1]
    assert shown(scene) == []


@pytest.mark.parametrize(
    ("met", "shown_as"), [(NotInstalled, NotInstalled), (KeyError, StoppedByBug)]
)
def test_a_round_whose_labeler_cannot_end_it_keeps_no_other_from_being_deleted(
    scene, monkeypatch, met, shown_as
):
    scene.play(1)
    scene.play(2)
    stuck, close = scene.round(1).name, scene.labeler.close
    scene.settings = settings(schedule={"cron": "0 6 1 1 *"})  # no other round meanwhile
    scene.now = scene.round(2).closed_at + LATE + timedelta(seconds=1)

    def refuse(name):
        if name == stuck:
            raise met
        close(name)

    monkeypatch.setattr(scene.labeler, "close", refuse)
    with pytest.raises(shown_as):
        scene.run()

    assert shown(scene) == [1]


def test_what_a_removed_monitor_showed_is_deleted_once_its_labels_are_over(scene):
    """A round that was open then takes none from its deadline on."""
    scene.play(1)
    closed = scene.round(1).closed_at
    scene.draw(2)
    deadline = scene.round(2).deadline
    second = timedelta(seconds=1)

    def forget(now, names=("spam",)):
        forget_removed_monitors(scene.database, names, lambda: now)
        return shown(scene)

    assert forget(deadline + 10 * LATE, ["mail"]) == [1, 2]  # the config has it
    assert [forget(now) for now in (closed, closed + LATE)] == [[1, 2], [1, 2]]
    assert [forget(now) for now in (closed + LATE + second, deadline + LATE)] == [[2], [2]]
    assert forget(deadline + LATE + second) == []
    assert scene.rows("select count(*) as n from label_events")[0]["n"] > 0


def test_a_forgotten_item_is_labeled_and_counted_all_the_same(scene):
    scene.draw(1)
    tasks = scene.labeler.sent[scene.round(1).name]
    item = min(task.item_id for task in tasks.values())

    forgotten = forget_item(
        scene.database, scene.round(1), item, [scene.labeler], lambda: scene.now
    )
    scene.answer()
    scene.labeler.answers[item] = Answer.CANNOT_TELL
    scene.run()

    assert (forgotten.deleted, forgotten.reached, len(forgotten.places)) == (True, True, 1)
    assert scene.round(1).state == "closed"
    assert not scene.round(1).partial
    assert scene.rows("select sum(labeled) as n, sum(declined) as d from counts") == [
        {"n": 199, "d": 1}
    ]


def test_an_item_is_found_in_every_round_that_drew_it(scene):
    other = Scene(scene.database, settings(), source=scene.source, name="spam")
    scene.play(1)
    other.run(1)
    [both] = scene.rows(
        "select min(id) as id from (select id from items group by id having count(*) = 2) twice"
    )

    def monitors_with(*item):
        return [each.monitor for each in scene.read(payload_store.rounds_with_item, *item)]

    assert monitors_with(both["id"]) == ["mail", "spam"]
    assert monitors_with(both["id"], "mail") == ["mail"]
    assert monitors_with("'; drop table items; --") == []
