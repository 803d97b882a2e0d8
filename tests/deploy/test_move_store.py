"""A store moves to another database whole, and goes on there."""

from __future__ import annotations

import runpy
from pathlib import Path

from sqlalchemy import select

from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import metadata
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings

MOVE = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "move_store.py"))["move"]
WATCHED = settings(limits=LIMITS, reference=REFERENCE)


def rows_of(database):
    with database.read() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in metadata.sorted_tables
        }


def test_a_store_that_moved_holds_the_same_rows_and_goes_on(tmp_path, store_url):
    old = Database(f"sqlite:///{tmp_path}/old.db")
    schema.ready(old)
    scene = Scene(old, WATCHED)
    scene.play(1)
    scene.play(2)
    before = rows_of(old)

    copied = MOVE(f"sqlite:///{tmp_path}/old.db", store_url)

    new = Database(store_url)
    assert rows_of(new) == before
    assert copied["rounds"] == 2
    scene.database = new
    assert scene.play(3).number == 3
    old.close()
    new.close()
