"""A store that this user may not write is a fault of the place, and one that passes by is not."""

import errno
import os
import sqlite3
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest

from monitor.domain.errors import MonitorError, StoreUnavailable
from monitor.storage import schema
from monitor.storage.database import Database
from tests.nobody import as_nobody

WITHOUT_RIGHTS = 0o555


@pytest.fixture
def folder():
    """A folder whose parents everybody may enter, as pytest's own are not."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def opened_by_nobody(folder):
    """Open the store as a user whom permissions bind, even where root runs the tests."""
    return as_nobody(lambda: said_on_opening(folder))


def said_on_opening(folder):
    try:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        with database.write() as connection:
            connection.exec_driver_sql("delete from round_issues")
        database.close()
    except MonitorError as error:
        return f"{error.exit_code}: {error}"
    except Exception:  # noqa: BLE001  it is told to the other process
        return traceback.format_exc()
    return "opened"


def test_a_folder_that_cannot_be_written_is_for_a_person_to_fix(folder):
    folder.chmod(WITHOUT_RIGHTS)

    said = opened_by_nobody(folder)

    assert said == (
        f"78: store: this user may not write {folder}: unable to open database file. A store is "
        "written by all who use it, in its file and next to it: let this user write both, or name "
        "another place"
    )


def test_a_store_that_another_user_made_is_for_a_person_to_fix(folder):
    assert said_on_opening(folder) == "opened"
    (folder / "monitor.db").chmod(0o444)
    folder.chmod(0o777)

    said = opened_by_nobody(folder)

    assert said.startswith(f"78: store: this user may not write {folder}/monitor.db: attempt to")


def test_a_disk_that_takes_no_writes_for_now_is_for_later(folder, monkeypatch):
    whole = os.statvfs(folder)
    fields = [*whole[:8], whole.f_flag | os.ST_RDONLY, whole.f_namemax]
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(fields))
    folder.chmod(WITHOUT_RIGHTS)

    said = opened_by_nobody(folder)

    assert said == (
        f"75: the store sqlite:///{folder}/monitor.db cannot be used now: {folder} is on a disk "
        "that takes no writes (unable to open database file). Nothing changed; running again is "
        "safe"
    )


def test_a_store_that_is_a_folder_is_named(folder):
    (folder / "monitor.db").mkdir()

    said = said_on_opening(folder)

    assert said == (
        f"78: store: {folder}/monitor.db cannot be written: is a directory. Name a file in a "
        "folder that this user may write"
    )


def test_a_folder_in_which_no_file_can_be_made_is_named():
    said = said_on_opening(Path("/proc"))

    assert said.startswith("78: store: /proc cannot be written: no such file or directory. Name")


def test_a_full_disk_is_for_later(folder, monkeypatch):
    (folder / "monitor.db").mkdir()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "open", mock.Mock(side_effect=full))

    assert "cannot be used now" in said_on_opening(folder)


def test_a_folder_that_may_be_written_says_nothing_of_rights(folder, monkeypatch):
    def refuse(*_, **__):
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    monkeypatch.setattr(sqlite3.dbapi2, "connect", refuse)

    assert "cannot be used now" in said_on_opening(folder)


def test_secrets_in_an_address_and_its_options_are_shown_nowhere():
    address = "postgresql+psycopg://me:canary@127.0.0.1:1/db?password=canary&sslpassword=canary"
    database = Database(address)

    with pytest.raises(StoreUnavailable, match="cannot be used now") as error, database.read():
        pass

    assert database.shown.count("***") == 3
    assert "canary" not in f"{database.shown} {error.value}"
