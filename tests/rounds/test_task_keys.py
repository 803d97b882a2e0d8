"""Keys of tasks: each its own, and the same again whenever a round is drawn again."""

from datetime import timedelta

from sqlalchemy import select, update

from monitor.domain.block import Block
from monitor.domain.state import RoundState
from monitor.rounds.opening.due import redo_abandoned
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import items, monitors, rounds, store, tasks
from tests.rounds.scene import MONDAY, Scene, settings

TOPICS = ("travel", "finance")


def block(database, topics=TOPICS):
    """Make a monitor for each topic of a block, all of the same predictions."""
    scenes = []
    for topic in topics:
        member = Block(name="mail", kind="for_each", value=topic, values=TOPICS)
        scene = Scene(database, settings(block=member), name=f"mail-{topic}")
        scene.week(1)
        scenes.append(scene)
    return scenes


def keys(database):
    """Read the keys of each monitor's tasks, by item."""
    query = (
        select(monitors.c.name, tasks.c.item_id, tasks.c.key)
        .select_from(tasks.join(items).join(rounds, rounds.c.id == tasks.c.round_id))
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
    )
    with database.read() as connection:
        return {(name, item): key for name, item, key in connection.execute(query)}


def test_rounds_of_a_block_that_are_done_again_outside_of_it_share_no_key(database):
    scenes = block(database)
    for scene in scenes:
        scene.run(1)
        scene.run(later=timedelta(days=6))  # past the deadline, without a label
        assert scene.round(1).state is RoundState.ABANDONED

    for scene in scenes:
        scene.settings = settings()  # a plain monitor of the same name
        redo_abandoned(scene.context, MONDAY, scene.settings, "asked for")
        scene.run()

    assert [scene.round(1).state for scene in scenes] == [RoundState.LABELING] * 2
    found = keys(database)
    assert len({item for _, item in found}) == len(found) / 2  # they have one seed still
    assert len({*found.values()}) == len(found)


def test_a_restored_store_that_meets_the_monitors_in_another_order_makes_the_same_keys(
    database, tmp_path
):
    restored = Database(f"sqlite:///{tmp_path}/restored.db")
    schema.ready(restored)
    with database.read() as connection, restored.write() as other:
        other.execute(update(store).values(id=schema.store_id(connection)))
    for scene in block(database):
        scene.run(1)

    for scene in block(restored, TOPICS[::-1]):
        scene.run(1)

    assert keys(restored) == keys(database)
    restored.close()
