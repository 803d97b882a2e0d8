"""A notice that is sent again, or to several, is the same whoever gets it: one id, one content."""

import json
from collections import defaultdict
from datetime import timedelta

import pytest

from monitor.domain.errors import DeliveryFailed
from monitor.hooks.context import HookContext, read_notice
from monitor.hooks.webhook import notice_body
from monitor.plugins.hooks.command import CommandHandler, CommandSettings
from monitor.rounds.delivery import deliver
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings


class Hook:
    """Notes the body that it would post, as a webhook does; fails while it is down."""

    def __init__(self, bodies, link):
        self.error = None
        self._bodies, self._link = bodies, link

    def deliver(self, effect):
        notice = read_notice(effect.payload, self._link)
        self._bodies[notice.id].append(notice_body(notice))
        if self.error is not None:
            raise self.error
        return "taken"


class World:
    """Monitors whose alerts go to two hooks and the log, and a link that moves all the time."""

    def __init__(self, database):
        self.database = database
        self.bodies: defaultdict[str, list[str]] = defaultdict(list)
        self.asked = 0
        self.sinks = {name: Hook(self.bodies, self.link) for name in ("ops", "mail", "log")}

    def link(self, _):
        self.asked += 1
        return None if self.asked == 1 else f"http://mlflow/{self.asked}"

    def alert(self, name, hooks):
        """Play rounds up to an alert; returns the scene."""
        asked = settings(limits=LIMITS, reference=REFERENCE, hooks=hooks)
        scene = Scene(self.database, asked, name=name)
        scene.play(1)
        scene.play(2, precision=0.1)
        return scene

    def deliver(self, now):
        deliver(self.database, self.sinks, lambda: now, link=self.link)


@pytest.fixture
def world(database):
    return World(database)


def test_what_is_sent_again_is_the_same_to_a_webhook_and_to_a_command_with_a_link_or_without(
    world, tmp_path
):
    program = "import sys; open('got', 'a').write(sys.stdin.read() + chr(10)); sys.exit(1)"
    asked = CommandSettings(kind="command", command=("python3", "-c", program))
    world.sinks["chat"] = CommandHandler(asked, HookContext("chat", tmp_path, link=world.link))
    scene = world.alert("mail", ("ops", "mail", "chat"))
    world.alert("spam", ("ops",))  # its notice gets another link
    world.sinks["ops"].error = DeliveryFailed("hook ops: it may have taken it")

    for hours in range(4):
        world.deliver(scene.now + timedelta(hours=hours))
    world.sinks["ops"].error = None
    world.deliver(scene.now + timedelta(hours=5))

    sent = {notice: len(bodies) for notice, bodies in world.bodies.items()}
    assert max(sent.values()) > 4
    assert {notice for notice, bodies in world.bodies.items() if len(set(bodies)) > 1} == set()
    first, second, *_ = (tmp_path / "got").read_text().splitlines()
    assert first == second
    links = {json.loads(body)["data"]["link"] for [body, *_] in world.bodies.values()}
    assert None in links
    assert len(links) > 1


def test_each_hook_that_hears_of_a_dead_one_gets_what_its_id_stands_for(world):
    scenes = [world.alert("one", ("ops", "mail")), world.alert("two", ("ops", "log"))]
    world.sinks["ops"].error = DeliveryFailed("hook ops: it is gone", lasting=True)

    for minutes in range(0, 30, 3):
        world.deliver(scenes[0].now + timedelta(minutes=minutes))
    world.sinks["ops"].error = None
    world.deliver(scenes[0].now + timedelta(days=2))
    world.deliver(scenes[0].now + timedelta(days=2))

    events = [json.loads(body)["type"] for bodies in world.bodies.values() for body in bodies]
    assert {"delivery.dead", "delivery.recovered"} <= set(events)
    assert {notice for notice, bodies in world.bodies.items() if len(set(bodies)) > 1} == set()
