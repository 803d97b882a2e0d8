"""Migrations make the tables and views of this program, whole or not at all, and no others."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from threading import Timer

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text, update

from monitor.domain.errors import ConfigRefused, InputRefused, SchemaMismatch
from monitor.domain.judge import Judge
from monitor.domain.settings import RoundSettings
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.results import concern_store
from monitor.storage.rounds import round_store
from monitor.storage.tables import metadata, monitors, rounds, store
from monitor.storage.views import NAMES
from tests.storage.old_stores import make_old_store, newer_program

BREAKS_HALF_WAY = """
import sqlalchemy as sa
from alembic import op


def upgrade():
    op.create_table("half_done", sa.Column("id", sa.Integer()))
    op.execute("insert into half_done values (1)")
    op.execute("alter table there_is_no_such_table add column x integer")
"""
SHIPPED = schema.revisions()[-1]
BEFORE_ASKED_JUDGES_WENT = "0017"


@pytest.fixture
def empty(store_url):
    database = Database(store_url)
    yield database
    database.close()


def names(database):
    with database.read() as connection:
        found = inspect(connection)
        return set(found.get_table_names()), set(found.get_view_names())


def pretend(database, revision):
    with database.write() as connection:
        connection.execute(
            text("update monitor_schema_version set version_num = :it"), {"it": revision}
        )


def test_migrations_make_exactly_the_tables_and_a_difference_would_be_seen(database):
    options = {"version_table": "monitor_schema_version", "compare_type": True}
    with database.write() as connection:
        command.check(schema.alembic_config(connection))  # alembic's own finds nothing either
        context = MigrationContext.configure(connection, opts=options)
        none = compare_metadata(context, metadata)
        connection.execute(text("alter table rounds drop column first_look_at"))
        connection.execute(text("create table not_ours (id integer)"))
        context = MigrationContext.configure(connection, opts=options)
        some = compare_metadata(context, metadata)

    assert none == []
    assert {difference[0] for difference in some} == {"add_column", "remove_table"}


def test_an_upgrade_makes_the_views_of_the_program_anew(database, monkeypatch, tmp_path):
    with database.write() as connection:
        made = {name: inspect(connection).get_view_definition(name) for name in NAMES}
        connection.execute(text("drop view open_alerts"))
        connection.execute(text("create view open_alerts as select 1 as old"))
    newer_program(
        monkeypatch,
        tmp_path / "migrations",
        "from alembic import op\n\n\ndef upgrade():\n    op.drop_column('counts', 'declined')\n"
        "    op.execute('alter table counts add column declined integer')\n",
    )

    schema.upgrade(database)

    with database.read() as connection:
        assert made == {name: inspect(connection).get_view_definition(name) for name in NAMES}


def test_migrations_go_up_down_and_up_again(database):
    first = names(database)

    with database.write() as connection:
        command.downgrade(schema.alembic_config(connection), "base")
    nothing = names(database)
    schema.upgrade(database)

    assert nothing == ({"monitor_schema_version"}, set())
    assert names(database) == first
    schema.check(database)


def test_rounds_of_an_old_store_forget_settings_that_were_removed(empty):
    make_old_store(empty, "0001")
    labeling = {"kind": "page", "question": "Travel?", "repeats": 0.1, "gold": "gold.csv"}
    with empty.write() as connection:
        [id_, settings] = connection.execute(text("select id, settings from rounds")).first()
        settings = settings if isinstance(settings, dict) else json.loads(settings)
        changed = json.dumps({**settings, "labeling": labeling})
        statement = text("update rounds set settings = :settings where id = :id")
        connection.execute(statement, {"settings": changed, "id": id_})

    schema.upgrade(empty)

    with empty.read() as connection:
        kept = connection.execute(select(rounds.c.settings).where(rounds.c.id == id_)).scalar_one()
    assert kept == {**settings, "labeling": {"kind": "page", "question": "Travel?"}}


def test_an_empty_store_is_made_ready_gets_an_id_and_keeps_it_and_its_rows(empty):
    with pytest.raises(SchemaMismatch, match="holds no tables yet; run: pr-monitor db upgrade"):
        schema.check(empty)
    schema.ready(empty)
    with empty.write() as connection:
        first = schema.store_id(connection)
        assert connection.execute(select(store)).all()[0].created_at.tzinfo is not None
        connection.execute(
            monitors.insert().from_select(
                ["name", "created_at"], select(text("'mail'"), store.c.created_at)
            )
        )
    assert names(empty)[0] == {*metadata.tables, "monitor_schema_version"}

    schema.ready(empty)
    schema.upgrade(empty)

    with empty.read() as connection:
        assert len(first) == 36
        assert schema.store_id(connection) == first
        assert connection.execute(select(monitors.c.name)).scalars().all() == ["mail"]


def test_of_several_workers_who_make_an_empty_store_none_fails(store_url):
    def make(_):
        database = Database(store_url)
        schema.ready(database)
        with database.read() as connection:
            found = schema.store_id(connection)
        database.close()
        return found

    with ThreadPoolExecutor(5) as pool:
        ids = list(pool.map(make, range(5)))

    assert len(set(ids)) == 1


def test_who_opens_a_new_file_while_another_does_waits_for_it(tmp_path):
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None, check_same_thread=False)
    other.execute("begin immediate")  # what SQLite answers with an error, not with a wait
    Timer(0.3, other.execute, ["rollback"]).start()
    database = Database(f"sqlite:///{tmp_path}/new.db")

    with database.read() as connection:
        assert connection.execute(text("pragma journal_mode")).scalar_one() == "wal"

    database.close()
    other.close()


def test_a_newer_schema_is_refused_with_the_way_out(database):
    pretend(database, "9999")

    with pytest.raises(SchemaMismatch) as caught:
        schema.ready(database)

    assert str(caught.value) == (
        f"the store {database.shown} has schema 9999, which this version does not know: "
        "it was upgraded by a newer mlflow-pr-monitor. Install that version again"
    )
    assert caught.value.exit_code == 78
    with pytest.raises(SchemaMismatch, match="newer mlflow-pr-monitor"):
        schema.upgrade(database)
    assert schema.current_revision(database) == "9999"


def test_a_store_of_a_development_version_is_refused_with_the_way_out(empty):
    with empty.write() as connection:
        connection.execute(text("create table monitor_alembic_version (version_num varchar(32))"))
        connection.execute(text("insert into monitor_alembic_version values ('0016')"))

    for use in (schema.ready, schema.check, schema.upgrade):
        with pytest.raises(SchemaMismatch, match=r"before 0\.1\.0.*fill that: pr-monitor backfill"):
            use(empty)

    assert names(empty)[0] == {"monitor_alembic_version"}


def test_an_older_schema_is_refused_with_the_command(database, monkeypatch, tmp_path):
    newer_program(monkeypatch, tmp_path / "migrations", "def upgrade():\n    pass\n")

    with pytest.raises(SchemaMismatch) as caught:
        schema.ready(database)

    assert str(caught.value) == (
        f"the store {database.shown} has schema {SHIPPED}, this program 0999; "
        "run: pr-monitor db upgrade"
    )
    schema.upgrade(database)
    schema.check(database)
    assert schema.current_revision(database) == "0999"


def test_a_migration_that_fails_leaves_nothing_behind(database, monkeypatch, tmp_path):
    before = names(database)
    newer_program(monkeypatch, tmp_path / "migrations", BREAKS_HALF_WAY)

    with pytest.raises(Exception, match="there_is_no_such_table"):
        schema.upgrade(database)

    assert names(database) == before
    assert schema.current_revision(database) == SHIPPED


def test_migrations_are_frozen():
    """A migration that imports the program would change when the program does."""
    folder = schema.migrations_folder() / "versions"

    texts = {path.name: path.read_text() for path in folder.glob("*.py")}

    assert texts
    assert not [name for name, source in texts.items() if "monitor." in source]


def test_tables_of_others_in_the_same_database_are_left_alone(empty):
    with empty.write() as connection:
        connection.execute(text("create table experiments (id integer, note text)"))
        connection.execute(text("create table alembic_version (version_num varchar(32))"))
        connection.execute(text("insert into alembic_version values ('mlflow')"))

    schema.ready(empty)
    with empty.write() as connection:
        config = schema.alembic_config(connection)
        command.check(config)
        command.downgrade(config, "base")

    assert names(empty)[0] == {"experiments", "alembic_version", "monitor_schema_version"}
    with empty.read() as connection:
        assert connection.execute(text("select * from alembic_version")).scalar() == "mlflow"


def test_no_table_has_the_name_of_one_of_mlflows(mlflow_tables):
    database = Database(f"sqlite:///{mlflow_tables}")

    theirs, _ = names(database)

    database.close()
    assert {"runs", "alembic_version"} < theirs
    assert theirs.isdisjoint({*metadata.tables, *NAMES, schema.VERSION_TABLE})


def test_alembics_own_command_line_works_with_an_address(store_url):
    config = schema.alembic_config()
    config.cmd_opts = type("Options", (), {"x": [f"url={store_url}"]})()

    command.upgrade(config, "head")

    database = Database(store_url)
    schema.check(database)
    with database.read() as connection:
        assert schema.store_id(connection)
    database.close()


def test_a_missing_folder_and_a_file_that_is_no_database_are_named(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("store: sqlite:///config.yaml\n" * 50)

    for place, why in (
        (tmp_path / "nowhere" / "monitor.db", r"there is no folder .*nowhere; make it or change"),
        (path, r"config\.yaml cannot be read as a store: file is not"),
    ):
        with pytest.raises(ConfigRefused, match=why):
            schema.ready(Database(f"sqlite:///{place}"))


def test_a_user_who_may_not_make_tables_is_told_what_to_grant(postgres_url):
    owner = Database(postgres_url)
    with owner.write() as connection:
        connection.execute(text("drop role if exists guest"))
        connection.execute(text("create role guest login"))
    guest = Database(postgres_url.replace("monitor@", "guest@"))

    with pytest.raises(ConfigRefused, match=r"permission denied .* may use and create in its sch"):
        schema.ready(guest)

    guest.close()
    owner.close()


def test_a_value_that_the_store_cannot_hold_is_refused_as_input(postgres_url):
    database = Database(postgres_url)
    schema.ready(database)

    with pytest.raises(InputRefused, match="cannot hold a value"), database.write() as connection:
        connection.execute(
            monitors.insert().from_select(
                ["name", "created_at"], select(text("repeat('x', 101)"), store.c.created_at)
            )
        )
    database.close()


def test_items_of_an_explored_segment_leave_rounds_that_go_on_without_them(empty):
    make_old_store(empty, "0001")
    with empty.write() as connection:
        command.upgrade(schema.alembic_config(connection), "0014")
        [item] = connection.execute(
            text("select i.round_id, i.id from items i join tasks t on t.item_id = i.id limit 1")
        )
        of_item = {"round": item.round_id, "item": item.id}
        mark = "update items set explored = true where round_id = :round and id = :item"
        connection.execute(text(mark), of_item)
        frozen = connection.scalars(select(rounds.c.settings)).first()
        sample = {**frozen["sample"], "segments": "explore"}
        changed = {**frozen, "sample": sample, "explored": {"column": "country"}}
        connection.execute(rounds.update().values(settings=changed))
        before = dict(connection.execute(text(COUNTED)).all())

    schema.upgrade(empty)

    with empty.read() as connection:
        after = dict(connection.execute(text(COUNTED)).all())
        upgraded = round_store.read_rounds(connection, [item.round_id])
    assert {name: before[name] - after[name] for name in before} == {"items": 1, "tasks": 1}
    assert RoundSettings.model_validate(frozen) == upgraded[0].settings


COUNTED = "select 'items', count(*) from items union select 'tasks', count(*) from tasks"


def test_a_round_whose_second_wave_was_to_come_keeps_the_items_that_it_asked_for(empty):
    make_old_store(empty, "0001")
    planned = text("select r.id, s.planned from strata s join rounds r on r.id = s.round_id")
    with empty.write() as connection:
        before = connection.execute(planned).all()
        waits = "update rounds set second_wave_at = deadline where state = 'labeling'"
        connection.execute(text(waits))
        connection.execute(text("update strata set first_wave = planned, planned = planned + 5"))

    schema.upgrade(empty)

    with empty.read() as connection:
        after = connection.execute(planned).all()
        waiting = set(connection.scalars(text("select id from rounds where state = 'labeling'")))
    asked = [(id_, labels if id_ in waiting else labels + 5) for id_, labels in before]
    assert waiting
    assert sorted(after) == sorted(asked)


def test_rounds_of_a_judge_that_was_asked_go_on_without_it_and_say_so(empty):
    make_old_store(empty, "0001")
    asked = {"kind": "http", "name": "m", "rule": "verdict = yes", "digest": "1", "items": 9}
    column = {"kind": "column", "column": "verdict", "positive": "yes"}
    with empty.write() as connection:
        config = schema.alembic_config(connection)
        command.upgrade(config, BEFORE_ASKED_JUDGES_WENT)
        stored = {
            row.id: row for row in connection.execute(select(*rounds.c["id", "state", "settings"]))
        }
        drawn, opened, other = (
            next(id_ for id_, row in stored.items() if row.state == state)
            for state in ("labeling", "open", "closed")
        )
        for id_, judge in ((drawn, asked), (opened, asked), (other, column)):
            changed = {**stored[id_].settings, "judge": judge}
            connection.execute(update(rounds).where(rounds.c.id == id_).values(settings=changed))
        command.upgrade(config, "head")

    with empty.read() as connection:
        read = {id_: round_store.read_round(connection, id_) for id_ in (drawn, opened, other)}
        told = {id_: concern_store.read_concerns(connection, id_).get("judge") for id_ in read}
    assert read[other].settings.judge == Judge(column="verdict", positive="yes")
    assert (read[drawn].settings.judge, read[opened].settings.judge, told[other]) == (None,) * 3
    assert "sizes of its strata by verdict are estimates" in str(told[drawn])
    assert "drawn without a judge" in str(told[opened])
