"""Monitors that the config no longer has: what is open of them is told, and their alerts end."""

from datetime import timedelta

from monitor.domain.alerting import AlertState
from monitor.rounds.opening import due
from monitor.rounds.opening.removed_monitors import (
    UNWATCHED,
    end_removed_monitors,
    removed_monitors,
)
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, REFERENCE, WEEK, Scene, settings


@played
def scene(database):
    """A monitor with an open alert on precision."""
    asked = settings(limits=LIMITS, labels=400, reference=REFERENCE, hooks=("ops",))
    scene = Scene(database, asked)
    scene.play(1, precision=0.85)
    scene.play(2, precision=0.2)
    return scene


def end(scene, *names):
    end_removed_monitors(scene.database, names, lambda: scene.now)
    return [alert.state for alert in scene.alerts()]


def test_an_alert_of_a_removed_monitor_ends_with_that_reason_and_the_hooks_are_told_once(scene):
    scene.now += WEEK + UNWATCHED

    states = end(scene, "other")
    end(scene)

    [alert] = scene.alerts()
    assert states == [AlertState.RESOLVED]
    assert alert.ended_why == "the monitor is no longer in the config"
    for sink in ("log", "ops"):
        assert scene.alert_events(sink) == ["alert.firing", "alert.resolved"]
        told = scene.alert_notices(sink)[-1]["sentence"]
        assert "has ended: the monitor is no longer in the config." in told
    assert scene.read(removed_monitors, ["other"]) == []


def test_an_alert_waits_for_a_slot_that_another_config_would_open_and_for_its_own_monitor(scene):
    scene.now += WEEK + UNWATCHED - timedelta(seconds=1)

    assert end(scene, "other") == [AlertState.FIRING]
    scene.now += 10 * WEEK
    assert end(scene, "other", "mail") == [AlertState.FIRING]


def test_an_alert_of_a_monitor_that_another_config_runs_stays_open(scene):
    scene.now += WEEK
    due.open_due(scene.context)  # by the other config
    scene.now += 2 * UNWATCHED

    assert end(scene, "other") == [AlertState.FIRING]


def test_what_is_open_of_a_removed_monitor_is_told_with_what_becomes_of_it(scene):
    scene.now += WEEK
    due.open_due(scene.context)

    [removed] = scene.read(removed_monitors, ["other"])
    known = scene.read(removed_monitors, ["other", "mail"])

    [alert] = scene.alerts()
    assert known == []
    assert (removed.monitor, removed.open_rounds) == ("mail", (3,))
    assert removed.ends_at == scene.now + WEEK + UNWATCHED
    assert removed.sentence == (
        "mail is in the store but not in the config (renamed or removed?), with an alert on "
        f"precision ({alert.id[:8]}), round 3 open. It is not monitored, unless another config "
        "on this store has it; rounds go on when the config has it again; alerts are ended on "
        "2025-03-25 06:00 UTC."
    )


def test_open_rounds_of_a_monitor_that_is_put_back_go_on(scene):
    scene.draw(3, precision=0.85)
    end(scene, "other")

    scene.label()

    assert scene.round(3).state == "closed"
