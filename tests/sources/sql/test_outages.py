"""A database that is down, slow or closed: a sentence, no secret in it, and another try."""

import sys
import time
import traceback
from datetime import UTC, datetime

import pytest
import sqlalchemy
from sqlalchemy.engine import make_url

from monitor.domain.errors import MonitorError, SourceRefused, SourceUnavailable
from monitor.domain.extras import install_command
from monitor.sources.sql import SqlSource
from monitor.sources.sql_table import find_table
from monitor.sources.table_settings import SqlSettings
from tests.servers import free_port, stoppable_postgres
from tests.sources.prediction_files import TWO, WEEK, refused
from tests.sources.sql.databases import COLUMNS, Place, make_table, source_of

AT = datetime(2026, 3, 3, tzinfo=UTC)
ROW = {"id": "a", "time": AT, "score": 0.9, "predicted": True, "text": ""}
SECRET = "hunter2/%@secret"  # noqa: S105


@pytest.fixture(
    params=[
        pytest.param("postgresql", marks=pytest.mark.postgresql),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ]
)
def server(request):
    names = {"postgresql": "postgres_place", "mariadb": "mariadb_place"}
    return request.getfixturevalue(names[request.param])


def scan(source):
    return source.scan(WEEK, TWO, 9, "s")


def with_url(url, folder="."):
    given = {"url": url, "table": "scored", "columns": COLUMNS, "threshold": 0.5}
    return SqlSource(SqlSettings.model_validate(given), folder)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://eve:{secret}@127.0.0.1:{port}/mails",
        "mariadb://eve:{secret}@127.0.0.1:{port}/mails",
        "postgresql+psycopg://eve@127.0.0.1:{port}/mails?password={secret}&connect_timeout=2",
    ],
)
def test_a_database_that_is_not_there_is_tried_again_and_its_password_is_told_nobody(url):
    secret = "canary-0123"  # noqa: S105
    source = with_url(url.format(secret=secret, port=free_port()))

    with pytest.raises(SourceUnavailable, match="cannot be read now") as caught:
        scan(source)

    told = "".join(traceback.format_exception(caught.value)) + repr(source.settings)
    assert "(table scored)" in told
    assert secret not in told


@pytest.mark.postgresql
def test_a_database_that_was_stopped_is_read_when_it_is_back():
    with stoppable_postgres() as server:
        place = Place("postgresql", server.url)
        make_table(place, [ROW])
        source = source_of(place)
        before = scan(source)
        place.close()
        server.stop()

        with pytest.raises(SourceUnavailable, match="It is tried again"):
            scan(source)

        server.start()
        assert scan(source) == before


def slow_view(place):
    """Make a view whose rows take a second each."""
    make_table(place, [{**ROW, "id": str(n)} for n in range(20)])
    slow = "pg_sleep(1)::text is not null" if place.name == "postgresql" else "sleep(1) = 0"
    place.run(f"create view slow as select * from scored where {slow}")


def test_a_statement_that_takes_too_long_is_ended_in_the_database(server):
    slow_view(server)
    source = source_of(server, table="slow", timeout="2s")
    started = time.monotonic()

    with pytest.raises(SourceUnavailable, match=r"did not answer within 2 s.*source\.timeout"):
        scan(source)

    assert time.monotonic() - started < 18  # of the 20 s that all rows take
    time.sleep(0.5)
    assert running(server) == 0


def running(place):
    asked = {
        "postgresql": "select query from pg_stat_activity where state = 'active'",
        "mariadb": "select info from information_schema.processlist where info is not null",
    }[place.name]
    with place.connected() as connection:
        return sum("from slow" in query for query in connection.exec_driver_sql(asked).scalars())


def test_a_sqlite_file_that_takes_too_long_is_given_up(sqlite_place):
    make_table(sqlite_place, [ROW])
    sqlite_place.run(
        "create view slow as with recursive n(i) as (select 1 union all select i + 1 from n "
        "where i < 1000000000) select s.* from scored s, n"
    )

    with pytest.raises(SourceUnavailable, match="did not answer within 1 s"):
        scan(source_of(sqlite_place, table="slow", timeout="1s"))


def test_a_missing_permission_is_said_and_serves_once_it_is_given(server):
    make_table(server, [ROW])
    user = {"postgresql": "eve", "mariadb": "'eve'@'127.0.0.1'"}[server.name]
    server.run(f"drop user if exists {user}", *create_user(server, user))
    url = make_url(server.url).set(username="eve", password=SECRET)
    source = with_url(url.render_as_string(hide_password=False))

    with pytest.raises(SourceRefused) as caught:
        scan(source)

    assert SECRET not in str(caught.value)
    assert "eve:***@" in str(caught.value)
    server.run(f"grant select on scored to {user}")
    assert scan(source).size == 1
    server.run(f"revoke all on scored from {user}", f"drop user {user}")


def create_user(place, user):
    if place.name == "postgresql":
        return [f"create user {user} password '{SECRET}'"]
    name = place.url.rsplit("/", 1)[1]
    return [
        f"create user {user} identified by '{SECRET}'",
        "create table if not exists other (a integer)",
        f"grant select on {name}.other to {user}",
    ]


def test_a_column_that_is_dropped_is_named_and_serves_once_it_is_back(place):
    make_table(place, [ROW])
    source = source_of(place)
    before = scan(source)
    place.run("alter table scored rename column score to points")

    said = refused(source)

    assert "has no column 'score' (columns.score)" in said
    place.run("alter table scored rename column points to score")
    assert scan(source) == before


def test_a_table_that_is_dropped_while_it_is_read_is_refused_and_not_a_bug(place, monkeypatch):
    make_table(place, [ROW])
    source = source_of(place)

    def then_dropped(*arguments):
        found = find_table(*arguments)
        reading = arguments[0]
        reading.connection.rollback()
        if place.name == "sqlite":
            reading.connection.exec_driver_sql("rollback")
        place.run("drop table scored")
        return found

    monkeypatch.setattr("monitor.sources.sql.find_table", then_dropped)

    with pytest.raises(MonitorError, match="cannot be read"):
        scan(source)


def test_nothing_is_ever_written(place):
    make_table(place, [ROW])
    source = source_of(place)

    with source.database.reading() as reading, pytest.raises(Exception, match=r"(?i)read.?only"):
        reading.connection.exec_driver_sql("delete from scored")

    assert scan(source).size == 1


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(SourceRefused, match="there is no file"):
        scan(with_url(f"sqlite:///{tmp_path}/gone.sqlite"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a b.db", "a?mode=rw.db", "a#b.db", "a%20b.db", "ключ.db"])
def test_a_file_of_any_name_is_read(tmp_path, name):
    if "?" in name and sqlalchemy.__version__.startswith("2.0."):
        pytest.skip("an address of SQLAlchemy 2.0 cannot name such a file")
    place = Place("sqlite", "sqlite:///" + str(tmp_path / "plain"))
    make_table(place, [ROW])
    place.close()
    (tmp_path / "plain").rename(tmp_path / name)
    url = make_url("sqlite://").set(database=name).render_as_string()

    assert scan(with_url(url, tmp_path)).size == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "p.db").write_text("id,score\n" * 200)

    with pytest.raises(SourceRefused, match="file is not a database"):
        scan(with_url(f"sqlite:///{tmp_path}/p.db"))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("oracle://u@h/d", "oracle is not known here; known are postgresql, mariadb, sqlite"),
        ("trino://u@h/d", "cannot be read"),
        ("postgresql://u@h:port/d", "source.url is not the address of a database"),
    ],
)
def test_a_database_without_words_or_driver_is_refused(url, said):
    with pytest.raises(SourceRefused, match=said):
        scan(with_url(url))


@pytest.mark.parametrize(
    ("url", "driver", "command"),
    [
        ("postgresql://u@h/d", "psycopg", install_command("postgres")),
        ("mariadb://u@h/d", "pymysql", install_command("mysql")),
        ("mssql+pyodbc://u@h/d", "pyodbc", "pip install pyodbc"),
    ],
)
def test_a_missing_driver_is_named_with_the_command_that_installs_it(
    monkeypatch, url, driver, command
):
    monkeypatch.setitem(sys.modules, driver, None)

    with pytest.raises(SourceRefused) as refused:
        scan(with_url(url))

    assert str(refused.value) == f"{url} needs the driver {driver}: {command}"
