"""Whether people answer gold items as before: if not, they changed, not the classifier."""

import pytest

from monitor.domain.model import Answer
from monitor.storage.pages import control_store, page_store
from monitor.storage.pages.control_store import ControlRates, GoldItem
from monitor.storage.pages.page_store import PageRound
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, Scene, settings

GOLD = {"kind": "page", "gold": "gold.csv"}
ITEMS = [GoldItem(Answer.POSITIVE, {"text": f"gold {i}"}) for i in range(20)]


def play(scene, number, right, **changes):
    """Close a round in which people answer so many of the gold items right."""
    scene.week(number, **changes)
    scene.run(number)
    name = scene.round(number).name
    with scene.database.write() as connection:
        page_store.open_round(connection, PageRound(name, "?", ""), scene.now)
        control_store.open_controls(connection, name, ControlRates(0, 0.1, feedback=False), ITEMS)
        for i, item in enumerate(ITEMS if right is not None else []):
            control = control_store.make_control(connection, name, "ann", gold_item=item.name)
            answer = Answer.POSITIVE if i < right else Answer.NEGATIVE
            control_store.record_answer(connection, control, answer, before=None, now=scene.now)
    for _ in range(3):
        scene.answer()
        scene.run()
    return scene.report(number)


@played
def watched(database):
    """Three rounds with a limit on precision, and gold items answered well."""
    scene = Scene(database, settings(labeling=GOLD, limits=LIMITS))
    for number in (1, 2, 3):
        play(scene, number, 19)
    return scene


def test_people_who_answer_gold_items_worse_than_before_are_noticed(database):
    scene = Scene(database, settings(labeling=GOLD))

    first, second, third = play(scene, 1, 19), play(scene, 2, 18), play(scene, 3, 8)

    assert first["gold"] == {
        "right": 19,
        "answered": 20,
        "right_before": 0,
        "answered_before": 0,
        "chance": None,
    }
    assert second["gold"]["chance"] == 0.5
    assert [row["kind"] for row in second["notices"] if row["kind"] == "gold"] == []
    [notice] = [row for row in third["notices"] if row["kind"] == "gold"]
    assert notice["value"] == 0.4
    assert notice["sentence"].startswith(
        "people answer gold items worse than before: 8 of 20 right, 37 of 40 in earlier rounds."
    )


@pytest.mark.parametrize(
    ("right", "sentence"),
    [
        (19, "People answer gold items as before: 19 of 20 right, 57 of 60 in earlier rounds."),
        (5, "Did the people who label change, or their instructions?"),
    ],
    ids=["as before", "worse"],
)
def test_an_alert_tells_whether_the_people_may_have_changed(watched, right, sentence):
    play(watched, 4, right, precision=0.3)

    [notice] = watched.alert_notices()
    assert notice["metric"] == "precision"
    assert sentence in notice["sentence"]


def test_an_alert_tells_nothing_of_gold_items_that_nobody_was_asked_about(database):
    scene = Scene(database, settings(limits=LIMITS, labels=400))
    scene.play(1, precision=0.85)
    scene.play(2, precision=0.3)

    assert ["gold" in notice["sentence"] for notice in scene.alert_notices()] == [False]
