"""Stores to test on: SQLite always, PostgreSQL where it is installed."""

from __future__ import annotations

import uuid

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from monitor.storage import schema
from monitor.storage.database import Database
from tests.servers import postgres


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    with postgres(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server):
    """Address of a new, empty PostgreSQL database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"create database {name}"))
    engine.dispose()
    return make_url(postgres_server).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path):
    """Address of a new, empty store; a test that uses it runs on both databases."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/monitor.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def database(store_url):
    """A store with this version's tables."""
    database = Database(store_url)
    schema.ready(database)
    yield database
    database.close()
