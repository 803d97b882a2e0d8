"""A database for each test of this folder; a test that uses ``place`` runs on all of them.

One that is `also_in_files` runs on a file of DuckDB too, and one that is `also_transpiled` on
databases whose statements DuckDB executes.
"""

import uuid

import pytest
from sqlalchemy.engine import make_url

from tests.servers import mariadb
from tests.sources.sql.databases import DATABASES, TRANSPILED, DuckdbPlace, Place


@pytest.fixture
def sqlite_place(tmp_path):
    path = tmp_path / "predictions.sqlite"
    place = Place("sqlite", f"sqlite:///{path}")
    place.run("create table is_there (a)")
    yield place
    place.close()


@pytest.fixture
def duckdb_place(tmp_path):
    return DuckdbPlace(tmp_path / "predictions.duckdb")


@pytest.fixture
def postgres_place(postgres_url):
    place = Place("postgresql", postgres_url)
    yield place
    place.close()


@pytest.fixture(scope="session")
def mariadb_server():
    with mariadb() as url:
        yield url


@pytest.fixture
def mariadb_place(mariadb_server):
    name = f"place_{uuid.uuid4().hex[:12]}"  # any user may read what begins with test_
    maker = Place("mariadb", make_url(mariadb_server).set(database="mysql").render_as_string())
    maker.run(f"create database {name} character set utf8mb4")
    maker.close()
    place = Place("mariadb", make_url(mariadb_server).set(database=name).render_as_string())
    yield place
    place.close()


def pytest_generate_tests(metafunc):
    is_given = any(
        "place" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")
    )
    if "place" in metafunc.fixturenames and not is_given:
        marked = (metafunc.function, metafunc.cls)
        places = [*DATABASES]
        if any(getattr(one, "in_files", False) for one in marked):
            places.append("duckdb")
        if any(getattr(one, "is_transpiled", False) for one in marked):
            places += [pytest.param(name, marks=pytest.mark.slow) for name in TRANSPILED]
        metafunc.parametrize("place", places, indirect=True)


@pytest.fixture
def transpiled():
    """What makes a place of a database without a server, by its name and a file of DuckDB."""
    pytest.importorskip("sqlglot", reason="make .venv/.ready-dev installs it")
    from tests.sources.sql.transpiled import TranspiledPlace  # noqa: PLC0415  as it needs sqlglot

    return TranspiledPlace


@pytest.fixture
def place(request, tmp_path):
    if request.param in TRANSPILED:
        make = request.getfixturevalue("transpiled")
        return make(request.param, tmp_path / "predictions.duckdb")
    named = {"postgresql": "postgres"}.get(request.param, request.param)
    return request.getfixturevalue(f"{named}_place")
