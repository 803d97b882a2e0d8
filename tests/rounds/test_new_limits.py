"""Limits that are set or changed while rounds are open, and after others closed."""

from datetime import timedelta

from monitor.domain.settings import Limits
from monitor.rounds.round_page import read_report
from tests.rounds.played import played
from tests.rounds.scene import Scene, settings

RECALL = Limits.model_validate({"recall": 0.4})


@played
def scene(database):
    """Two closed rounds without limits, and three that wait for labels which come later."""
    scene = Scene(database, settings(labels=300, deadline=timedelta(weeks=4)))
    scene.labeler.asks_people = False
    for number in (1, 2):
        scene.play(number, count=2000)
    for number in (3, 4, 5):
        scene.draw(number, count=2000, recall=0.15)
    return scene


def answer(scene):
    scene.labeler.answers |= scene.truth
    scene.run()


def accept(scene, limits):
    scene.settings = scene.settings.model_copy(update={"limits": limits})


def test_rounds_that_were_open_when_limits_came_are_watched_by_them(scene):
    accept(scene, RECALL)
    before = scene.overview()

    answer(scene)

    after = scene.overview()
    assert (
        "round 2 closed, or showed a provisional estimate, before the limits were set; later"
        in str(before.notes)
    )
    assert [(alert.metric, alert.fired_in_round) for alert in after.alerts] == [("recall", 3)]
    assert scene.round(3).settings.limits == RECALL
    assert [row["reason"] for row in scene.rows(EVENTS)] == [
        "the limits of the config changed while it was open, and watch it now"
    ] * 3


EVENTS = "select reason from round_events where reason like 'the limits of the config%' order by id"


def test_a_new_limit_says_at_once_which_closed_rounds_miss_it(scene):
    answer(scene)
    unchanged = scene.rows(EVENTS)
    accept(scene, Limits.model_validate({"recall": 0.05, "precision": 0.5}))
    keeping = scene.overview().concerns
    accept(scene, RECALL)

    found = scene.overview()

    assert unchanged == keeping == []

    assert found.status == "attention"
    [concern] = found.concerns
    assert "round 5: retrospective: recall was below its new limit 0.4 in rounds 3 to 5" in concern
    assert concern.endswith("No alert counts rounds that closed before the limit was set")
    assert found.alerts == []

    scene.settings = scene.settings.model_copy(update={"hooks": ("ops",)})
    scene.run()
    scene.run()

    sentence = concern.removeprefix("round 5: ")
    assert scene.overview().concerns == [concern]
    assert newest_report(scene).concerns == [sentence]
    assert sent_to_mlflow(scene) == [
        (kind, "attention", [sentence]) for kind in ("fleet_point", "round_run")
    ]
    accept(scene, Limits.model_validate({"recall": 0.35}))
    [reworded] = scene.overview().concerns
    scene.run()
    assert scene.overview().concerns == [reworded]
    assert "its new limit 0.35" in reworded
    assert [f"round 5: {sentence}" for sentence in newest_report(scene).concerns] == [reworded]
    accept(scene, Limits())
    assert scene.overview().concerns == []
    scene.run()
    assert (newest_report(scene).status, newest_report(scene).concerns) == ("learning", [])
    told = scene.rows("select sink from effects where key like '%/ops' or key like '%/log'")
    assert "log" in {row["sink"] for row in told}
    assert scene.overview().alerts == []


def newest_report(scene):
    return scene.read(read_report, scene.context.settings.name, None, None)


def sent_to_mlflow(scene):
    """Return kind, status and concerns of what goes to MLflow with a report of its own."""
    rows = scene.rows(
        "select kind, payload from effects where sink = 'mlflow' and report_version is null "
        "and kind <> 'model_tags' order by kind"
    )
    return [(row["kind"], row["payload"]["status"], row["payload"]["concerns"]) for row in rows]
