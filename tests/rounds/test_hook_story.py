"""An alert from its firing to its end, as real hooks on loopback get it."""

from typing import Any

import pytest
from standardwebhooks import Webhook

from monitor.domain.alerting import AlertState
from monitor.hooks.context import HookContext
from monitor.hooks.webhook import WebhookHandler, WebhookSettings
from monitor.rounds.delivery import deliver
from monitor.rounds.reporting.enqueue import enqueue_ended
from monitor.storage.results import alert_store
from tests.hooks.receivers import Receiver
from tests.rounds.played import played
from tests.rounds.scene import LIMITS, Scene, settings

pytestmark = pytest.mark.server

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up


class Story:
    """A monitor that tells a webhook."""

    def __init__(self, scene, webhook):
        self.scene = scene
        self.webhook = webhook
        asked = WebhookSettings.model_validate(
            {"url": webhook.url, "secret": SECRET, "allow_private": True}
        )
        self.handlers: dict[str, Any] = {
            "ops": WebhookHandler(
                asked, HookContext("ops", link=lambda notice: f"http://m/{notice.round}")
            ),
        }

    def play(self, number, **changes):
        self.scene.play(number, **changes)
        return self.deliver()

    def deliver(self):
        return deliver(self.scene.database, self.handlers, lambda: self.scene.now)

    def told(self):
        return [Webhook(SECRET.encode()).verify(body, head) for _, head, body in self.webhook.got]

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
    scene = Scene(database, settings(limits=LIMITS, labels=400, hooks=("ops",)))
    scene.play(1, precision=0.85)
    scene.play(2, precision=0.3)
    return scene


@pytest.fixture
def story(scene):
    """It, told."""
    with Receiver() as webhook:
        story = Story(scene, webhook)
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


def test_good_rounds_end_the_alert_with_one_notice(story):
    story.recover(3)

    events = [each["type"] for each in story.told() if each["data"]["metric"] == "precision"]
    assert events == ["alert.firing", "alert.resolved"]


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
