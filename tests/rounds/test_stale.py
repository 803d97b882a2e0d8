"""Labels that do not come: said while they still may, and told when it is too late."""

from __future__ import annotations

from datetime import timedelta

from monitor.domain.model import Answer
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings
from tests.storage.payloads import PAYLOADS

ASKED = {"limits": LIMITS, "reference": REFERENCE, "model": "models:/mail/7"}


@played
def scene(database):
    """A closed round and one that is being labeled, for five days."""
    scene = Scene(database, settings(**ASKED))
    scene.play(1)
    scene.week(2)
    scene.run(2)
    return scene


def statuses_of_the_model(scene):
    rows = scene.rows(f"{PAYLOADS} where e.kind = 'model_tags' order by e.id")
    return [row["payload"]["status"] for row in rows]


def test_a_round_without_any_answer_is_told_the_more_urgently_the_less_time_is_left(scene):
    half = "round 2: it has no answer, and more than half of the time for labels is over"
    end = "round 2 has no answer and ends in 10 h without an estimate, unless some come"
    opened = scene.now

    for after, status, concerns, problems in (
        (timedelta(days=2, hours=11), "ok", [], []),
        (timedelta(days=3, hours=23), "attention", [half], []),
        (timedelta(days=4, hours=14), "stale", [], [end]),
    ):
        scene.now = opened + after
        found = scene.overview()
        assert (found.status, found.problems) == (status, problems)
        assert found.concerns == concerns or problems

    scene.now = opened + timedelta(days=5)
    scene.run()

    assert statuses_of_the_model(scene) == ["ok", "stale"]
    [notice] = scene.rows(
        "select payload from effects where key like '%/log' order by id desc limit 1"
    )
    told = notice["payload"]
    assert "0 of 200 answers came by the deadline" in told["sentence"]
    assert "answer them in time" in told["to_do"]


def test_a_round_with_some_answers_near_its_end_is_worth_a_note(scene):
    scene.answer(0.25)
    scene.run()
    scene.now += timedelta(days=4, hours=23, minutes=30)

    found = scene.overview()

    assert found.status == "ok"
    assert found.notes[0] == (
        "round 2 is closed in 30 min with the answers it has; 150 are missing"
    )


def test_a_model_under_alert_stays_under_alert(scene):
    scene.truth |= dict.fromkeys(scene.truth, Answer.NEGATIVE)
    scene.answer()
    scene.run()
    scene.week(3)
    scene.run(3)
    scene.now += timedelta(days=5)
    scene.run()

    assert scene.round(3).state == "abandoned"
    assert statuses_of_the_model(scene)[-1] == "alert"
    [told] = scene.overview().alerts
    assert told.metric == "precision"
