"""What fails for long, or for good, is told to others once, is shown, and goes on by itself."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import EffectKind
from monitor.domain.notice import Notice
from monitor.presentation.delivery import waiting_sentence
from monitor.rounds.delivery import deliver, notify_recovered, retire_orphans
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.tables import rounds
from tests.rounds.scene import MONDAY, Scene, settings
from tests.rounds.sinks import Sink
from tests.storage.rows import add_effect, add_round

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOOKS = ("ops", "mail", "chat")


class World:
    """Rounds of monitors with three hooks, their sinks, and a clock."""

    def __init__(self, database):
        self.database = database
        self.now = MONDAY
        self.sinks: dict[str, Any] = {name: Sink() for name in ("log", "mlflow", *HOOKS)}

    def round(self, monitor="mail-travel"):
        round_id = add_round(self.database, monitor=monitor)
        frozen = settings(hooks=HOOKS).model_dump(mode="json")
        with self.database.write() as connection:
            connection.execute(
                update(rounds).where(rounds.c.id == round_id).values(settings=frozen)
            )
        return round_id

    def two_rounds(self):
        return self.round(), add_round(self.database, number=2, monitor="mail-travel")

    def add(self, round_id, *keys, **of_each):
        for key in keys:
            add_effect(self.database, round_id, key, now=self.now, **of_each)

    def deliver(self, **changes):
        return deliver(self.database, self.sinks | changes, lambda: self.now)

    def pass_time(self, span, step=HOUR):
        end = self.now + span
        while self.now < end:
            self.now += step
            self.deliver()

    def status(self, key):
        with self.database.read() as connection:
            found = connection.exec_driver_sql("select key, status from effects")
            return {row.key: row.status for row in found}[key]

    def waiting(self, sink):
        with self.database.read() as connection:
            return [w for w in effect_store.find_waiting(connection) if w.sink == sink]

    def open(self, **which):
        with self.database.read() as connection:
            return effect_admin.find_open(connection, **which)


@pytest.fixture
def world(database):
    return World(database)


def down():
    return DeliveryFailed("hook ops: it does not answer")


def refused():
    return DeliveryFailed("hook ops: it answered 404", lasting=True)


def test_an_outage_of_a_day_is_told_once_and_all_goes_on_by_itself_in_order(world):
    world.add(world.round(), "alert-1", "alert-2")
    ops = world.sinks["ops"]
    ops.error = down()

    world.deliver()
    world.pass_time(DAY - HOUR)
    before = world.status("alert-1")
    world.pass_time(2 * DAY)
    asked = ops.asked

    assert (before, world.status("alert-1")) == ("waiting", "dead")
    assert 40 <= asked <= 80  # every hour
    assert world.sinks["mlflow"].got == []
    [payload] = world.sinks["mail"].payloads
    notice = Notice.model_validate(payload)
    assert notice.sentence.startswith(
        "mail-travel: hook ops has taken nothing since 2025-03-03 06:00 UTC, tried "
    )
    assert notice.sentence.endswith(" times: hook ops: it does not answer")
    assert "pr-monitor effects retry --sink ops" in (notice.to_do or "")
    assert (notice.sink, notice.monitor, notice.at) == ("ops", "mail-travel", MONDAY + DAY)

    ops.error = None
    world.pass_time(HOUR)

    assert ops.got == ["alert-1", "alert-2"]
    for name in ("log", "mail", "chat"):
        assert world.sinks[name].events() == ["delivery.dead", "delivery.recovered"]
    assert world.open() == []


def test_a_reason_that_lasts_is_told_after_three_tries_and_then_tried_less_and_less(world):
    world.add(world.round(), "alert-1")
    ops = world.sinks["ops"]
    ops.error = refused()

    world.deliver()
    world.pass_time(timedelta(minutes=2), timedelta(minutes=1))
    early = (ops.asked, world.status("alert-1"))
    world.pass_time(timedelta(minutes=2), timedelta(minutes=1))
    third = (ops.asked, world.status("alert-1"))
    world.pass_time(6 * DAY, 3 * HOUR)

    assert early == (2, "waiting")
    assert third == (3, "dead")
    assert 10 <= ops.asked <= 16
    assert world.sinks["mail"].events() == ["delivery.dead"]


def test_a_blip_after_days_of_waiting_for_its_turn_kills_nothing(world):
    world.add(world.round(), "alert-1")
    world.now += 5 * DAY
    world.sinks["ops"].error = down()

    for _ in range(4):
        world.deliver()
        world.now += timedelta(minutes=10)
    after_four = world.status("alert-1")
    world.deliver()

    assert (after_four, world.status("alert-1")) == ("waiting", "dead")


def test_a_turn_begins_when_the_effect_before_is_done(world):
    world.add(world.round(), "alert-1", "alert-2")
    world.now += 5 * DAY
    world.sinks["ops"].failing = {"alert-2": down()}
    world.deliver()
    world.pass_time(DAY - HOUR)
    before = world.status("alert-2")
    world.pass_time(2 * HOUR)

    assert (before, world.status("alert-2")) == ("waiting", "dead")


def test_of_many_monitors_each_other_hook_hears_once_a_day(world):
    for number in range(6):
        world.add(world.round(f"m{number:02}"), f"alert-{number}")
    world.sinks["ops"].error = refused()

    world.deliver()
    world.pass_time(2 * HOUR, timedelta(minutes=5))

    assert [each.status for each in world.open(sink="ops")] == ["dead"] * 6
    assert world.sinks["mail"].events() == ["delivery.dead"]


def test_two_hooks_that_are_both_dead_do_not_write_to_each_other_for_ever(world):
    round_id = world.round()
    for name in ("ops", "mail"):
        world.add(round_id, f"alert-{name}", sink=name)
        world.sinks[name].error = DeliveryFailed(f"hook {name}: no", lasting=True)

    with capture_logs() as logs:
        world.deliver()
        world.pass_time(4 * DAY, 4 * HOUR)

    told = [each for each in world.open() if each.sink in {"ops", "mail"}]
    assert len(told) == 4  # each its own alert, and one notice of the other
    assert world.sinks["chat"].events() == ["delivery.dead", "delivery.dead"]
    assert len([line for line in logs if line["event"] == "dead effect"]) == 2


def test_mlflow_that_is_dead_is_told_to_the_hooks_and_delays_no_notice(world):
    round_id = world.round()
    world.add(round_id, "run-1", sink="mlflow", kind=EffectKind.ROUND_RUN)
    world.sinks["mlflow"].error = DeliveryFailed("MLflow refuses it", lasting=True)
    world.deliver()
    world.pass_time(DAY)
    world.add(round_id, "alert-1")
    world.deliver()

    told = [each.get("event", each.get("key")) for each in world.sinks["ops"].payloads]
    assert told == ["delivery.dead", "alert-1"]
    assert "MLflow has taken nothing since" in world.sinks["ops"].payloads[0]["sentence"]


def test_a_delivery_that_a_fault_of_this_program_ends_steps_aside_and_other_rounds_go_on(world):
    run, point = EffectKind.ROUND_RUN, EffectKind.FLEET_POINT
    first, second = world.two_rounds()
    for key, kind in (("run-1", run), ("point-1", point), ("run-1-corrected", run)):
        world.add(first, key, sink="mlflow", kind=kind)
    world.add(second, "run-2", sink="mlflow", kind=run)
    mlflow = world.sinks["mlflow"] = Sink(failing={"run-1": ModuleNotFoundError()})

    world.deliver()
    world.pass_time(timedelta(minutes=2), timedelta(minutes=1))
    early = list(mlflow.got)
    world.pass_time(timedelta(minutes=3), timedelta(minutes=1))
    late = list(mlflow.got)
    world.pass_time(2 * DAY, 3 * HOUR)
    asked = mlflow.failures
    mlflow.failing.clear()
    world.pass_time(2 * DAY, 3 * HOUR)

    assert early == []
    assert late == ["point-1", "run-2"]
    assert 5 <= asked <= 14  # less and less often
    assert mlflow.got == ["point-1", "run-2", "run-1", "run-1-corrected"]
    assert world.sinks["ops"].events() == ["delivery.dead", "delivery.recovered"]
    dead, _ = world.sinks["ops"].payloads
    assert dead["sentence"].startswith(
        "mail-travel, round 1: one delivery to MLflow failed 3 times and was set aside; later "
        "ones continue: mlflow did not take round_run: its handler broke with "
        "ModuleNotFoundError"
    )


def test_what_steps_aside_is_listed_by_itself_and_gets_back_into_its_queue_when_retried(world):
    round_id = world.round()
    world.add(round_id, "run-1", sink="mlflow", kind=EffectKind.ROUND_RUN)
    world.add(round_id, "run-2", "run-3", sink="mlflow", kind=EffectKind.FLEET_POINT)
    world.sinks["mlflow"] = Sink(failing={"run-1": ModuleNotFoundError()})
    world.deliver()
    world.pass_time(timedelta(minutes=5), timedelta(minutes=1))
    one_by_one = [(each.id, each.status, each.aside, each.first) for each in world.open()]
    [waiting] = world.waiting("mlflow")
    with world.database.write() as connection:
        effect_admin.revive(connection, [1], world.now)

    assert one_by_one[0] == (1, "dead", True, True)
    assert (waiting.effects, waiting.dead, waiting.tries) == (1, True, 3)
    assert [(each.id, each.status, each.aside) for each in world.open()] == [(1, "waiting", False)]


def test_no_notice_of_an_alert_overtakes_an_earlier_one_of_it(world):
    for round_id, event in zip(world.two_rounds(), ("fires", "ends"), strict=True):
        for alert in "ab":
            world.add(round_id, f"{alert}-{event}", alert=alert)
    ops = world.sinks["ops"] = Sink(failing={"a-fires": ModuleNotFoundError()})

    world.deliver()
    world.pass_time(HOUR, timedelta(minutes=1))
    before = [key for key in ops.got if key[0] in "ab"]
    ops.failing.clear()
    world.pass_time(DAY)

    assert before == ["b-fires", "b-ends"]
    assert [key for key in ops.got if key[0] in "ab"] == ["b-fires", "b-ends", "a-fires", "a-ends"]


def test_an_older_state_of_a_model_that_stepped_aside_never_replaces_a_newer_one(world):
    for number, round_id in enumerate(world.two_rounds(), 1):
        world.add(round_id, f"page-{number}", sink="mlflow", kind=EffectKind.MODEL_TAGS)
    mlflow = world.sinks["mlflow"] = Sink(failing={"page-1": ModuleNotFoundError()})

    world.deliver()
    world.pass_time(HOUR, timedelta(minutes=1))
    mlflow.failing.clear()
    world.pass_time(2 * DAY)

    assert mlflow.got == ["page-2"]
    assert world.status("page-1") == "done"


def test_what_mlflow_refuses_for_a_day_for_what_it_holds_steps_aside_too(world):
    for number, round_id in enumerate(world.two_rounds(), 1):
        world.add(round_id, f"run-{number}", sink="mlflow", kind=EffectKind.ROUND_RUN)
    refusal = DeliveryFailed("MLflow did not take it: too long", sink_down=False)
    world.sinks["mlflow"].failing = {"run-1": refusal}
    world.deliver()
    world.pass_time(DAY - HOUR)
    before = world.status("run-2")
    world.pass_time(2 * HOUR)

    assert (before, world.status("run-2"), world.status("run-1")) == ("waiting", "done", "dead")


def test_status_says_what_since_when_why_and_what_to_do(database):
    scene = Scene(database, settings(hooks=("ops",)))
    scene.play(1)
    add_effect(database, scene.round(1).id, "alert-1", now=scene.now)
    ops = Sink(error=refused())
    for _ in range(3):
        deliver(database, {"ops": ops}, lambda: scene.now)
        scene.now += timedelta(minutes=5)

    found = scene.overview()

    [waiting] = [effect for effect in found.waiting if effect.sink == "ops"]
    [problem] = [problem for problem in found.problems if "ops" in problem]
    assert (waiting.dead, found.status) == (True, "stale")
    assert problem.startswith(
        "1 round waits for ops since 2025-03-03 06:00, failed 3 times, next try 2025-03-03 "
    )
    assert ": hook ops: it answered 404. pr-monitor effects lists what waits." in problem
    assert problem.endswith("pr-monitor effects retry --sink ops")
    assert waiting_sentence(waiting) in problem


def test_what_waits_for_a_removed_hook_dies_after_an_hour_and_who_knows_the_hook_takes_it(world):
    world.add(world.round(), "alert-1", sink="pager")
    world.add(world.round("spam"), "alert-2", sink="pager")

    world.now += HOUR
    retire_orphans(world.database, world.sinks, lambda: world.now)
    early = world.status("alert-1")
    world.now += timedelta(seconds=1)
    retire_orphans(world.database, world.sinks, lambda: world.now)
    retire_orphans(world.database, world.sinks, lambda: world.now)
    world.deliver()

    assert (early, world.status("alert-1"), world.status("alert-2")) == ("waiting", "dead", "dead")
    [payload] = world.sinks["mail"].payloads
    assert payload["sentence"] == (
        "mail-travel: 2 notices wait for hook pager, but the config has no hook pager any more."
    )
    assert "pr-monitor effects drop --sink pager" in payload["to_do"]
    assert world.open(sink="pager")[0].last_error == "the config has no hook pager any more"

    pager = Sink()
    world.deliver(pager=pager)  # by another replica
    world.deliver()

    assert pager.got == ["alert-1", "alert-2"]
    assert world.sinks["mail"].events() == ["delivery.dead", "delivery.recovered"]


def test_what_is_revived_is_tried_at_once_and_what_is_dropped_lets_the_next_go(world):
    """And a second outage is told as the first."""
    round_id = world.round()
    world.add(round_id, "alert-1")
    ops = world.sinks["ops"]
    ops.error = refused()
    world.deliver()
    world.pass_time(2 * DAY, 3 * HOUR)
    asked = ops.asked

    with world.database.write() as connection:
        assert effect_admin.revive(connection, [1], world.now) == 1
    world.deliver()

    [head] = world.open(sink="ops")
    assert ops.asked == asked + 1
    assert (head.status, head.tries, head.first) == ("waiting", 1, True)
    assert head.next_try - world.now <= timedelta(minutes=1)

    ops.error = None
    world.pass_time(HOUR)
    assert world.sinks["mail"].events() == ["delivery.dead", "delivery.recovered"]

    world.add(round_id, "alert-2", "alert-3")
    ops.error = refused()
    world.pass_time(HOUR, timedelta(minutes=5))
    [bad, _] = world.open(sink="ops")
    with world.database.write() as connection:
        assert effect_admin.drop(connection, [bad.id], "a bad one", world.now) == 1
        notify_recovered(connection, "ops", world.now)
    ops.error = None
    world.deliver()

    assert (world.status("alert-2"), world.status("alert-3")) == ("dropped", "done")
    assert world.sinks["mail"].events() == ["delivery.dead", "delivery.recovered"] * 2
    assert len({payload["id"] for payload in world.sinks["mail"].payloads}) == 4
    with world.database.write() as connection:
        assert effect_admin.drop(connection, [1, bad.id], "again", world.now) == 0
        assert effect_admin.revive(connection, [1, bad.id], world.now) == 0
