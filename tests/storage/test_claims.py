"""Of all workers one has a round at a time, and who lost it can write nothing."""

import json
import os
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, select, text

from monitor.domain.errors import RoundMoved
from monitor.domain.state import RoundState
from monitor.storage import claims as worker
from monitor.storage import schema
from monitor.storage.database import Database, change, clock_ms
from monitor.storage.outbox import effect_store
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.samples import frame_store
from monitor.storage.tables import effects, histories, monitors, rounds
from tests.rounds.scene import MONDAY, WEEK
from tests.storage.rows import (
    MODEL,
    add_effect,
    add_history,
    add_monitor,
    add_round,
    claimed,
    claimed_effect,
    draw,
    read,
    slot_of,
    write,
)
from tests.workers import worker as started_worker

CLAIM = """
from monitor.storage.rounds import round_claims
from monitor.storage.database import Database


def work():
    database, won = Database(sys.argv[1]), []
    for round_id in json.loads(sys.argv[2]):
        with database.write() as connection:
            if round_claims.claim_round(connection, round_id) is not None:
                won.append(round_id)
    return won


"""
CLAIM_AND_STAY = CLAIM + 'work(); pause("done")'


@pytest.fixture
def round_id(database):
    return add_round(database)


def column(database, name, table=rounds):
    return read(database, Connection.scalar, select(table.c[name]))


def run_out(database, table=rounds):
    write(database, change, table, claimed_until=clock_ms() - 1)


def test_a_claim_lasts_by_the_clock_of_the_database(database, round_id):
    times = [time.time()]
    for act in (lambda: None, lambda: claimed(database, round_id)):
        act()
        times.append(read(database, Connection.scalar, select(clock_ms())))

    begun, before, after = times
    assert before <= column(database, "claimed_until") - round_claims.CLAIM_MS <= after
    assert begun - 1 <= before / 1000 <= time.time() + 1


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells that a process is gone")
def test_the_claim_of_a_live_worker_is_not_taken_and_that_of_a_killed_one_at_once(
    database, store_url, round_id
):
    with started_worker(CLAIM_AND_STAY, store_url, json.dumps([round_id])) as other:
        other.wait_for("done")
        of_live = claimed(database, round_id)
        other.kill()

        assert of_live is None
        assert claimed(database, round_id).attempt == 2


def test_the_claim_of_another_machines_worker_has_to_run_out(database, round_id):
    claimed(database, round_id)
    write(database, change, rounds, claimed_by="elsewhere/1/1")

    assert claimed(database, round_id) is None
    run_out(database)
    assert claimed(database, round_id) is not None


def stale_and_fresh(database, round_id):
    """A worker whose claim ran out and was taken over, and the one who has it now."""
    stale = claimed(database, round_id)
    run_out(database)
    return stale, claimed(database, round_id)


def test_a_stale_worker_cannot_hold_move_or_release_its_round(database, round_id):
    stale, fresh = stale_and_fresh(database, round_id)

    def move(claim, before=RoundState.OPEN):
        why = {"reason": "no data", "now": MONDAY}
        write(database, round_transitions.move, claim, before, RoundState.ABANDONED, **why)

    with pytest.raises(RoundMoved, match="taken over"):
        write(database, round_claims.hold, stale)
    with pytest.raises(RoundMoved, match="moved by another worker"):
        move(stale)
    with database.write() as connection:
        round_transitions.note_obstacle(connection, stale, "the source is down", MONDAY)
        round_claims.release_round(connection, stale)
        events = round_transitions.read_events(connection, round_id)
    assert [event["reason"] for event in events] == ["due"]
    assert (column(database, "state"), column(database, "reason")) == ("open", None)
    assert claimed(database, round_id) is None

    write(database, round_claims.hold, fresh)
    with pytest.raises(RoundMoved):  # it is not in that state
        move(fresh, RoundState.LABELING)
    move(fresh)
    assert (column(database, "state"), column(database, "reason")) == ("abandoned", "no data")
    write(database, round_claims.release_round, fresh)
    assert claimed(database, round_id) is not None


def test_an_obstacle_is_noted_once_and_forgotten_when_the_step_succeeds(database, round_id):
    claim = claimed(database, round_id)
    for _ in range(3):
        write(database, round_transitions.note_obstacle, claim, "the source is down", MONDAY)

    events = read(database, round_transitions.read_events, round_id)
    assert [event["reason"] for event in events] == ["due", "the source is down"]
    assert column(database, "reason") == "the source is down"

    write(database, round_claims.hold, claim)
    assert column(database, "reason") is None


def test_a_stale_worker_does_not_write_an_effect_back(database, round_id):
    add_effect(database, round_id, "notice-1")
    stale = claimed_effect(database, 1)
    run_out(database, effects)
    fresh = claimed_effect(database, 1)

    with database.write() as connection:
        assert not effect_store.finish_effect(connection, stale, "late", MONDAY)
        assert not effect_store.put_off_effect(connection, stale, "late", MONDAY + WEEK)
        assert effect_store.finish_effect(connection, fresh, "done", MONDAY)

    assert column(database, "receipt", effects) == "done"
    assert write(database, effect_store.claim_effect, 1, MONDAY, interrupted="") is None


def test_an_older_version_never_becomes_the_latest_again(database, round_id):
    with database.write() as connection:
        estimate_store.set_version(connection, round_id, 2, estimated_revision=7)
        estimate_store.set_version(connection, round_id, 1, estimated_revision=6)

    assert (column(database, "version"), column(database, "estimated_revision")) == (2, 7)


def test_what_several_workers_write_at_once_is_one(database, round_id):
    """A monitor, a slot's round, a history and an effect."""
    monitor_id = add_monitor(database)
    start = threading.Barrier(5)

    def write_all(_):
        start.wait()
        ensured = add_monitor(database, "spam")
        opened = add_round(database, 2)
        add_effect(database, round_id, "notice-1")
        try:
            write(database, add_history, monitor_id)
        except RoundMoved as error:
            return ensured, opened, str(error)
        return ensured, opened, None

    with ThreadPoolExecutor(5) as pool:
        ensured, opened, moved = zip(*pool.map(write_all, range(5)), strict=True)

    with database.read() as connection:
        rounds = round_store.find_rounds(connection, "mail")
        events = round_transitions.read_events(connection, rounds[-1].id)
        names, keys = (
            connection.execute(select(each)).scalars().all()
            for each in (monitors.c.name, effects.c.key)
        )
        assert len(connection.execute(select(histories)).all()) == 1
    assert len(set(ensured)) == 1
    assert sum(each is not None for each in opened) == 1
    assert (sorted(names), keys) == (["mail", "spam"], ["notice-1"])
    assert [round_.slot for round_ in rounds] == [slot_of(1), slot_of(2)]
    assert len(events) == 1
    why = "another round opened this history meanwhile; this one is drawn by its bands"
    assert sorted(moved, key=str) == [None, *[why] * 4]


def test_two_workers_who_write_rounds_in_opposite_order_do_not_lock_each_other_out(postgres_url):
    """On PostgreSQL this was a deadlock; on SQLite all writes follow one another anyway."""
    database = Database(postgres_url)
    schema.ready(database)
    ids = [add_round(database, number) for number in (1, 2)]
    for each in ids:
        draw(database, each)
    claims = {each: claimed(database, each) for each in ids}
    holds = threading.Event()

    def publish(first, second, wait):
        with database.write() as connection:
            round_claims.hold(connection, claims[first])
            wait(connection)
            estimate_store.set_version(connection, first, 1, estimated_revision=1)
            estimate_store.set_version(connection, second, 1, estimated_revision=1)

    def until_the_other_holds_or_waits(_):
        other.start()
        deadline = time.monotonic() + 30
        while not holds.is_set() and not waiting(database):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    failed = []

    def other_way_round():
        try:
            publish(ids[1], ids[0], lambda _: holds.set())
        except Exception as error:  # noqa: BLE001  looked at below
            failed.append(error)

    other = threading.Thread(target=other_way_round)
    publish(ids[0], ids[1], until_the_other_holds_or_waits)
    other.join()
    database.close()

    assert failed == []


def waiting(database):
    """How many connections wait for a lock; PostgreSQL shows one state per transaction."""
    query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
    return read(database, Connection.scalar, text(query))


def test_a_history_of_a_whole_version_is_found_by_both_of_its_spellings(database):
    monitor_id = add_monitor(database)

    def found(version):
        asked = MODEL | {"model_version": version}
        return read(database, frame_store.history_for, monitor_id, **asked, unscored=False)

    for before, now in (("7", "7.0"), ("8.0", "8")):
        write(database, add_history, monitor_id, model_version=before)
        assert found(now).model_version == before
    assert found("7.00") is None


# A worker's name tells others on its machine whether it still runs.


def test_a_process_is_named_by_its_place_its_id_and_its_start():
    place, pid, started = worker.worker_name().split("/")

    assert place.startswith(socket.gethostname())
    assert pid == str(os.getpid())
    assert started
    assert worker.worker_name() == worker.worker_name(os.getpid())
    assert not worker.is_dead(worker.worker_name())
    assert not worker.is_dead(worker.worker_name(os.getppid()))


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@linux
def test_a_process_that_ended_is_gone_even_before_its_parent_looks():
    with started_worker("pause()") as other:
        other.wait_for("ready")
        name = worker.worker_name(other.process.pid)
        alive = worker.is_dead(name)
        other.process.kill()
        os.waitid(os.P_PID, other.process.pid, os.WEXITED | os.WNOWAIT)  # now a zombie
        zombie = worker.is_dead(name)
        other.process.wait()

        assert (alive, zombie, worker.is_dead(name)) == (False, True, True)


@linux
def test_another_process_with_the_same_id_does_not_keep_a_claim():
    place, pid, started = worker.worker_name().split("/")

    assert worker.is_dead(f"{place}/{pid}/{int(started) - 1}")


@pytest.mark.parametrize(
    "name", ["elsewhere/1/1", "", "x", "a/b/c", "{place}/{pid}/?", "{place}/x/1", "{place}"]
)
def test_a_worker_of_whom_nothing_can_be_known_is_not_gone(name):
    place, pid, _ = worker.worker_name().split("/")

    assert not worker.is_dead(name.format(place=place, pid=pid))


@linux
def test_a_process_that_proc_hides_is_not_gone(monkeypatch, tmp_path):
    """As with `hidepid` or systemd's ProtectProc=invisible, for a process of another user."""
    name = worker.worker_name()
    self_only = tmp_path / "proc"
    (self_only / "self").mkdir(parents=True)
    (self_only / "self" / "stat").write_text("")
    place = name.split("/")[0]
    monkeypatch.setattr(worker, "_host", lambda: place)
    monkeypatch.setattr(worker, "_PROC", self_only)

    assert not worker.is_dead(name)


def test_without_proc_no_worker_is_taken_for_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "_PROC", tmp_path)

    name = worker.worker_name()

    assert name == f"{socket.gethostname()}/{os.getpid()}/?"
    assert not worker.is_dead(name)
