"""A SQLite file that may only be read: read without its log, or refused with what to do."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.sources.sql import SqlDatabase
from monitor.sources.table_settings import Columns, SqlSettings
from tests.nobody import as_nobody

COLUMNS = Columns(id="id", time="time", score="score")
READ_ONLY = 0o555


@pytest.fixture
def folder():
    """A folder whose parents everybody may enter, as pytest's own are not."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def database_of(folder, options=""):
    settings = SqlSettings(
        url=f"sqlite:///{folder}/p.db{options}", table="t", columns=COLUMNS, threshold=0.5
    )
    return SqlDatabase(settings, folder, "table")


def write(path, mode, rows=3):
    """Write rows and leave the connection open, as a service does."""
    connection = sqlite3.connect(path)
    connection.execute(f"pragma journal_mode={mode}")
    connection.execute("create table if not exists t(id, time, score)")
    connection.executemany("insert into t values(?, 1, 1)", [(i,) for i in range(rows)])
    connection.commit()
    return connection


def counted(folder, options=""):
    """Return how many rows are read, or why none are."""
    try:
        with database_of(folder, options).reading() as reading:
            return str(reading.connection.exec_driver_sql("select count(*) from t").scalar())
    except MonitorError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_file_in_a_folder_that_may_only_be_read_is_read(folder, mode):
    write(folder / "p.db", mode).close()
    folder.chmod(READ_ONLY)

    assert as_nobody(lambda: counted(folder)) == "3"
    assert [path.name for path in folder.iterdir()] == ["p.db"]


def test_an_empty_log_beside_such_a_file_is_no_obstacle(folder):
    write(folder / "p.db", "wal").close()
    (folder / "p.db-wal").touch(mode=0o444)
    folder.chmod(READ_ONLY)

    assert as_nobody(lambda: counted(folder)) == "3"


def test_what_is_in_the_log_beside_such_a_file_is_read_too(folder):
    with closing(write(folder / "p.db", "wal")):
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(READ_ONLY)

        assert as_nobody(lambda: counted(folder)) == "3"


def test_a_file_that_was_left_in_the_middle_of_a_write_is_refused_with_what_to_do(folder):
    connection = write(folder / "begun.db", "delete", rows=5000)
    connection.execute("pragma cache_size=1")
    connection.execute("update t set score = 2")  # its journal lies beside the file now
    for name in ("begun.db", "begun.db-journal"):
        shutil.copy(folder / name, folder / name.replace("begun", "p"))
    connection.close()
    folder.chmod(READ_ONLY)

    text = as_nobody(lambda: counted(folder))

    assert text.startswith("SourceRefused: ")
    assert f"Let this user write the folder {folder}" in text


def test_a_file_that_changes_while_it_is_read_without_a_lock_is_read_again(folder, monkeypatch):
    write(folder / "p.db", "wal").close()
    monkeypatch.setattr(os, "access", lambda *_: False)

    def read_while_another_writes():
        with database_of(folder).reading() as reading:
            reading.connection.exec_driver_sql("select count(*) from t").scalar()
            write(folder / "p.db", "wal").close()

    with pytest.raises(SourceUnavailable, match="changed while it was read"):
        read_while_another_writes()


def test_an_option_of_the_address_is_kept(folder):
    with closing(write(folder / "p.db", "wal")):
        assert counted(folder) == "3"
        assert "no such table" in counted(folder, "?immutable=1")  # its rows are in the log


@pytest.mark.parametrize("option", ["mode=rw", "mode=memory", "timeuot=5", "cache=a&cache=b"])
def test_an_option_that_would_be_dropped_is_refused(folder, option):
    write(folder / "p.db", "delete").close()

    with (
        pytest.raises(SourceRefused, match=f"has the option '{option.partition('=')[0]}'"),
        database_of(folder, f"?{option}").reading(),
    ):
        pass
