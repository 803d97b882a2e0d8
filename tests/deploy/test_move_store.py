"""A store moves to another database whole, and goes on there."""

import runpy
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages.page_tables import page_users
from monitor.storage.tables import metadata
from tests.rounds.scene import LIMITS, REFERENCE, Scene, settings

PROGRAM = runpy.run_path(str(Path(__file__).parents[2] / "deploy" / "move_store.py"))
MOVE = PROGRAM["move"]
WATCHED = settings(limits=LIMITS, reference=REFERENCE)


def rows_of(database):
    with database.read() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in metadata.sorted_tables
        }


@pytest.mark.parametrize("has_tables", [False, True])
def test_a_store_that_moved_holds_the_same_rows_and_goes_on(tmp_path, store_url, has_tables):
    old = Database(f"sqlite:///{tmp_path}/old.db")
    schema.ready(old)
    scene = Scene(old, WATCHED)
    scene.play(1)
    scene.play(2)
    with old.write() as connection:
        user = {"name": "ada", "token_hash": "x", "role": "admin", "added_at": scene.now}
        connection.execute(insert(page_users).values(user))
    before = rows_of(old)
    new = Database(store_url)
    if has_tables:
        schema.ready(new)

    copied = MOVE(f"sqlite:///{tmp_path}/old.db", store_url)

    assert rows_of(new) == before
    assert (copied["rounds"], copied["page_users"]) == (2, 1)
    scene.database = new
    assert scene.play(3).number == 3
    old.close()
    new.close()


def test_what_cannot_be_moved_is_refused_in_a_sentence(tmp_path):
    old, new = (f"sqlite:///{tmp_path}/{name}.db" for name in ("old", "new"))
    for url in (old, new):
        database = Database(url)
        schema.ready(database)
        database.close()
    MOVE(old, new)
    database = Database(new)
    Scene(database, WATCHED).play(1)
    database.close()

    for arguments, said in (
        ([old], "usage: python deploy/move_store.py FROM TO"),
        ([f"{old}x", new], "there is no file"),
        ([old, new], "has monitors already"),
    ):
        with pytest.raises(SystemExit, match=said):
            PROGRAM["main"](arguments)
    assert not (tmp_path / "old.dbx").exists()
