"""R10: a store of any released version is upgraded, killed at each statement, and goes on."""

from collections import Counter
from datetime import timedelta

import pytest

from monitor.domain.model import Answer
from monitor.rounds.delivery import deliver
from monitor.stats.detection.recovery import Recovery
from monitor.storage import schema
from monitor.storage.database import Database
from tests.faults.sizes import SOAK
from tests.rounds.scene import MONDAY, WEEK, Scene, settings
from tests.rounds.sinks import Sink
from tests.storage.old_stores import (
    REVISIONS,
    columns_of,
    make_old_store,
    newer_program,
    rows_of,
    written_rows,
)
from tests.workers import lives_until_one_is_whole

# Each line is a life of `pr-monitor db upgrade`, which kills itself at its n-th point: before each
# statement that writes, and around the commit; in the soak also after each, and around reads.
LIVES = """
from pathlib import Path

from sqlalchemy import event

from monitor.storage import schema
from monitor.storage.database import Database
import alembic.command, alembic.autogenerate

url, all_of_them = sys.argv[1], sys.argv[2] == "True"
schema.migrations_folder = lambda: Path(sys.argv[3])
WRITES = ("alter", "create", "delete", "drop", "insert", "update")


def live(last):
    point = killed_at(last)

    def statement(connection, cursor, sql, *_):
        if all_of_them or sql.split()[0].lower() in WRITES:
            point()

    database = Database(url)
    event.listen(database.engine, "before_cursor_execute", statement)
    if all_of_them:
        event.listen(database.engine, "after_cursor_execute", point)
    event.listen(database.engine, "commit", point)
    schema.upgrade(database)
    point()


lives(live)
"""


NEXT = """
import sqlalchemy as sa
from alembic import op


def upgrade():
    op.create_table("added", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("rounds", sa.Column("added", sa.Integer()))
    op.execute("update rounds set added = number")
"""
"""What stands for the migration of the next release."""

SHOWN = "select distinct r.number from payloads p join rounds r on r.id = p.round_id"


KILLED = REVISIONS if SOAK else [*{REVISIONS[0]: None, REVISIONS[-1]: None}]
"""Versions from which upgrades are killed: an upgrade from the oldest runs through all others."""


@pytest.fixture(params=REVISIONS)
def revision(request):
    return request.param


@pytest.fixture
def old(store_url, revision):
    """A store of that version with rounds in each state."""
    database = Database(store_url)
    make_old_store(database, revision)
    yield database
    database.close()


def lose_every_life(old, revision, folder):
    """Upgrade and die, further on each time, until an upgrade lives; tell what was left."""
    wanted = columns_of(revision)
    before = rows_of(old, wanted)
    url = old.engine.url.render_as_string(hide_password=False)
    return [
        (code, schema.current_revision(old), rows_of(old, wanted) == before)
        for code in lives_until_one_is_whole(LIVES, url, SOAK, folder)
    ]


@pytest.mark.parametrize("revision", KILLED)
def test_an_upgrade_killed_at_each_statement_loses_no_row_and_the_next_one_completes(
    old, revision, monkeypatch, tmp_path
):
    folder = newer_program(monkeypatch, tmp_path / "migrations", NEXT)

    [*killed, last] = lives = lose_every_life(old, revision, folder)

    head = schema.current_revision(old)
    schema.check(old)
    assert len(killed) >= 4  # before and after what one new table takes, and the commit
    assert {code for code, *_ in killed} == {-9}
    assert all(kept for *_, kept in lives)
    assert {at for _, at, _ in killed} <= {revision, head}
    assert last == (0, head, True)


def test_the_rounds_of_an_old_store_and_its_evidence_of_recovery_go_on_to_their_end(old, revision):
    before = Counter(row["state"] for row in written_rows(revision)["rounds"])
    events = len(written_rows(revision)["label_events"])
    kept = [row["log_r"] for row in written_rows(revision)["evidence"] if row["recovery_rounds"]]
    schema.upgrade(old)

    scene = resume(old)
    found = scene.overview().recoveries
    upgraded = sorted(row.rounds for row in found.values())
    scene.run(7)
    answer_all(scene)
    scene.run()
    sinks = {name: Sink() for name in ("mlflow", "log", "ops")}
    deliver(old, sinks, lambda: scene.now)

    assert before == {"closed": 3, "abandoned": 1, "skipped": 1, "labeling": 1, "open": 1}
    assert [(scene.round(n).state, scene.round(n).version) for n in range(1, 8)] == [
        *[("closed", 1)] * 2,
        *(("abandoned", 0), ("skipped", 0)),
        *(("closed", 2), ("closed", 1), ("closed", 1)),
    ]
    assert scene.rows("select distinct status from effects") == [{"status": "done"}]
    assert scene.rows("select count(*) as n from label_events")[0]["n"] >= events + 20
    waiting = [row for row in written_rows(revision)["effects"] if row["status"] == "waiting"]
    told = [key for sink in sinks.values() for key in sink.got]
    assert {row["key"] for row in waiting} <= set(told)
    assert len(told) == len(set(told))
    rows = [row for row in scene.closings().values() if row["recovery_rounds"]]
    assert upgraded == [0, 1]  # recall has fired since
    assert [row["recovery_rounds"] for row in rows] == [1, 2, 3]
    assert rows[0]["log_r"] == kept[0]
    assert [row["log_r"] for row in rows] == pytest.approx(gathered(rows))

    scene.now = scene.round(1).closed_at + timedelta(days=91)
    scene.settings = scene.settings.model_copy(update={"grace": timedelta(0)})  # no rows by then
    scene.run()

    shown = {row["number"] for row in scene.rows(SHOWN)}
    assert 1 not in shown, "late labels are waited for as long as they were"
    assert 5 in shown


def gathered(rows):
    """Evidence of recovery after each of these rounds, gathered from nothing."""
    found, recovery = [], Recovery()
    for row in rows:
        recovery = recovery.updated(row["log_recovery"])
        found.append(recovery.log_r)
    return found


def resume(database):
    """Go on with the monitor whose rounds these are, with its settings of then."""
    scene = Scene(database, settings())
    scene.settings = scene.round(1).settings
    for number in range(1, 8):
        scene.week(number)
    scene.now = MONDAY + 6 * WEEK
    return scene


def answer_all(scene):
    for row in scene.rows(
        "select i.id, i.predicted, r.number from items i join rounds r on r.id = i.round_id"
        " where r.number = 7"
    ):
        scene.labeler.answers[row["id"]] = Answer.POSITIVE if row["predicted"] else Answer.NEGATIVE
