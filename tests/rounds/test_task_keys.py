"""Keys of tasks: the same again whenever a round is drawn again."""

from sqlalchemy import select, update

from monitor.domain.block import Block
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import items, monitors, rounds, store, tasks
from tests.rounds.scene import Scene, settings

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
