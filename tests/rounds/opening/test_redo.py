"""A round that was abandoned before it was drawn is done again on request."""

from datetime import timedelta

from monitor.rounds.opening import due
from monitor.rounds.opening.due import why_it_stays
from monitor.storage.results import concern_store
from tests.rounds.scene import MONDAY, Scene, settings

AT_ONCE = {"grace": timedelta(0), "hooks": ("ops",)}
SETTINGS = settings(**AT_ONCE)


def redo(scene):
    """Do the first round again, as `run-once --slot` does."""
    due.open_slot(scene.context, MONDAY, backfill=False)
    scene.run()
    return scene.round(1)


def keys(scene):
    """Keys of all effects, by the sink and in the order of delivery."""
    return [row["key"] for row in scene.rows('select "key" from effects order by id')]


def test_a_round_without_predictions_is_drawn_and_closed_in_the_same_run_once_there_are_some(scene):
    scene.run(1)
    seed = scene.round(1).seed
    scene.week(1)
    backfilled = due.open_slot(scene.context, MONDAY, backfill=True)

    again = redo(scene)

    assert backfilled is None
    assert (again.state, again.seed, again.number) == ("labeling", seed, 1)
    assert again.deadline == MONDAY + timedelta(days=5)
    moves = scene.rows("select before, after from round_events order by id")
    assert [(row["before"], row["after"]) for row in moves] == [
        (None, "open"),
        ("open", "abandoned"),
        ("abandoned", "open"),
        ("open", "labeling"),
    ]

    scene.label()

    found = scene.round(1)
    assert (found.state, found.version, found.first_version) == ("closed", 2, 2)
    told = scene.reports()
    assert [(each["version"], each["state"]) for each in told] == [(1, "abandoned"), (2, "closed")]
    assert len({each["round_key"] for each in told}) == 1
    assert len(keys(scene)) == len(set(keys(scene)))


def test_its_evidence_is_frozen_and_read_by_its_first_version(database):
    asked = settings(**AT_ONCE, limits={"precision": 0.9, "false_alarm_every": 2})
    scene = Scene(database, asked)
    scene.run(1)
    scene.week(1, precision=0.3)
    redo(scene)
    scene.label()
    scene.play(2, precision=0.3)

    orders = scene.rows('select version, "order" from evidence order by round_id, version')
    assert [(row["version"], row["order"]) for row in orders] == [(2, 1), (1, 2)]


def test_what_needs_a_look_the_second_time_is_told_under_the_name_of_its_run(scene):
    scene.run(1)
    scene.week(1, share=0.0)

    redo(scene)

    told = {each["event"]: each["round_key"] for each in scene.notices("ops")}
    assert told["round.attention"] == told["round.abandoned"] == scene.reports()[0]["round_key"]


def test_abandoned_a_second_time_it_is_told_a_second_time(scene):
    scene.run(1)
    redo(scene)
    redo(scene)

    told = [key for key in keys(scene) if key.endswith("/ops")]
    assert len(told) == len(set(told)) == 3
    assert [report["version"] for report in scene.reports()] == [1, 2, 3]
    assert scene.round(1).first_version == 3


def test_what_was_noted_before_is_gone_and_todays_settings_are_taken(scene):
    scene.run(1)
    scene.write(concern_store.add_concern, scene.round(1).id, "few_rows", "few", scene.now)
    scene.week(1)
    scene.settings = settings(**AT_ONCE, labels=40)

    again = redo(scene)

    assert again.settings.sample.max_labels == 40
    assert (len(scene.rows("select * from items")), scene.concerns(1)) == (40, {})


def test_a_round_that_was_drawn_stays(scene):
    scene.draw(1)
    scene.run(later=timedelta(days=5))

    again = redo(scene)

    assert again.state == "abandoned"
    assert why_it_stays(scene.context, MONDAY) == "is abandoned; it stays as it is"
