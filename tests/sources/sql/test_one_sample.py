"""The same seed draws the same ids from every source, by md5 of seed and id."""

import re
import time
from pathlib import Path

import duckdb
import pytest
from sqlalchemy import create_engine, text

from benchmarks import same_sample
from monitor.sources.dialects import DIALECTS
from tests.sources.prediction_files import WEEK
from tests.sources.sql.databases import TRANSPILED

ROWS = 30_000


@pytest.fixture(scope="module")
def places(tmp_path_factory, postgres_server, mariadb_server):
    folder = tmp_path_factory.mktemp("one sample")
    urls = {
        "postgresql": postgres_server,
        "mariadb": mariadb_server,
        "sqlite": f"sqlite:///{folder}/same.sqlite",
    }
    return same_sample.filled(folder, urls, ROWS)


@pytest.mark.postgresql
@pytest.mark.parametrize("kind", same_sample.KINDS)
def test_every_source_draws_the_same_sample(places, kind):
    frames = {
        name: source.scan(WEEK, same_sample.EDGES, 500, "s33d")
        for name, source in places[kind].items()
    }

    first = frames.pop("duckdb")
    assert first.size == ROWS
    assert [len(part.candidates) for part in first.strata] == [500] * 6
    assert set(frames) == {"postgresql", "mariadb", "sqlite"}
    for name, frame in frames.items():
        assert frame.strata == first.strata, name


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of DuckDB with a table of each kind of ids, and what DuckDB draws from files."""
    folder = tmp_path_factory.mktemp("transpiled")
    filled = same_sample.filled(folder, {}, 2_000)
    path = folder / "same.duckdb"
    with duckdb.connect(path) as connection:
        for kind in filled:
            connection.execute(f"create table {kind} as from '{folder}/{kind}.parquet'")
    frames = {
        kind: sources["duckdb"].scan(WEEK, same_sample.EDGES, 50, "s33d")
        for kind, sources in filled.items()
    }
    return path, frames


@pytest.mark.parametrize("kind", same_sample.KINDS)
@pytest.mark.parametrize("name", TRANSPILED)
def test_the_statements_of_a_database_without_a_server_draw_the_same_sample(
    files, name, kind, transpiled
):
    path, frames = files
    source = transpiled(name, path).source(table=kind, columns=same_sample.COLUMNS)

    frame = source.scan(WEEK, same_sample.EDGES, 50, "s33d")

    assert [len(part.candidates) for part in frame.strata] == [50] * 6
    assert frame.strata == frames[kind].strata


def test_every_database_of_the_docs_is_run_by_these_tests():
    page = Path("docs/how-to/sources-sql.md").read_text()

    named = re.findall(r"^\| .* \| `(\w+)[+:].*`", page, re.MULTILINE)

    assert sorted(named) == sorted(DIALECTS)
    assert sorted(named) == sorted(("postgresql", "mariadb", "sqlite", *TRANSPILED))


@pytest.mark.postgresql
def test_postgresql_writes_no_temporary_file_for_a_draw(places, postgres_server):
    engine = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("alter role monitor set work_mem = '64kB'"))
        before = temporary_files(connection)

        places["unicode"]["postgresql"].scan(WEEK, same_sample.EDGES, 500, "s33d")
        time.sleep(1)  # until the server has counted them

        assert temporary_files(connection) == before
        ordered = text("select count(*) from (select id from same_unicode order by id) ordered")
        connection.execute(text("set work_mem = '64kB'"))
        connection.execute(ordered)
        time.sleep(1)
        assert temporary_files(connection) > before
        connection.execute(text("alter role monitor reset work_mem"))
    engine.dispose()


def temporary_files(connection):
    connection.execute(text("select pg_stat_clear_snapshot()"))
    asked = "select temp_files from pg_stat_database where datname = current_database()"
    return connection.execute(text(asked)).scalar()
