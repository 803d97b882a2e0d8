"""A step or a delivery that ends its process, as for want of memory, keeps nothing else back."""

import random
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import func, select, update
from structlog.testing import capture_logs

from monitor.domain.model import EffectKind
from monitor.rounds.delivery import deliver
from monitor.service import loop
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.outbox.effect_store import DEADLY_ATTEMPTS
from monitor.storage.tables import effects, rounds
from tests.crashes import Killed
from tests.rounds.scene import MONDAY, WEEK, Scene, settings, week_of_rows
from tests.rounds.sinks import Sink, application_of
from tests.storage.rows import add_effect, add_round, claimed_effect


class Deadly:
    """A source that ends whoever reads the window of its first slot."""

    def __init__(self, source):
        self.source = source

    def scan(self, window, *arguments):
        if window.end == MONDAY:
            raise Killed
        return self.source.scan(window, *arguments)

    def show(self, *arguments):
        return self.source.show(*arguments)


@pytest.fixture
def mail(database):
    scene = Scene(database, settings(), name="mail")
    scene.source = cast("Any", Deadly(scene.source))
    return scene


def a_life(act, scene):
    """Let a process begin, and leave its claim behind if it dies; true if it did."""
    try:
        with capture_logs():
            act()
    except Killed:
        oldest = select(func.coalesce(func.max(rounds.c.claimed_until), 0)).scalar_subquery()
        with scene.database.write() as connection:
            id_of_it = scene.round(1).id
            connection.execute(
                update(rounds)
                .where(rounds.c.id == id_of_it)
                .values(claimed_by="gone", claimed_until=oldest + 1)
            )
        return True
    return False


def test_other_rounds_of_the_monitor_go_on(mail):
    memory = mail.source.source
    memory.rows, mail.truth = week_of_rows(MONDAY)

    deaths = [a_life(mail.run, mail)]
    mail.now += WEEK
    deaths.append(a_life(mail.run, mail))
    drawn = mail.round(2).state
    mail.answer()
    deaths.append(a_life(mail.run, mail))

    assert deaths == [True] * 3
    assert (drawn, mail.round(2).state) == ("labeling", "closed")
    assert mail.round(1).state == "open"


def test_what_a_round_waits_for_is_told(mail):
    for _ in range(3):
        a_life(mail.run, mail)

    told = "the last worker ended while it drew the sample, perhaps killed or out of memory"
    assert mail.round(1).reason == told
    assert len(mail.rows("select id from round_events where reason = :told", told=told)) == 1


def test_other_monitors_go_on_and_their_notices_go_out(mail):
    spam = Scene(mail.database, settings(grace=timedelta(0)), name="spam")
    log = Sink()
    application = application_of([mail, spam], log)

    def run_once():
        loop.one_pass(application, application.monitors)

    deaths = [a_life(run_once, mail) for _ in range(2)]

    assert deaths == [True, True]
    assert spam.round(1).state == "abandoned"  # it has no predictions
    assert log.by_monitor() == [("spam", "round.abandoned")]


# A delivery that ends its process does not end every process, and who wakes late is mended.


def stored(database, key):
    with database.read() as connection:
        return connection.execute(select(effects).where(effects.c.key == key)).one()


def lives(database, sink, count, now=MONDAY):
    """Begin so many processes one after the other, each as the last one is gone."""
    for _ in range(count):
        try:
            deliver(database, {"ops": sink, "log": sink}, lambda: now)
        except Killed:
            with database.write() as connection:
                connection.execute(update(effects).values(claimed_until=0))


def test_a_delivery_that_ends_every_process_is_left_to_itself_after_some_and_tried_more_rarely(
    database,
):
    round_id = add_round(database)
    add_effect(database, round_id, "deadly")
    add_effect(database, add_round(database, monitor="spam"), "other")
    add_effect(database, add_round(database, number=2), "next")
    ops, now, waits = Sink(failing={"deadly": Killed()}), MONDAY, []

    lives(database, ops, DEADLY_ATTEMPTS + 4)

    found = stored(database, "deadly")
    assert ops.failures == 1 + DEADLY_ATTEMPTS
    assert (found.status, found.tries, found.claimed_until) == ("dead", DEADLY_ATTEMPTS + 1, None)
    assert "ended, or hung, before it was done" in found.last_error
    assert {"other", "next"} < set(ops.got)
    assert any(key.startswith("delivery.dead/ops/") for key in ops.got)

    for _ in range(3):
        waits.append(stored(database, "deadly").next_try - now)
        now += waits[-1]
        lives(database, ops, 2, now)

    assert ops.failures == 1 + DEADLY_ATTEMPTS + 3
    assert timedelta(minutes=10) < waits[0] < waits[1] < waits[2]


def test_a_delivery_that_failed_often_and_is_then_killed_once_is_tried_at_once(database):
    add_effect(database, add_round(database), "deadly")
    with database.write() as connection:
        connection.execute(update(effects).values(tries=40, last_error="it does not answer"))
    ops = Sink(failing={"deadly": Killed()})

    lives(database, ops, 2)

    assert ops.failures == 2


class Storm(Sink):
    """Kills whoever delivers, from outside: one of a few deliveries, whichever it is."""

    def __init__(self, seed):
        super().__init__()
        self.calm = False
        self._chance = random.Random(seed)  # noqa: S311

    def deliver(self, effect):
        is_hit = not self.calm and self._chance.random() < 0.4
        self.error = Killed() if is_hit else None
        return super().deliver(effect)


def test_a_storm_that_kills_processes_makes_no_delivery_dead(database):
    rounds = [add_round(database, monitor=f"monitor-{place}") for place in range(8)]
    for number in range(12):
        for place, round_id in enumerate(rounds):
            add_effect(database, round_id, f"{place}-{number:02}")
    ops = Storm(seed=3)

    lives(database, ops, 40)
    ops.calm = True
    deliver(database, {"ops": ops, "log": ops}, lambda: MONDAY)

    with database.read() as connection:
        found = connection.execute(select(effects.c.status, effects.c.tries)).all()
    assert ops.failures > 20
    assert {row.status for row in found} == {"done"}
    for place in range(8):
        mine = [key for key in ops.got if key.startswith(f"{place}-")]
        assert mine == [f"{place}-{number:02}" for number in range(12)]


def test_what_was_being_delivered_when_its_process_ended_comes_after_all_else(database):
    add_effect(database, add_round(database), "deadly")
    for place in range(3):
        add_effect(database, add_round(database, monitor=f"monitor-{place}"), f"other-{place}")
    ops = Sink(failing={"deadly": Killed()})

    lives(database, ops, 1)
    before = list(ops.got)
    lives(database, ops, 1)

    assert before == []
    assert ops.got == ["other-0", "other-1", "other-2"]
    assert ops.failures == 2


@pytest.mark.parametrize("kind", [EffectKind.ROUND_RUN, EffectKind.FLEET_POINT])
def test_what_was_delivered_since_a_claim_was_lost_is_delivered_again(database, kind):
    """Whoever lost it may have written an older version over them."""
    round_id = add_round(database)
    for number in (1, 2):
        add_effect(database, round_id, f"version-{number}", sink="mlflow", kind=kind)
    sleeper = claimed_effect(database, stored(database, "version-1").id)
    with database.write() as connection:
        connection.execute(update(effects).values(claimed_until=0))
    mlflow = Sink()
    deliver(database, {"mlflow": mlflow}, lambda: MONDAY)

    with database.write() as connection:
        late = effect_store.finish_effect(connection, sleeper, "late", MONDAY)
        again = effect_admin.retry_effect(connection, sleeper, MONDAY)
    deliver(database, {"mlflow": mlflow}, lambda: MONDAY)

    assert (late, again) == (False, 2)
    assert mlflow.got == ["version-1", "version-2"] * 2
    assert stored(database, "version-2").status == "done"
