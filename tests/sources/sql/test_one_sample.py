"""The same seed draws the same ids from every source, by md5 of seed and id."""

import time

import pytest
from sqlalchemy import create_engine, text

from benchmarks import same_sample
from tests.sources.prediction_files import WEEK

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


def test_the_benchmark_says_whether_all_drew_the_same(capsys):
    same_sample.main(rows=2000, candidates=20)

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(same_sample.KINDS)
    assert all(line.endswith(" same") for line in lines)
