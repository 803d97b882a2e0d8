"""An alert from its firing to its end, as real hooks on loopback get it."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, update
from standardwebhooks import Webhook

from monitor.domain.alerting import AlertState
from monitor.hooks.context import HookContext
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from monitor.plugins.hooks.alertmanager import AlertmanagerHandler, AlertmanagerSettings
from monitor.rounds.delivery import deliver
from monitor.rounds.reporting.enqueue import enqueue_ended
from monitor.storage.results import alert_store
from monitor.storage.tables import effects
from tests.hooks.receivers import Receiver
from tests.plugins.hooks.alertmanagers import StandIn
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, Scene, settings

pytestmark = pytest.mark.server

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up
PRECISION = {
    "alertname": "PrMonitorLimit",
    "monitor": "mail",
    "metric": "precision",
    "side": "at_least",
}


class Story:
    """A monitor that tells a webhook and an Alertmanager."""

    def __init__(self, scene, webhook, alertmanager):
        self.scene = scene
        self.alertmanager = alertmanager
        self.webhook = webhook
        asked = WebhookSettings.model_validate(
            {"url": webhook.url, "secret": SECRET, "allow_private": True}
        )
        kept = AlertmanagerSettings(kind="alertmanager", url=alertmanager.url, allow_private=True)
        self.handlers: dict[str, Any] = {
            "ops": WebhookHandler(
                asked, HookContext("ops", link=lambda notice: f"http://m/{notice.round}")
            ),
            "am": AlertmanagerHandler(kept, HookContext("am", clock=lambda: self.scene.now)),
        }

    def play(self, number, **changes):
        self.scene.play(number, **changes)
        return self.deliver()

    def deliver(self):
        return deliver(self.scene.database, self.handlers, lambda: self.scene.now)

    def told(self):
        return [Webhook(SECRET.encode()).verify(body, head) for _, head, body in self.webhook.got]

    def open(self):
        return [
            labels
            for labels in self.alertmanager.open_at(self.scene.now)
            if labels["metric"] == "precision"
        ]

    def alert(self, state=None):
        alerts = self.scene.read(alert_store.find_alerts, state=state)
        return next(alert for alert in alerts if alert.metric == "precision")

    def recover(self, first):
        """Play good rounds until the alert ends; returns the next number."""
        number = first
        while self.alert().state is AlertState.FIRING:
            self.play(number, precision=0.9)
            number += 1
        return number


@played
def scene(database):
    """A good round and one that fires, of which nobody was told yet."""
    scene = Scene(database, settings(limits=LIMITS, labels=400, hooks=("ops", "am")))
    scene.play(1, precision=0.85)
    scene.play(2, precision=0.3)
    return scene


@pytest.fixture
def story(scene):
    """It, told."""
    with Receiver() as webhook, StandIn() as alertmanager:
        story = Story(scene, webhook, alertmanager)
        story.deliver()
        yield story


def test_a_firing_alert_says_what_how_sure_how_often_false_where_and_what_to_do(story):
    [message] = [each for each in story.told() if each["data"]["metric"] == "precision"]

    data = message["data"]
    assert (message["type"], data["event"]) == ("alert.firing", "alert.firing")
    assert "mail: precision is under its limit 0.7: " in data["sentence"]
    assert "(95 % interval" in data["sentence"]
    assert "one false alarm per 52 rounds" in data["promise"]
    assert "pr-monitor show 2 -m mail" in data["to_do"]
    assert f"pr-monitor alerts resolve {story.alert().id[:8]}" in data["to_do"]
    assert (data["link"], data["alert"]) == ("http://m/2", story.alert().id)
    assert data["at"] == data["since"] == message["timestamp"].replace("+00:00", "Z")
    assert story.open() == [PRECISION]


def test_an_alert_stays_open_in_an_alertmanager_that_forgets_until_it_ends_here(story):
    posts, told = story.alertmanager.posts, len(story.webhook.got)
    [(_, alerts)] = [post for post in posts if len(post[1]) == 1][:1]
    story.alertmanager.known.clear()
    again = story.deliver()
    kept = story.open()
    assert len(story.webhook.got) == told  # it has no memory to keep
    story.recover(3)
    ended = story.open()
    story.alertmanager.known.clear()
    story.deliver()

    assert (kept, ended, story.open()) == ([PRECISION], [], [])
    assert (again.done, again.failed) == ({}, {})
    events = [each["type"] for each in story.told() if each["data"]["metric"] == "precision"]
    assert events == ["alert.firing", "alert.resolved"]

    # A replica read that the alert is open, was held up, and posts it after its end.
    story.alertmanager.take({}, [{**alerts[0], "endsAt": "2099-01-01T00:00:00+00:00"}])
    late = story.open()
    story.deliver()

    assert (late, story.open()) == ([PRECISION], [])

    # The order of what is told is that of the effects, so keeping may not run ahead of them.
    story.alertmanager.status = 503
    story.scene.now += timedelta(days=2)
    fired = story.scene.write(
        alert_store.fire,
        round_=story.scene.round(3),
        metric="recall",
        side="at_least",
        limit=0.4,
        now=story.scene.now,
    )

    assert story.deliver().failed == {}
    assert fired.state is AlertState.FIRING


def test_an_alert_ended_by_hand_ends_in_the_hooks_too(story):
    alert = story.alert(AlertState.FIRING)
    with story.scene.database.write() as connection:
        alert_store.end(connection, alert.id, AlertState.RESOLVED, why="known", now=story.scene.now)
        enqueue_ended(connection, alert, "a known outage", story.scene.now)
    story.deliver()

    last = story.told()[-1]
    assert (last["type"], last["data"]["alert"]) == ("alert.resolved", alert.id)
    assert last["data"]["sentence"] == (
        "mail: the alert on precision (at least 0.7) of round 2 was ended by hand: a known outage. "
        f"It fired {alert.fired_at:%Y-%m-%d %H:%M} UTC by round 2, on the predictions of "
        f"{alert.window}."
    )
    assert story.open() == []


def test_a_keeper_that_is_down_or_breaks_is_said_and_keeps_no_other_from_going_on(story):
    class Broken:
        def deliver(self, _effect):
            return "taken"

        def keep(self, _notices):
            raise KeyError(SECRET)

    story.alertmanager.status = 503
    down = story.deliver()
    story.alertmanager.status = 200

    assert down.done == {}
    assert "it answered 503" in down.failed["am"]

    with story.scene.database.write() as connection:
        connection.execute(update(effects).where(effects.c.sink == "ops").values(sink="am2"))
        connection.execute(
            update(effects)
            .where(effects.c.sink == "am2")
            .values(key=func.replace(effects.c.key, "/ops", "/am2"))
        )
    story.handlers = {"am2": Broken(), "am": story.handlers["am"]}
    story.alertmanager.known.clear()

    result = story.deliver()

    assert story.open() == [PRECISION]
    assert result.failed == {"am2": "am2 was not reminded of open alerts: KeyError; see the log"}
