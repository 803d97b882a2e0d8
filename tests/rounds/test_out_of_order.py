"""Rounds close in any order: alerts fire, are told once, and end by what came later in time."""

import pytest

from monitor.domain.alerting import AlertState
from monitor.domain.errors import MonitorError
from monitor.domain.model import Answer
from monitor.domain.settings import Limits
from monitor.rounds import run, versions
from monitor.stats.detection.recovery import Recovery
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, MONDAY, WEEK, Scene, settings


@played
def scene(database):
    """A good round."""
    scene = Scene(database, settings(limits=LIMITS, labels=400, deadline=52 * WEEK))
    scene.play(1, precision=0.85)
    return scene


def alert_events(scene):
    """Sink and event of every notice about an alert, in the order in which they were written."""
    rows = scene.rows("select sink, payload from effects where kind = 'notice' order by id")
    told = [(row["sink"], row["payload"]["event"]) for row in rows]
    return [each for each in told if each[1].startswith("alert.")]


def open_rounds(scene, rates):
    """Open a round a week, labels still to come, each with its precision."""
    for number, precision in rates.items():
        scene.draw(number, precision=precision)


def close(scene, *numbers):
    for number in numbers:
        scene.answer_round(number)
        scene.run()
    return [scene.round(number).state for number in numbers]


def test_an_alert_fires_in_a_round_that_closes_after_a_newer_one(scene):
    scene.settings = scene.settings.model_copy(update={"hooks": ("ops",)})
    open_rounds(scene, {2: 0.3, 3: 0.85})

    states = close(scene, 3, 2)

    assert states == ["closed", "closed"]
    [alert] = scene.alerts()
    assert (alert.metric, alert.fired_in_round, alert.state) == ("precision", 2, "firing")
    assert alert_events(scene) == [("log", "alert.firing"), ("ops", "alert.firing")]


def test_an_alert_may_fire_and_be_revised_in_one_pass(scene):
    """Round 3 fires when it closes, and the labels of round 2 that came late take it back."""
    open_rounds(scene, {2: 0.85, 3: 0.3})
    close(scene, 3)
    assert [alert.state for alert in scene.alerts()] == [AlertState.FIRING]

    for number in (1, 3):
        scene.judge_flagged(number, Answer.POSITIVE)
    close(scene, 2)

    assert [alert.state for alert in scene.alerts()] == [AlertState.REVISED]
    assert [event for _, event in alert_events(scene)] == ["alert.firing", "alert.revised"]


def recoveries(scene):
    """What closings said of the recovery of precision, in the order of closing."""
    rows = scene.closings().values()
    return [row for row in rows if row["recovery_rounds"] is not None]


def test_late_rounds_of_the_time_before_an_alert_neither_end_it_nor_move_its_recovery(scene):
    open_rounds(scene, {2: 0.9, 3: 0.9, 4: 0.3, 5: 0.6, 6: 0.6})
    close(scene, 4, 2, 5, 3, 6)

    early, first, late, last = recoveries(scene)
    assert [row["number"] for row in (early, first, late, last)] == [2, 5, 3, 6]
    assert (early["recovery_rounds"], early["log_r"], early["log_recovery"]) == (0, None, None)
    assert [row["recovery_rounds"] for row in (first, late, last)] == [1, 1, 2]
    assert (late["log_r"], late["log_recovery"]) == (first["log_r"], None)
    assert last["log_r"] == pytest.approx(
        Recovery(1, first["log_r"]).updated(last["log_recovery"]).log_r
    )
    assert [alert.state for alert in scene.alerts()] == [AlertState.FIRING]


def test_a_round_of_the_time_before_an_alert_does_not_end_it_by_its_older_limit(scene):
    open_rounds(scene, {2: 0.85})
    higher = Limits.model_validate({"precision": 0.75, "recall": 0.4})
    scene.settings = scene.settings.model_copy(update={"limits": higher})
    open_rounds(scene, {3: 0.3})
    close(scene, 3)
    [alert] = scene.alerts()
    assert (alert.limit, alert.state) == (0.75, AlertState.FIRING)

    close(scene, 2)

    assert [(alert.limit, alert.state) for alert in scene.alerts()] == [(0.75, AlertState.FIRING)]


@played
def several(scene):
    """Two more rounds wait for answers, and predictions for another."""
    open_rounds(scene, {2: 0.8, 3: 0.8})
    scene.week(4)
    return scene


@pytest.mark.parametrize(("step", "stopped"), [("close", 2), ("draw", 4), ("correct", 1)])
def test_a_bug_in_the_step_of_one_round_stops_that_round_alone(several, monkeypatch, step, stopped):
    slot = MONDAY + (stopped - 1) * WEEK
    break_for(monkeypatch, run if step == "draw" else versions, step, slot)
    several.turn(*list(several.labeler.answers)[:30])
    several.answer_round(2)
    several.answer_round(3)

    with pytest.raises(MonitorError, match="KeyError: 'planted'") as caught:
        several.run(4)

    assert caught.value.exit_code == 1
    assert {several.round(number).state for number in {1, 2, 3} - {stopped}} == {"closed"}
    assert "stopped by a bug in this program: KeyError: 'planted'" in several.round(stopped).reason
    now = several.overview()
    assert any(f"round {stopped} waits: stopped by a bug" in problem for problem in now.problems)


def break_for(monkeypatch, where, name, slot):
    whole = getattr(where, name)

    def broken(context, found, *rest, **named):
        if found.slot == slot:
            message = "planted"
            raise KeyError(message)
        return whole(context, found, *rest, **named)

    monkeypatch.setattr(where, name, broken)


def test_a_bug_in_reading_labels_keeps_no_round_from_being_drawn(scene, monkeypatch):
    open_rounds(scene, {2: 0.8})
    scene.week(3)

    def broken(*_):
        message = "planted"
        raise KeyError(message)

    monkeypatch.setattr(scene.labeler, "collect", broken)
    with pytest.raises(MonitorError, match="KeyError: 'planted'") as caught:
        scene.run(3)

    assert caught.value.exit_code == 1
    assert [scene.round(number).state for number in (2, 3)] == ["labeling", "labeling"]


def test_a_backfill_goes_on_past_a_round_that_a_bug_stops(scene, monkeypatch):
    scene.labeler.asks_people = False
    for number in (2, 3, 4):
        scene.week(number)
    scene.labeler.answers |= scene.truth
    scene.now = MONDAY + 3 * WEEK
    break_for(monkeypatch, versions, "close", MONDAY + WEEK)

    filled = run.backfill(scene.context, MONDAY)
    slots = [next(filled)[0] for _ in range(3)]
    with pytest.raises(MonitorError, match="KeyError: 'planted'"):
        next(filled)

    assert slots == [MONDAY + n * WEEK for n in (1, 2, 3)]
    states = [scene.round(number).state for number in (1, 2, 3, 4)]
    assert states == ["closed", "labeling", "closed", "closed"]
