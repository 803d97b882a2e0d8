"""A delivery that ends its process does not end every process, and who wakes late is mended."""

import random
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from monitor.domain.model import EffectKind
from monitor.rounds.delivery.deliver import deliver
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.outbox.effect_store import DEADLY_ATTEMPTS
from monitor.storage.tables import effects
from tests.rounds.scene import MONDAY
from tests.storage.rows import add_effect, add_round, claimed_effect


class Death(BaseException):
    """What a process that is killed would not live to see."""


class Deadly:
    """Ends whoever delivers one effect; takes all others."""

    def __init__(self, key):
        self.key = key
        self.deaths = 0
        self.got = []

    def deliver(self, effect):
        if effect.key == self.key:
            self.deaths += 1
            raise Death
        self.got.append(effect.key)
        return "taken"


def stored(database, key):
    with database.read() as connection:
        return connection.execute(select(effects).where(effects.c.key == key)).one()


def lives(database, sink, count, now=MONDAY):
    """Begin so many processes one after the other, each as the last one is gone."""
    for _ in range(count):
        try:
            deliver(database, {"ops": sink, "log": sink}, lambda: now)
        except Death:
            with database.write() as connection:
                connection.execute(update(effects).values(claimed_until=0))


def test_a_delivery_that_ends_every_process_is_left_to_itself_after_some_and_tried_more_rarely(
    database,
):
    round_id = add_round(database)
    add_effect(database, round_id, "deadly")
    add_effect(database, add_round(database, monitor="spam"), "other")
    add_effect(database, add_round(database, number=2), "next")
    ops, now, waits = Deadly("deadly"), MONDAY, []

    lives(database, ops, DEADLY_ATTEMPTS + 4)

    found = stored(database, "deadly")
    assert ops.deaths == 1 + DEADLY_ATTEMPTS
    assert (found.status, found.tries, found.claimed_until) == ("dead", DEADLY_ATTEMPTS + 1, None)
    assert "ended, or hung, before it was done" in found.last_error
    assert {"other", "next"} < set(ops.got)
    assert any(key.startswith("delivery.dead/ops/") for key in ops.got)

    for _ in range(3):
        waits.append(stored(database, "deadly").next_try - now)
        now += waits[-1]
        lives(database, ops, 2, now)

    assert ops.deaths == 1 + DEADLY_ATTEMPTS + 3
    assert timedelta(minutes=10) < waits[0] < waits[1] < waits[2]


def test_a_delivery_that_failed_often_and_is_then_killed_once_is_tried_at_once(database):
    add_effect(database, add_round(database), "deadly")
    with database.write() as connection:
        connection.execute(update(effects).values(tries=40, last_error="it does not answer"))
    ops = Deadly("deadly")

    lives(database, ops, 2)

    assert ops.deaths == 2


class Storm:
    """Kills whoever delivers, from outside: one of a few deliveries, whichever it is."""

    def __init__(self, database, seed):
        self.kills = 0
        self.got = []
        self.calm = False
        self._database = database
        self._chance = random.Random(seed)  # noqa: S311

    def deliver(self, effect):
        if not self.calm and self._chance.random() < 0.4:
            self.kills += 1
            raise Death
        self.got.append(effect.key)
        return "taken"


def test_a_storm_that_kills_processes_makes_no_delivery_dead(database):
    rounds = [add_round(database, monitor=f"monitor-{place}") for place in range(8)]
    for number in range(12):
        for place, round_id in enumerate(rounds):
            add_effect(database, round_id, f"{place}-{number:02}")
    ops = Storm(database, seed=3)

    lives(database, ops, 40)
    ops.calm = True
    deliver(database, {"ops": ops, "log": ops}, lambda: MONDAY)

    with database.read() as connection:
        found = connection.execute(select(effects.c.status, effects.c.tries)).all()
    assert ops.kills > 20
    assert {row.status for row in found} == {"done"}
    for place in range(8):
        mine = [key for key in ops.got if key.startswith(f"{place}-")]
        assert mine == [f"{place}-{number:02}" for number in range(12)]


def test_what_was_being_delivered_when_its_process_ended_comes_after_all_else(database):
    add_effect(database, add_round(database), "deadly")
    for place in range(3):
        add_effect(database, add_round(database, monitor=f"monitor-{place}"), f"other-{place}")
    ops = Deadly("deadly")

    lives(database, ops, 1)
    before = list(ops.got)
    lives(database, ops, 1)

    assert before == []
    assert ops.got == ["other-0", "other-1", "other-2"]
    assert ops.deaths == 2


@pytest.mark.parametrize("kind", [EffectKind.ROUND_RUN, EffectKind.FLEET_POINT])
def test_what_was_delivered_since_a_claim_was_lost_is_delivered_again(database, kind):
    """Whoever lost it may have written an older version over them."""
    round_id = add_round(database)
    for number in (1, 2):
        add_effect(database, round_id, f"version-{number}", sink="mlflow", kind=kind)
    sleeper = claimed_effect(database, stored(database, "version-1").id)
    with database.write() as connection:
        connection.execute(update(effects).values(claimed_until=0))
    mlflow = Deadly("none")
    deliver(database, {"mlflow": mlflow}, lambda: MONDAY)

    with database.write() as connection:
        late = effect_store.finish_effect(connection, sleeper, "late", MONDAY)
        again = effect_admin.retry_effect(connection, sleeper, MONDAY)
    deliver(database, {"mlflow": mlflow}, lambda: MONDAY)

    assert (late, again) == (False, 2)
    assert mlflow.got == ["version-1", "version-2"] * 2
    assert stored(database, "version-2").status == "done"
