"""Write down a store as this version fills it, for `tests/faults/test_r10_upgrades.py`.

Run once before a version with a new schema is released, in a checkout of that version:
``PYTHONPATH=. python tests/storage/released/write.py`` writes ``<revision>.json`` beside this file.
The store holds a round in each state: closed with effects that wait, closed with a late label that
no estimate has seen, abandoned, skipped, half labeled, and just opened. Somebody is on the labeling
page, and has answered one of two tasks there.
"""

import json
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import MetaData, insert, select, update

from monitor.domain.model import Answer, Task
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import Limits
from monitor.rounds.delivery import deliver
from monitor.rounds.opening import due
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.pages import page_store
from monitor.storage.pages.page_store import PageRound
from monitor.storage.pages.page_tables import page_sessions
from monitor.storage.tables import store
from tests.rounds.scene import Scene, settings
from tests.rounds.sinks import Sink

STORE_ID = "00000000-0000-4000-8000-000000000000"


def play(database):
    """Fill an empty store."""
    limits = Limits.model_validate({"precision": 0.7, "recall": 0.9})
    sample = Sample(max_labels=20, bands=Bands(flagged=1, passed=1))
    asked = settings(sample=sample, limits=limits, hooks=("ops",))
    scene = Scene(database, asked)
    scene.play(1, precision=0.05)
    deliver(database, {"mlflow": Sink()}, lambda: scene.now)
    scene.play(2, precision=0.05)
    scene.week(3)
    scene.run(3)
    scene.now += timedelta(days=6)  # past the deadline, without a label
    scene.run()
    scene.week(4)
    scene.play(5)  # the slot of round 4 is missed
    scene.week(6)
    scene.run(6)
    scene.answer(share=0.5)
    first = min(task.item_id for task in scene.labeler.sent[scene.round(5).name].values())
    scene.labeler.answers[first] = Answer.CANNOT_TELL
    scene.collect(5, 6)
    scene.now += timedelta(days=7)
    due.open_due(scene.context)
    come_in(database, "ada", scene.now + timedelta(hours=12))
    label(database, "ada", scene.now)


def come_in(database, annotator, until):
    """Let somebody onto the labeling page."""
    session = {"digest": "0" * 64, "annotator": annotator, "expires_at": until}
    with database.write() as connection:
        connection.execute(insert(page_sessions).values(session))


def label(database, annotator, now):
    """Put a round on the labeling page, and let somebody answer its first task."""
    tasks = [Task(f"t{place}", f"item-{place}", {"text": "a trip to Rome"}) for place in range(2)]
    with database.write() as connection:
        page_store.open_round(connection, PageRound("page-1", "Is it about travel?", None), now)
        page_store.add_tasks(connection, "page-1", tasks)
        page_store.record_answer(connection, "t0", annotator, Answer.POSITIVE, before=None, now=now)


def rows(database):
    """Read all rows of all our tables, as JSON can hold them."""
    reflected = MetaData()
    with database.read() as connection:
        reflected.reflect(connection)
        return {
            table.name: [
                {name: _plain(value) for name, value in row.items()}
                for row in connection.execute(select(table)).mappings()
            ]
            for table in reflected.sorted_tables
            if table.name != schema.VERSION_TABLE
        }


def _plain(value):
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if isinstance(value, datetime) else value


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        with database.write() as connection:
            connection.execute(update(store).values(id=STORE_ID))
        play(database)
        with database.read() as connection:
            revision = connection.exec_driver_sql(f"select * from {schema.VERSION_TABLE}").scalar()
        written = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent) / f"{revision}.json"
        lines = ",\n".join(
            f"{json.dumps(name)}: [{','.join(chr(10) + json.dumps(row) for row in found)}]"
            for name, found in rows(database).items()
        )
        written.write_text(f"{{\n{lines}\n}}\n")
        database.close()
    print(written)  # noqa: T201
