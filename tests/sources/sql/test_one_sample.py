"""The same seed draws the same ids from every source, by md5 of seed and id."""

from __future__ import annotations

import hashlib
import time

import pytest
from sqlalchemy import create_engine, text

from benchmarks import same_sample
from monitor.domain.model import BandEdges
from tests.sources.sql.databases import WEEK

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
def test_the_sample_is_the_first_ids_by_hashlib(places):
    [source] = [places["unicode"]["postgresql"]]
    whole = source.scan(WEEK, BandEdges().strata(), ROWS, "s33d")

    frame = source.scan(WEEK, BandEdges().strata(), 500, "s33d")

    for part, everything in zip(frame.strata, whole.strata, strict=True):
        ids = sorted(
            (candidate.id for candidate in everything.candidates),
            key=lambda each: hashlib.md5(f"s33d|{each}".encode()).hexdigest(),  # noqa: S324
        )
        assert [candidate.id for candidate in part.candidates] == ids[:500]


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
