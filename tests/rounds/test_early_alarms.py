"""Alarms inside an open round: fired by its first answers, once, and never against the rest."""

import itertools
from datetime import timedelta

from monitor.domain.alerting import AlertNote, AlertState
from monitor.domain.model import Answer, EffectKind
from monitor.domain.settings import Limits
from monitor.presentation.alerts import LIMIT_CHANGED
from monitor.presentation.round_document import page_sections
from monitor.rounds import versions
from monitor.rounds.delivery import deliver
from monitor.rounds.reporting.alert_notes import delete_notes, note_alert
from monitor.rounds.round_page import read_page
from monitor.storage.rounds import round_claims
from tests.crashes import killed_at
from tests.rounds.played import played
from tests.rounds.scene import WEEK, Scene, settings
from tests.rounds.sinks import Sink
from tests.statements import counted

PRECISION = Limits.model_validate({"precision": 0.7})
BAD, GOOD = {"precision": 0.3, "share": 0.3}, {"precision": 0.85, "share": 0.3}


@played
def quiet(database):
    """Two good rounds."""
    scene = Scene(database, settings(limits=PRECISION, labels=200, hooks=("ops",)))
    for number in (1, 2):
        scene.play(number, **GOOD)
    return scene


@played
def scene(quiet):
    """A bad one that is drawn."""
    quiet.draw(3, **BAD)
    return quiet


@played
def fired(scene):
    """It has fired."""
    scene.after = answer_until_it_fires(scene)
    return scene


def tasks_of(scene, number=3):
    """Tasks of a round in the order in which people get them."""
    tasks = scene.labeler.sent[scene.round(number).name].values()
    return [task.item_id for task in sorted(tasks, key=lambda task: task.place)]


def answer_until_it_fires(scene, number=3):
    items, before = tasks_of(scene, number), len(scene.alerts())
    for count in range(10, len(items), 10):
        scene.labeler.answers |= {item: scene.truth[item] for item in items[:count]}
        scene.run()
        if len(scene.alerts()) > before:
            return count
    return None


def test_a_drop_fires_while_its_round_is_open_and_is_told_once(fired):
    text = f"alert before the round closed, after {fired.after} of 200 labels"
    before, [notice] = fired.round(3), fired.alert_notices("ops")
    page = fired.read(read_page, "mail", 3, None)

    closed = fired.finish(3)

    assert before.state == "labeling"
    assert fired.after < 150
    assert text in notice["sentence"]
    assert "precision is under its limit 0.7" in notice["sentence"]
    assert text in [event["reason"] for event in page.events]
    assert closed.state == "closed"
    assert fired.alert_notices("log") == fired.alert_notices("ops") == [notice]
    assert fired.alert_states() == [(3, AlertState.FIRING)]
    [row] = fired.report(3)["alerts"]
    assert (row["id"], row["fired_in_round"]) == (notice["alert"], 3)


def test_status_and_mlflow_stand_under_alert_before_the_round_closes(fired):
    [*_, row] = fired.rows("select payload from effects where kind = 'fleet_point' order by id")
    report = row["payload"]

    assert fired.overview().status == "alert"
    assert (report["round"], report["status"]) == (2, "alert")
    assert [row["fired_in_round"] for row in report["alerts"]] == [3]


def test_a_correction_of_the_newest_closed_round_leaves_the_monitor_under_alert(fired):
    fired.turn(*tasks_of(fired, 2)[:1])
    fired.run()

    rows = fired.rows("select kind, payload from effects where key like '%/v2/%' order by id")
    run, point = (row["payload"] for row in rows)
    assert run is None  # the stored report
    assert fired.round_report(2).alerts == []
    assert fired.alert_states() == [(3, AlertState.FIRING)]  # of a round without a reading
    assert (point["status"], [row["fired_in_round"] for row in point["alerts"]]) == ("alert", [3])


def test_a_note_on_it_reaches_the_page_of_the_monitor_and_goes_again(fired):
    [alert] = fired.alerts()

    fired.write(note_alert, alert, AlertNote(fired.now, "ada", "cleaned the lens"))
    noted = notes_shown(fired)
    fired.now += timedelta(hours=1)
    fired.write(delete_notes, alert, fired.now)

    assert (noted, notes_shown(fired)) == (["cleaned the lens"], [])


def notes_shown(scene):
    """Deliver what waits for MLflow: the notes on the page of the monitor."""
    sink = Sink()
    deliver(scene.database, {"mlflow": sink}, lambda: scene.now)
    *_, shown = [each.payload for each in sink.effects if each.kind is EffectKind.FLEET_POINT]
    return [note["text"] for row in shown["alerts"] for note in row.get("notes", ())]


def test_no_answer_that_is_still_missing_takes_it_back(fired):
    missing = [item for item in tasks_of(fired) if item not in fired.labeler.answers]
    fired.labeler.answers |= dict.fromkeys(missing, Answer.POSITIVE)

    fired.run()

    assert fired.round(3).state == "closed"
    assert fired.alert_states() == [(3, AlertState.FIRING)]


def test_answers_that_come_first_because_they_are_bad_fire_nothing(quiet):
    quiet.draw(3, **GOOD)
    bad = [i for i in tasks_of(quiet) if i in quiet.flagged() and quiet.truth[i] == "0"]

    quiet.labeler.answers |= dict.fromkeys(bad, Answer.NEGATIVE)
    quiet.run()

    assert len(bad) > 5
    assert quiet.round(3).evidence_revision == quiet.round(3).label_revision
    assert quiet.alerts() == []


def test_answers_that_are_corrected_before_the_closing_revise_it_and_evidence_starts_anew(fired):
    fired.judge_flagged(3, Answer.POSITIVE)
    fired.finish(3)
    fired.judge_flagged(3, Answer.POSITIVE)
    fired.run()
    fired.play(4, **GOOD)

    assert fired.alert_states() == [(3, AlertState.REVISED)]
    assert fired.alert_events("ops") == ["alert.firing", "alert.revised"]
    shown = "\n".join(map(str, page_sections(fired.read(read_page, "mail", 3, None))))
    assert "the alert fired here, by answers that have changed since" in shown
    rows = fired.rows('select chain, fires from evidence where version = 1 order by "order"')
    assert [(row["chain"], bool(row["fires"])) for row in rows[-2:]] == [(1, True), (2, False)]


def test_one_that_was_ended_by_hand_does_not_fire_again_at_the_closing(fired):
    [alert] = fired.alerts()
    fired.end_alert(alert)

    fired.finish(3)

    assert fired.alert_states() == [(3, AlertState.RESOLVED)]
    assert fired.alert_events("ops") == ["alert.firing"]


def test_a_limit_that_changes_before_the_closing_ends_it(fired):
    limits = Limits.model_validate({"precision": 0.2})
    fired.settings = fired.settings.model_copy(update={"limits": limits})

    fired.finish(3)

    [alert] = fired.alerts()
    assert (alert.state, alert.ended_why) == (AlertState.RESOLVED, LIMIT_CHANGED)


def test_an_alert_goes_on_under_a_limit_that_changes_before_the_closing_and_is_missed_as_well(
    fired,
):
    limits = Limits.model_validate({"precision": 0.65})
    fired.settings = fired.settings.model_copy(update={"limits": limits})

    fired.finish(3)

    [alert] = fired.alerts()
    assert (alert.state, alert.limit) == (AlertState.FIRING, 0.65)
    assert fired.alert_events("ops") == ["alert.firing"]
    assert fired.overview().status == "alert"


def test_a_round_that_is_abandoned_ends_it(fired):
    claim = fired.write(round_claims.claim_round, fired.round(3).id)

    versions.abandon(fired.context, fired.round(3), claim, "its answers were taken back")

    assert fired.alert_states() == [(3, AlertState.REVISED)]
    assert fired.alert_events("ops") == ["alert.firing", "alert.resolved"]


def test_evidence_is_read_only_when_answers_came(scene):
    scene.labeler.answers |= {item: scene.truth[item] for item in tasks_of(scene)[:20]}
    with counted(scene.database) as first:
        scene.run()
    with counted(scene.database) as again:
        scene.run()

    assert "log_path" in str(first.selects)
    assert "log_path" not in str(again.selects)


def test_a_backfilled_round_fires_at_its_closing_only(quiet):
    quiet.settings = quiet.settings.model_copy(update={"origin": "backfill"})
    quiet.draw(3, **BAD)

    early = answer_until_it_fires(quiet)
    quiet.finish(3)

    assert early is None
    assert quiet.alert_states() == [(3, AlertState.FIRING)]


def test_a_round_behind_an_older_open_one_waits_until_that_has_closed(quiet):
    later = quiet.settings
    quiet.settings = later.model_copy(update={"deadline": 4 * WEEK})
    quiet.draw(3, **GOOD)
    quiet.settings = later
    quiet.draw(4, **BAD)
    items = tasks_of(quiet, 4)
    quiet.labeler.answers |= {item: quiet.truth[item] for item in items[:-1]}
    quiet.run()
    waiting = quiet.alerts()

    quiet.finish(3)
    quiet.run()

    assert waiting == []
    assert quiet.alert_states() == [(4, AlertState.FIRING)]


def test_a_process_that_ends_at_any_point_neither_loses_nor_doubles_it(scene):
    scene.labeler.answers |= {item: scene.truth[item] for item in tasks_of(scene)[:150]}
    for place in itertools.count():
        with killed_at(place) as points:
            scene.run()
        if len(points) <= place:
            break
        scene.execute("update rounds set claimed_by = null")  # as of a process that is gone
    early = scene.alert_states()
    scene.finish(3)

    assert place > 5
    assert early == scene.alert_states() == [(3, AlertState.FIRING)]
    assert scene.alert_events("ops") == ["alert.firing"]
