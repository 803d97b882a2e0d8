"""R6: the database is cut off around COMMIT, crashes, is full or locked; rounds go on."""

from contextlib import ExitStack

import pytest

from monitor.domain.errors import StoreUnavailable
from monitor.storage import schema
from monitor.storage.database import Database
from tests.faults.sizes import sized
from tests.servers import stoppable_postgres


def test_connections_cut_around_commit_lose_and_double_nothing(lives):
    """A COMMIT, or its answer, never arrives."""
    done = lives("cut_off", store="postgresql", count=sized(small=2, soak=1000), seed=6)

    assert done["violations"] == []
    assert done["told"] >= done["cuts"] / 2


def test_a_full_disk_and_a_lock_are_told_in_a_sentence_and_lose_nothing(lives):
    pages = sized(small=2, soak=20)

    done = lives("file_faults", store="sqlite", pages=list(range(pages)))

    assert done["violations"] == []
    for what in ("database or disk is full", "database is locked"):
        told = [each for each in done["told"] if what in each]
        assert len(told) >= pages / 2
        assert all("monitor.db cannot be used now" in each for each in told)
        assert all(each.startswith("StoreUnavailable (75)") for each in told)
        assert not any("\n" in each for each in told)


def test_a_server_that_crashes_during_rounds_loses_and_doubles_nothing(lives):
    with stoppable_postgres() as server:
        done = lives(
            "server_restarts",
            server=server.url,
            runs=sized(small=1, soak=40),
            seed=6,
            control=server.control,
            folder_of_server=str(server.folder),
            port=server.port,
        )

    assert done["violations"] == []
    assert done["told"] > 0


def test_a_read_only_store_is_told_in_a_sentence(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/monitor.db")
    schema.ready(database)
    database.close()
    database = Database(f"sqlite:///file:{tmp_path}/monitor.db?mode=ro&uri=true")

    with pytest.raises(StoreUnavailable, match=r"cannot be used now: .*readonly.*running again"):
        run(database, "delete from rounds")

    database.close()


def test_a_connection_that_was_closed_or_lost_in_a_transaction_is_for_later_and_no_bug(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/monitor.db")

    with pytest.raises(StoreUnavailable, match="closed database"), database.read() as connection:  # noqa: PT012
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.close()
        connection.exec_driver_sql("select 1")
    with pytest.raises(StoreUnavailable, match="was lost"), database.read() as connection:  # noqa: PT012
        connection.invalidate()
        connection.exec_driver_sql("select 1")

    database.close()


def run(database, statement):
    with database.write() as connection:
        connection.exec_driver_sql(statement)


def test_a_deadlock_a_lock_and_a_standby_are_for_later_and_no_bug(postgres_url):
    """Serialization failures and deadlocks, as PostgreSQL raises them."""
    database = Database(postgres_url)

    for state in ("40001", "40P01", "55P03", "25006", "53100", "57P01", "25P02", "XX000", "XX001"):
        raised = f"do $$ begin raise exception 'as asked' using errcode = '{state}'; end $$"
        with pytest.raises(StoreUnavailable, match="running again is safe"):
            run(database, raised)

    database.close()


def test_a_transaction_of_a_stopped_process_ends_by_itself(postgres_url, monkeypatch):
    """Its locks would else hold up all others, for hours where its machine is gone."""
    schema.ready(sleeper := Database(postgres_url))
    other = Database(postgres_url)
    idle_ms = "monitor.storage.database._IDLE_MS"

    with pytest.raises(StoreUnavailable, match="idle"), ExitStack() as stack:  # noqa: PT012
        with monkeypatch.context() as patch:
            patch.setattr(idle_ms, 50)
            stopped = stack.enter_context(sleeper.write())
        stopped.exec_driver_sql("lock table rounds")
        run(other, "lock table rounds")
        stopped.exec_driver_sql("select 1")

    sleeper.close()
    other.close()
