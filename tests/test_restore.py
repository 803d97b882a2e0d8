"""A backup is of one moment; restored, nothing is lost and nothing is doubled."""

import re
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from sqlalchemy import text

from monitor import wiring
from monitor.config.load import load_config
from monitor.service import loop
from monitor.storage import schema, sqlite_file
from monitor.storage.database import Database
from tests.coarse import coarsely  # noqa: F401  a fixture
from tests.hooks.receivers import Receiver
from tests.small_config import HOOKS, configure, fill_labels, rows, runs

SECRET = "a secret of twenty-four bytes"  # noqa: S105  made up


def once(folder):
    """Do what `pr-monitor run-once` does."""
    application = wiring.build(load_config(folder / "config.yaml"))
    schema.ready(application.database)
    done = loop.one_pass(application, application.monitors)
    application.database.close()
    return done.exit_code


def told(receiver):
    """Ids of the notices that came, in their order."""
    return [headers["webhook-id"] for _, headers, _ in receiver.got]


def test_what_was_told_after_the_backup_is_told_again_under_the_same_ids(folder, monkeypatch):
    with Receiver(204) as receiver:
        monkeypatch.setenv("OPS_HOOK", receiver.url)
        monkeypatch.setenv("OPS_HOOK_SECRET", SECRET)
        configure(folder, more=HOOKS)
        assert once(folder) == 0
        store = Database(f"sqlite:///{folder}/monitor.db")
        sqlite_file.back_up(store, folder / "copy.db")
        store.close()
        nobody_can_tell(folder)
        assert once(folder) == 0
        before, first = told(receiver), counts(folder / "monitor.db")

        for each in folder.glob("monitor.db*"):
            each.unlink()
        shutil.copy(folder / "copy.db", folder / "monitor.db")
        restored = counts(folder / "monitor.db")
        assert once(folder) == 0
        after = told(receiver)[len(before) :]

    assert len(before) == 1
    assert after == before
    assert restored["label_events"] == restored["effects"] == 0
    assert counts(folder / "monitor.db") == first
    assert [len(runs(folder, name)) for name in ("monitor/mail",)] == [1]


def nobody_can_tell(folder):
    """Let people answer so that the round is abandoned, of which hooks are told."""
    fill_labels(folder)
    [filled] = (folder / "labels" / "filled").iterdir()
    filled.write_text(re.sub(r",[01],ada", ",cannot tell,ada", filled.read_text()))


def test_a_restored_store_goes_on_with_rounds_that_were_opened_after_the_backup(folder):
    configure(folder)
    database = Database(f"sqlite:///{folder}/monitor.db")
    schema.ready(database)
    sqlite_file.back_up(database, folder / "copy.db")
    once(folder)
    drawn = rows(database, "select round_id, id from items order by id")
    fill_labels(folder)
    once(folder)
    database.close()

    moved = folder / "elsewhere"
    shutil.copytree(folder, moved, ignore=shutil.ignore_patterns("monitor.db*", "elsewhere"))
    shutil.copy(folder / "copy.db", moved / "monitor.db")
    codes = [once(moved), once(moved)]

    again = Database(f"sqlite:///{moved}/monitor.db")
    assert codes == [0, 0]
    assert rows(again, "select round_id, id from items order by id") == drawn
    assert rows(again, "select state, version from rounds") == [("closed", 1)]
    assert [len(runs(moved, name)) for name in ("monitor/mail", "monitor")] == [1, 1]
    again.close()


def counts(path):
    """How many rows each table holds."""
    with closing(sqlite3.connect(path)) as connection:
        names = ("rounds", "items", "label_events", "counts", "estimates", "alerts", "effects")
        sql = "select count(*) from "
        return {name: connection.execute(sql + name).fetchone()[0] for name in names}


def test_a_backup_taken_while_others_write_is_of_one_moment(tmp_path):
    """Two rows are always written together; a copy never has one of them."""
    database = Database(f"sqlite:///{tmp_path}/monitor.db")
    schema.ready(database)
    with database.write() as connection:
        connection.execute(text("create table pairs (number integer, half integer)"))

    def write(number):
        with database.write() as connection:
            for half in (1, 2):
                connection.execute(
                    text("insert into pairs values (:n, :h)"), {"n": number, "h": half}
                )

    with ThreadPoolExecutor(1) as pool:
        writing = [pool.submit(write, number) for number in range(200)]
        for number in range(5):
            sqlite_file.back_up(database, tmp_path / f"{number}.db")
        for each in writing:
            each.result()
    database.close()

    found = []
    for number in range(5):
        with closing(sqlite3.connect(tmp_path / f"{number}.db")) as copy:
            sql = "select count(*), count(distinct number) from pairs"
            found.append(copy.execute(sql).fetchone())
            assert copy.execute("pragma integrity_check").fetchone() == ("ok",)
    assert [whole for whole, _ in found] == [2 * pairs for _, pairs in found]
    assert found == sorted(found)
