"""Alerts over rounds: fired and ended by frozen evidence, revised by late labels."""

import math
from datetime import timedelta

import pytest

from monitor.domain.alerting import AlertNote, AlertState
from monitor.domain.model import Answer, EffectKind, Stratum
from monitor.domain.report import EvidenceRow, RoundReport
from monitor.domain.settings import Limits
from monitor.presentation.alerts import evidence_sentence
from monitor.presentation.outcome import to_do_sentences
from monitor.rounds import run
from monitor.rounds.delivery import deliver
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.reporting import alert_notes
from monitor.rounds.reporting.enqueue import resend
from monitor.rounds.round_page import read_report
from monitor.storage.results import concern_store
from monitor.storage.samples.frame_store import StratumTally
from tests.rounds.estimation.tallies import estimated
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings
from tests.rounds.sinks import Sink


@played
def scene(database):
    """A good round."""
    scene = Scene(database, settings(limits=LIMITS, labels=400, hooks=("ops",)))
    play_good(scene, 1)
    return scene


@played
def fired(scene):
    """One more, which fires."""
    scene.play(2, precision=0.3, recall=0.6)
    return scene


@played
def recovering(fired):
    """One more, still under the limit."""
    fired.play(3, precision=0.5, recall=0.6)
    return fired


def play_good(scene, *numbers):
    for number in numbers:
        scene.play(number, precision=0.85, recall=0.6)


def test_a_drop_fires_once_tells_people_once_and_more_of_it_brings_the_alert_no_nearer_to_its_end(
    scene,
):
    play_good(scene, 2)
    before = scene.alerts()
    for number in (3, 4, 5):
        scene.play(number, precision=0.3, recall=0.6)

    assert before == []
    rows = scene.closings()
    assert rows[1]["log_evidence"] is None  # without a history and a reference
    assert rows[2]["log_evidence"] < rows[2]["log_threshold"]
    [alert] = [alert for alert in scene.alerts() if alert.metric == "precision"]
    assert (alert.state, alert.fired_in_round) == (AlertState.FIRING, 3)
    told = [n for n in scene.alert_notices("log") if n["metric"] == "precision"]
    assert [n["event"] for n in told] == ["alert.firing"]
    assert "precision is under its limit 0.7" in told[0]["sentence"]
    assert told[0] in scene.alert_notices("ops")
    assert 0 < math.exp(rows[5]["log_r"]) < 0.01


def gathered(rows):
    """Evidence of recovery from the stored steps alone, as the formula has it."""
    factors = [math.exp(row["log_recovery"]) for row in rows if row["log_recovery"] is not None]
    count = len(factors)
    return sum(math.prod(factors[k - 1 :]) / (k * (k + 1)) for k in range(1, count + 1))


def play_until_it_ends(scene, first, **rates):
    """Play rounds until no alert on precision is open; returns the number of the last."""
    for number in range(first, first + 20):
        scene.play(number, **{"precision": 0.85, "recall": 0.6, **rates})
        if not [a for a in scene.alerts() if (a.metric, a.state) == ("precision", "firing")]:
            return number
    message = "the alert did not end"
    raise AssertionError(message)


def test_an_alert_ends_by_evidence_of_twenty_and_evidence_against_the_limit_starts_anew(fired):
    ended = play_until_it_ends(fired, 3)
    play_good(fired, ended + 1)

    rows = fired.closings()
    steps = [rows[number] for number in range(3, ended + 1)]
    assert [row["recovery_rounds"] for row in steps] == list(range(1, ended - 1))
    found = [math.exp(row["log_r"]) for row in steps]
    assert found == pytest.approx([gathered(steps[:place]) for place in range(1, ended - 1)])
    assert [value >= 20 for value in found] == [False] * (ended - 3) + [True]
    assert [rows[number]["recovery_rounds"] for number in (1, 2, ended + 1)] == [None] * 3
    assert rows[ended + 1]["chain"] == rows[ended]["chain"] + 1
    told = [n for n in fired.alert_notices() if n["metric"] == "precision"]
    assert [n["event"] for n in told] == ["alert.firing", "alert.resolved"]
    assert (
        "labels of the rounds since then show that it keeps its limit again" in told[1]["sentence"]
    )

    for number in range(3, ended + 1):  # late labels do not open it again
        fired.judge_flagged(number, Answer.NEGATIVE)
    fired.run()

    assert [a.state for a in fired.alerts()] == [AlertState.RESOLVED]
    assert fired.closings()[ended]["recovery_rounds"] == ended - 2


def test_late_labels_neither_add_to_evidence_of_recovery_nor_end_an_alert(recovering):
    before = recovering.closings()[3]

    recovering.judge_flagged(3, Answer.POSITIVE)
    recovering.run()
    corrected = recovering.rows(
        "select log_recovery, recovery_rounds, log_r, log_e from evidence where version = 2"
        " and metric = 'precision' and round_id = :id",
        id=recovering.round(3).id,
    )
    recovering.play(4, precision=0.5, recall=0.6)

    [now] = corrected
    assert now["log_e"] != before["log_e"]
    assert [now[name] for name in ("log_recovery", "recovery_rounds", "log_r")] == [
        before[name] for name in ("log_recovery", "recovery_rounds", "log_r")
    ]
    assert [a.state for a in recovering.alerts()] == [AlertState.FIRING]
    assert math.exp(recovering.closings()[4]["log_r"]) == pytest.approx(
        gathered([before, recovering.closings()[4]])
    )


def test_late_labels_never_open_an_alert(scene):
    play_good(scene, 2)
    for number in (1, 2):
        scene.judge_flagged(number, Answer.NEGATIVE)
    scene.run()

    assert scene.round(2).version == 2
    rows = scene.rows(
        "select version, log_evidence, log_threshold, fires from evidence e"
        " where metric = 'precision' and round_id = :id order by version",
        id=scene.round(2).id,
    )
    assert rows[1]["log_evidence"] > rows[1]["log_threshold"]
    assert not any(row["fires"] for row in rows)
    assert scene.alerts() == []


@pytest.fixture
def within(scene):
    """One more, of whose flagged items the first are all wrong and the others right."""
    scene.draw(2, precision=0.85, recall=0.6)
    drawn = scene.rows(
        'select id from items where round_id = :id and predicted order by "order"',
        id=scene.round(2).id,
    )
    items = [row["id"] for row in drawn]
    scene.truth |= dict.fromkeys(items, Answer.POSITIVE)
    scene.truth |= dict.fromkeys(items[: len(items) // 2], Answer.NEGATIVE)
    scene.finish(2)
    return scene, items


def test_an_alert_fires_by_what_the_first_answers_of_a_round_say_in_the_order_of_the_draw(within):
    scene, items = within

    [alert] = [alert for alert in scene.alerts() if alert.metric == "precision"]
    row = scene.closings()[2]
    assert (alert.state, alert.fired_in_round) == (AlertState.FIRING, 2)
    assert row["log_evidence"] < row["log_threshold"]
    [read] = [each for each in scene.report(2)["evidence"] if each["metric"] == "precision"]
    sentence = evidence_sentence(EvidenceRow(**read), fires=True)
    assert sentence.endswith("reached within the round, not at its end, the alert fired here")

    scene.turn(*items[-3:])  # late labels of the end leave what came before it
    scene.run()

    assert scene.round(2).version == 2
    assert AlertState.FIRING in {a.state for a in scene.alerts() if a.metric == "precision"}

    scene.turn(*items[: len(items) // 2])
    scene.run()

    assert scene.round(2).version == 3
    assert [a.state for a in scene.alerts() if a.metric == "precision"] == [AlertState.REVISED]


def test_a_changed_limit_ends_its_alert_and_restarts_the_evidence(fired):
    fired.settings = fired.settings.model_copy(
        update={"limits": Limits.model_validate({"precision": 0.2, "recall": 0.4})}
    )
    fired.play(3, precision=0.3, recall=0.6)

    [alert] = [a for a in fired.alerts() if a.metric == "precision"]
    assert alert.state is AlertState.RESOLVED
    assert alert.ended_why == "its limit was changed or removed in the config"


def test_other_metrics_and_the_upper_side_can_have_limits(database):
    limits = Limits.model_validate(
        {"f1": 0.5, "fpr": 0.2, "prevalence": {"at_most": 0.2}, "accuracy": 0.5}
    )
    scene = Scene(database, settings(limits=limits))
    scene.play(1)

    rows = scene.rows("select distinct metric, side from evidence order by metric")
    assert [(row["metric"], row["side"]) for row in rows] == [
        ("accuracy", "at_least"),
        ("f1", "at_least"),
        ("fpr", "at_most"),
        ("prevalence", "at_most"),
    ]
    found = scene.overview()
    assert (found.status, found.learning_rounds_remaining) == ("learning", 0)


def test_without_limits_a_monitor_learns_and_proposes_after_six_rounds(database):
    scene = Scene(database, settings())
    for number in range(1, 6):
        scene.play(number)
    early = scene.overview()
    scene.week(6)
    scene.truth |= dict.fromkeys([*scene.truth][::15], Answer.CANNOT_TELL)
    scene.run(6)
    scene.label()
    now = scene.overview()

    assert (early.status, early.learning_rounds_remaining, early.proposed_limits) == (
        "learning",
        1,
        {},
    )
    assert set(now.proposed_limits) == {"precision", "recall"}
    assert 0.65 < now.proposed_limits["precision"] < 0.75
    assert 0.35 < now.proposed_limits["recall"] < 0.55
    report = scene.read(read_report, scene.name, None, None)
    missing = report.proposed_unlabeled
    caution = f"{missing} answers of 6 rounds are missing: the proposed limits assume that"
    assert missing > 0
    assert caution in "; ".join(now.notes)
    assert caution in " ".join(to_do_sentences(report))


def test_hooks_hear_of_an_alert_by_a_round_that_a_backfill_left_open(scene):
    scene.labeler.asks_people = False
    scene.week(2, precision=0.3)
    scene.now = MONDAY + WEEK
    list(run.backfill(scene.context, MONDAY))

    scene.labeler.answers |= scene.truth
    scene.now += timedelta(hours=2)
    scene.run()

    assert [a.metric for a in scene.alerts()] == ["precision"]
    assert len(scene.notices("ops")) == len(scene.alert_notices("log")) == 1


@pytest.fixture
def backfilled(scene):
    """An alert that a backfill fired in one go."""
    scene.labeler.asks_people = False
    scene.week(2, precision=0.3)
    scene.labeler.answers |= scene.truth
    scene.now = MONDAY + WEEK
    list(run.backfill(scene.context, MONDAY))
    [alert] = scene.alerts()
    assert (alert.metric, scene.notices("ops")) == ("precision", [])
    return scene


def play_labeled(scene, number, **changes):
    """Play a week whose truth is there at once."""
    scene.week(number, **changes)
    scene.labeler.answers |= scene.truth
    scene.run(number)
    scene.run()


def test_hooks_hear_once_of_an_alert_of_a_backfill_that_scheduled_rounds_confirm(backfilled):
    [alert], told_to_log = backfilled.alerts(), backfilled.alert_notices("log")
    for number in (3, 4):
        play_labeled(backfilled, number, precision=0.3, recall=0.6)

    [notice] = backfilled.alert_notices("ops")
    assert (notice["event"], notice["alert"], notice["round"]) == ("alert.firing", alert.id, 3)
    assert notice["id"] == told_to_log[0]["id"]
    assert backfilled.alert_notices("log") == told_to_log


def test_hooks_do_not_hear_of_an_alert_of_a_backfill_by_rounds_that_keep_the_limit(backfilled):
    play_labeled(backfilled, 3, precision=0.95, recall=0.6)
    assert fired_to_hook(backfilled) == []

    for number in (4, 5):
        play_labeled(backfilled, number, precision=0.2, recall=0.6)

    assert fired_to_hook(backfilled) == [4]


def fired_to_hook(scene):
    """Rounds of the notices to the hook that an alert fires."""
    notices = scene.alert_notices("ops")
    return [each["round"] for each in notices if each["event"] == "alert.firing"]


def test_a_second_backfill_notifies_no_hook_of_an_alert_of_the_first(backfilled):
    backfilled.week(3, precision=0.3)
    backfilled.labeler.answers |= backfilled.truth
    backfilled.now += WEEK
    list(run.backfill(backfilled.context, MONDAY))

    assert backfilled.round(3).settings.origin == "backfill"
    assert backfilled.notices("ops") == []


def test_hooks_do_not_hear_the_end_of_an_alert_of_a_backfill_that_they_never_heard_fire(backfilled):
    while backfilled.alerts()[0].state is AlertState.FIRING:
        play_labeled(backfilled, len(backfilled.rows("select id from rounds")) + 2, precision=0.95)

    assert backfilled.alert_events("log")[-1] == "alert.resolved"
    assert backfilled.alert_notices("ops") == []


def test_a_backfill_tells_the_end_of_an_alert_to_the_hooks_that_heard_it_fire(backfilled):
    play_labeled(backfilled, 3, precision=0.2)
    for number in range(4, 8):
        backfilled.week(number, precision=1)
    backfilled.labeler.answers |= backfilled.truth
    backfilled.now += 5 * WEEK
    list(run.backfill(backfilled.context, MONDAY))

    assert backfilled.round(5).is_silent
    assert backfilled.alert_events("ops") == ["alert.firing", "alert.resolved"]


def read_flagged(labeled, positive):
    """Readings of a round that handed out 100 flagged items, with so many answers."""
    before, now = (
        Tally(
            (
                StratumTally(Stratum("flagged", flagged=True), 400, 100, *of_flagged),
                StratumTally(Stratum("passed", flagged=False), 3600, 100, 100, 2),
            )
        )
        for of_flagged in ((100, 80), (labeled, positive))
    )
    found = estimated([before, now], settings(limits=LIMITS))
    return {reading.limit.metric: reading for reading in found.readings}


def test_a_missing_answer_counts_for_the_limit_and_against_a_recovery():
    some = read_flagged(60, 30)  # 40 items have no answer

    best, worst = read_flagged(100, 70), read_flagged(100, 30)

    assert some["precision"].log_e == best["precision"].log_e
    assert some["precision"].log_recovery == worst["precision"].log_recovery


def test_a_note_reaches_mlflow_with_each_round_that_names_the_alert_and_goes_again(recovering):
    alert = next(each for each in recovering.alerts() if each.metric == "precision")
    deliver(recovering.database, {"mlflow": Sink()}, lambda: recovering.now)
    note = AlertNote(recovering.now, "ada", "moved the threshold")

    recovering.write(alert_notes.note_alert, alert, note)
    noted = _shown_notes(recovering)
    recovering.write(resend, recovering.round(3), recovering.now)
    recovering.now += timedelta(hours=1)
    recovering.write(alert_notes.delete_notes, alert, recovering.now)

    assert noted == {2: ["moved the threshold"], 3: ["moved the threshold"]}
    assert _shown_notes(recovering) == {2: [], 3: []}
    stored = recovering.rows("select payload from effects where payload is not null")
    assert "moved the threshold" not in str(stored)


def test_a_note_takes_no_later_concern_from_mlflow(recovering):
    alert = next(each for each in recovering.alerts() if each.metric == "precision")
    for number in (2, 3):
        add = concern_store.add_concern
        recovering.write(add, recovering.round(number).id, "limit", "a new limit", recovering.now)
    deliver(recovering.database, {"mlflow": Sink()}, lambda: recovering.now)

    recovering.write(alert_notes.note_alert, alert, AlertNote(recovering.now, "ada", "retrained"))

    assert [report.concerns for report in _runs(recovering)] == [["a new limit"], ["a new limit"]]


def _shown_notes(scene):
    """Deliver what waits for MLflow: the notes on precision in each round's run."""
    return {
        report.round: [
            note.text for row in report.alerts if row.metric == "precision" for note in row.notes
        ]
        for report in _runs(scene)
    }


def _runs(scene):
    sink = Sink()
    deliver(scene.database, {"mlflow": sink}, lambda: scene.now)
    runs = [each.payload for each in sink.effects if each.kind is EffectKind.ROUND_RUN]
    return [*map(RoundReport.model_validate, runs)]
