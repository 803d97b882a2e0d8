"""Revision 0007 renames a setting of rounds; going back gives what stood there before."""

from __future__ import annotations

import json

import pytest
from alembic import command

from monitor.domain.settings import AuditCounts
from monitor.storage import round_store, schema
from monitor.storage.database import Database
from tests.storage.old_stores import make_old_store, written_rows


@pytest.fixture
def old(store_url):
    database = Database(store_url)
    make_old_store(database, "0006")
    yield database
    database.close()


def frozen_settings(database):
    with database.read() as connection:
        rows = connection.exec_driver_sql("select settings from rounds order by id").all()
    return [json.loads(row[0]) if isinstance(row[0], str) else row[0] for row in rows]


def test_rounds_of_an_older_version_keep_their_audit_under_its_new_name(old):
    schema.upgrade(old)

    with old.read() as connection:
        [round_] = round_store.read_rounds(connection, [1])
    assert round_.settings.audit == AuditCounts(tp=96, fn=4, tn=190, fp=10)
    assert not any("gold" in settings for settings in frozen_settings(old))


def test_going_back_restores_the_settings_as_they_were(old):
    written = sorted(written_rows("0006")["rounds"], key=lambda row: row["id"])

    schema.upgrade(old)
    with old.write() as connection:
        command.downgrade(schema.alembic_config(connection), "0006")

    assert frozen_settings(old) == [row["settings"] for row in written]
