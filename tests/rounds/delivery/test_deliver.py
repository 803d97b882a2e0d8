"""Effects are delivered in order, once each, and what is down holds up only itself."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import EffectKind
from monitor.rounds.delivery import deliver
from monitor.storage.database import clock_ms
from monitor.storage.tables import effects
from tests.rounds.scene import MONDAY
from tests.rounds.sinks import Sink
from tests.storage.rows import add_effect, add_round
from tests.workers import worker as started_worker

MINUTE = timedelta(minutes=1)


class Clock:
    def __init__(self):
        self.now = MONDAY

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def round_id(database):
    return add_round(database)


def stored(database, *columns):
    query = select(*(effects.c[name] for name in columns)).order_by(effects.c.id)
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(query)]


def down(message="it does not answer"):
    return DeliveryFailed(message)


def refused(message="it does not like this one"):
    return DeliveryFailed(message, sink_down=False)


def test_a_queue_is_delivered_whole_in_its_order_and_once(database, round_id, clock):
    keys = [f"notice-{number:02}" for number in range(12)]
    for key in reversed(keys):
        add_effect(database, round_id, key)
    ops = Sink()

    result = deliver(database, {"ops": ops}, clock)
    add_effect(database, round_id, "notice-00")
    again = deliver(database, {"ops": ops}, clock)

    assert ops.got == keys[::-1]
    assert (result.done, result.failed, again.done) == ({"ops": 12}, {}, {})
    assert set(stored(database, "status", "done_at")) == {("done", MONDAY)}
    assert ("took notice-00",) in stored(database, "receipt")


def test_a_sink_that_is_down_is_asked_once_while_others_go_on(database, round_id, clock):
    other_monitor = add_round(database, monitor="spam")
    for number in (1, 2):
        add_effect(database, round_id, f"mail-{number}", sink="ops")
        add_effect(database, other_monitor, f"spam-{number}", sink="ops")
        add_effect(database, round_id, f"log-{number}", sink="log")
    ops, log = Sink(failing={key: down() for key in ("mail-1", "spam-1")}), Sink()

    result = deliver(database, {"ops": ops, "log": log}, clock)

    assert ops.asked == 1
    assert log.got == ["log-1", "log-2"]
    assert (result.done, result.failed) == ({"log": 2}, {"ops": "it does not answer"})


def test_a_head_that_is_refused_or_breaks_its_handler_holds_up_only_its_own_queue(
    database, round_id, clock
):
    chat, spam = (add_round(database, monitor=name) for name in ("chat", "spam"))
    for name, of in (("mail", round_id), ("chat", chat), ("spam", spam)):
        for number in (1, 2):
            add_effect(database, of, f"{name}-{number}")
    ops = Sink(failing={"mail-1": KeyError("canary-secret"), "chat-1": refused()})

    result = deliver(database, {"ops": ops}, clock)

    assert ops.got == ["spam-1", "spam-2"]
    assert [status for (status,) in stored(database, "status")] == ["waiting"] * 4 + ["done"] * 2
    (error, tries, next_try), *_ = stored(database, "last_error", "tries", "next_try")
    assert error == (
        "ops did not take notice: its handler broke with KeyError; the log says where. "
        "It is tried again"
    )
    assert tries == 1
    assert result.failed["ops"] in {error, "it does not like this one"}
    assert MINUTE * 3 / 4 <= next_try - MONDAY <= MINUTE


def test_notices_come_before_mlflow_also_those_that_are_written_meanwhile(
    database, round_id, clock
):
    got: list[str] = []
    for number in (1, 2):
        add_effect(database, round_id, f"run-{number}", sink="mlflow", kind=EffectKind.ROUND_RUN)
        add_effect(database, round_id, f"notice-{number}", sink="ops")

    def alert(effect):
        if effect.key == "run-1":
            add_effect(database, round_id, "notice", sink="ops")

    deliver(database, {"mlflow": Sink(got), "ops": Sink(got)}, clock, on_delivered=alert)

    assert got == ["notice-1", "notice-2", "run-1", "notice", "run-2"]


def test_the_waits_between_tries_double_from_a_minute_up_to_an_hour(database, round_id, clock):
    add_effect(database, round_id, "notice-1")
    ops = Sink(failing={"notice-1": down()})
    waits = []

    for _ in range(9):
        deliver(database, {"ops": ops}, clock)
        [(next_try,)] = stored(database, "next_try")
        waits.append((next_try - clock.now) / MINUTE)
        clock.now = next_try

    whole = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert all(0.75 * most <= wait <= most for wait, most in zip(waits, whole, strict=True))
    assert stored(database, "tries", "last_error") == [(9, "it does not answer")]


@pytest.mark.parametrize(
    ("asked", "minutes"), [(timedelta(minutes=7), 7), (timedelta(hours=5), 60)]
)
def test_a_sink_that_asks_for_it_is_left_alone_by_every_queue_but_not_over_an_hour(
    database, round_id, clock, asked, minutes
):
    other_monitor = add_round(database, monitor="spam")
    add_effect(database, round_id, "mail-1")
    add_effect(database, other_monitor, "spam-1")
    add_effect(database, other_monitor, "log-1", sink="log")
    ops = Sink(failing={"mail-1": DeliveryFailed("too many requests", retry_after=asked)})

    deliver(database, {"ops": ops}, clock)

    wait = MONDAY + minutes * MINUTE
    assert ops.asked == 1
    assert stored(database, "key", "next_try") == [
        ("mail-1", wait),
        ("spam-1", wait),
        ("log-1", MONDAY),
    ]


def test_queues_that_failed_together_do_not_knock_together(database, clock):
    for number in range(8):
        add_effect(database, add_round(database, monitor=f"m{number}"), f"notice-{number}")
    ops = Sink(failing={f"notice-{number}": refused() for number in range(8)})

    deliver(database, {"ops": ops}, clock)

    assert len(set(stored(database, "next_try"))) >= 7


def test_a_queue_whose_next_try_is_in_the_future_has_no_turn(database, round_id, clock):
    for number in (1, 2):
        add_effect(database, round_id, f"notice-{number}")
    ops = Sink(failing={"notice-1": down()})
    deliver(database, {"ops": ops}, clock)
    ops.failing = {}

    [(next_try, _)] = stored(database, "next_try", "key")[:1]
    clock.now = next_try - timedelta(seconds=1)
    too_early = deliver(database, {"ops": ops}, clock)
    clock.now += timedelta(seconds=1)
    in_time = deliver(database, {"ops": ops}, clock)

    assert (too_early.done, too_early.failed) == ({}, {})
    assert in_time.done == {"ops": 2}
    assert ops.got == ["notice-1", "notice-2"]


def test_of_two_deliverers_at_once_each_effect_goes_to_one(database, round_id, clock):
    keys = [f"notice-{number:02}" for number in range(20)]
    for key in keys:
        add_effect(database, round_id, key)
    got: list[str] = []
    start = threading.Barrier(2)

    def work():
        start.wait()
        while any(status == "waiting" for (status,) in stored(database, "status")):
            deliver(database, {"ops": Sink(got)}, clock)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert got == keys
    assert set(stored(database, "attempt")) == {(1,)}


def test_the_write_back_of_a_deliverer_that_was_overtaken_is_dropped(database, round_id, clock):
    """It was stopped for longer than its claim lasts, and another delivered meanwhile."""
    add_effect(database, round_id, "notice-1")
    got: list[str] = []

    class Stopped:
        def deliver(self, _effect):
            with database.write() as connection:
                connection.execute(update(effects).values(claimed_until=clock_ms() - 1))
            clock.now += MINUTE
            deliver(database, {"ops": Sink(got)}, clock)
            return "late"

    deliver(database, {"ops": Stopped()}, clock)

    assert got == ["notice-1"]
    assert stored(database, "receipt", "attempt") == [("took notice-1", 2)]


def test_a_deliverer_asked_to_stop_finishes_what_it_holds_and_no_more(database, round_id, clock):
    for number in range(3):
        add_effect(database, round_id, f"notice-{number}")
    ops = Sink()

    deliver(database, {"ops": ops}, clock, stopping=lambda: len(ops.got) == 2)

    assert ops.got == ["notice-0", "notice-1"]
    assert [status for (status,) in stored(database, "status")] == ["done", "done", "waiting"]
    assert stored(database, "claimed_by") == [(None,)] * 3


DELIVER = """
from datetime import datetime
from monitor.rounds.delivery import deliver
from monitor.storage.database import Database

class Dying:
    def deliver(self, effect):
        print(effect.key)
        pause("delivered")
        return "never written back"

now = datetime.fromisoformat(sys.argv[2])
deliver(Database(sys.argv[1]), {"ops": Dying()}, lambda: now)
"""


def test_who_dies_between_delivery_and_write_back_is_followed_by_one_with_the_same_key(
    database, store_url, round_id, clock
):
    add_effect(database, round_id, "notice-1")
    with started_worker(DELIVER, store_url, MONDAY.isoformat()) as replica:
        first = replica.wait_for("delivered")
        replica.kill()
    ops = Sink()

    deliver(database, {"ops": ops}, clock)

    assert first == ops.got == ["notice-1"]
    assert stored(database, "receipt", "attempt") == [("took notice-1", 2)]
