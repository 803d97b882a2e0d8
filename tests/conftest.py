"""What all tests share: tiers, real servers, and stores on SQLite and on PostgreSQL."""

import fcntl
import gc
import os
import shutil
import sqlite3
import sys
from typing import Any

import pytest
import structlog
from sqlalchemy import create_engine, update
from sqlalchemy.engine import make_url

from monitor.labeling import folder_scan
from monitor.storage import database as stores
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import store
from monitor.tracking import sqlite_tables
from monitor.tracking.connection import Connection
from tests import hypothesis_profiles, tiers
from tests.label_studio import LabelStudio
from tests.mlflow_server import SERVER_PYTHON, MlflowServer
from tests.servers import new_database, postgres
from tests.small_config import write_predictions

STORE_ID = "00000000-0000-4000-8000-000000000000"

hypothesis_profiles.load()
# A traceback as structlog shows it unasked, with each frame's variables, takes a second.
structlog.get_config()["processors"][-1].exception_formatter = structlog.dev.plain_traceback


class _Compiled(dict[Any, Any]):
    """Statements compiled once for all stores of a kind, and not once for each engine."""

    def get(self, key, default=None):
        return super().get((key[0].name, *key[1:]), default)

    def __setitem__(self, key, compiled):
        super().__setitem__((key[0].name, *key[1:]), compiled)


class _Unsynced(sqlite3.Connection):
    """Does not wait for the disk, as PostgreSQL here does not: no test cuts the power."""

    def execute(self, sql, *values):
        return super().execute(sql.replace("synchronous=FULL", "synchronous=OFF"), *values)


def _engine(url, **options):
    if make_url(url).get_backend_name() == "sqlite":
        options["connect_args"] = {"factory": _Unsynced}
    return create_engine(url, execution_options=_COMPILED, **options)


_COMPILED = {"compiled_cache": _Compiled()}
pytest.MonkeyPatch().setattr(stores, "create_engine", _engine)
# A pass waits a second for a label file that was just written; nobody writes on in a test.
pytest.MonkeyPatch().setattr(folder_scan, "SETTLED", 0.02)


def pytest_ignore_collect(collection_path, config):
    """Do not even load the folder of which the fast tests have none."""
    is_fast = config.option.markexpr == "not thorough"
    return True if is_fast and collection_path == tiers.ROOT / tiers.THOROUGH else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in docstrings of the product alone: no test has any."""
    return [each for each in (yield) if type(each) is pytest.Module]


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` does not want
def pytest_collection_modifyitems(config, items):
    for item in items:
        tiers.sort(item)
    config.hook.pytest_deselected(items=[item for item in items if not tiers.is_run(item)])
    items[:] = [item for item in items if tiers.is_run(item)]


def pytest_collection_finish():
    """Look for garbage less often, and never among the modules and tests: a tenth of all CPU."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_unconfigure():
    gc.unfreeze()  # libraries complain at the end of what was never let go


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return tiers.Sharing(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture(autouse=True)
def _log_of_one_test():
    """Set the log back after a command in this process, whose standard error is closed by then."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres_server():
    with postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server):
    """Address of a new, empty PostgreSQL database."""
    return new_database(postgres_server)


@pytest.fixture(scope="session")
def postgres_tables(postgres_server):
    """A PostgreSQL database with this version's tables and nothing else: made once and copied."""
    _make_tables(new_database(postgres_server, "tables"))
    return "tables"


def _make_tables(url):
    """Make this version's tables; the store's id, and so every draw, is the same each time."""
    database = Database(url)
    schema.ready(database)
    with database.write() as connection:
        connection.execute(update(store).values(id=STORE_ID))
    database.close()


@pytest.fixture
def sqlite_url(request, tmp_path):
    """Address of a new SQLite store: empty, or with the tables of a `database`."""
    path = tmp_path / "monitor.db"
    if "database" in request.fixturenames:
        shutil.copy(request.getfixturevalue("store_tables"), path)
    return f"sqlite:///{path}"


def pytest_generate_tests(metafunc):
    if "store_kind" in metafunc.fixturenames:
        metafunc.parametrize("store_kind", tiers.stores_of(metafunc.definition.nodeid))


@pytest.fixture
def store_url(request, store_kind):
    """Address of a new store, likewise; a test that uses it runs on both databases."""
    if store_kind == "sqlite":
        return request.getfixturevalue("sqlite_url")
    server = request.getfixturevalue("postgres_server")
    if "database" not in request.fixturenames:
        return new_database(server)
    return new_database(server, more=f"template {request.getfixturevalue('postgres_tables')}")


@pytest.fixture(scope="session")
def store_tables(tmp_path_factory):
    """A SQLite store with this version's tables and nothing else: made once and copied."""
    path = tmp_path_factory.mktemp("store") / "tables.db"
    _make_tables(f"sqlite:///{path}")
    return path


@pytest.fixture
def store_folder(tmp_path, store_tables):
    """A folder with nothing but a copy of it."""
    shutil.copy(store_tables, tmp_path / "monitor.db")
    return tmp_path


@pytest.fixture
def database(store_url):
    """A store with this version's tables."""
    database = Database(store_url)
    yield database
    database.close()


@pytest.fixture
def store_of(tmp_path, store_tables):
    """Make SQLite stores by a name, all with one id."""
    opened = []

    def make(name):
        path = tmp_path / f"{name}.db"
        shutil.copy(store_tables, path)
        opened.append(Database(f"sqlite:///{path}"))
        return opened[-1]

    yield make
    for database in opened:
        database.close()


def once_for_all_workers(tmp_path_factory, name, make):
    """Path of a file that `make` writes in the first process of the run that asks for it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    path, unfinished = folder / name, folder / f"{name}.unfinished"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(unfinished)
            unfinished.replace(path)
    return path


@pytest.fixture(scope="session", autouse=True)
def _mlflow_tables_are_copied(tmp_path_factory):
    """Copy MLflow's tables wherever this process would make them, which takes seconds."""
    build = sqlite_tables._build

    def copied(path):
        shutil.copy(once_for_all_workers(tmp_path_factory, "mlflow-empty.db", build), path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_tables, "_build", copied)
        yield


@pytest.fixture(scope="session")
def mlflow_tables(tmp_path_factory):
    """A SQLite file with MLflow's tables and its first experiment."""

    def make(path):
        with Connection(f"sqlite:///{path}", None, 60).open("the experiments") as client:
            client.search_experiments()

    return once_for_all_workers(tmp_path_factory, "mlflow-tables.db", make)


@pytest.fixture(scope="session")
def mlflow_url(tmp_path_factory, mlflow_tables):
    """Address of a real MLflow server; tests tell their runs apart by the experiment's name."""
    folder = tmp_path_factory.mktemp("mlflow-server")
    if sys.executable == SERVER_PYTHON:  # another MLflow makes tables of its own
        shutil.copy(mlflow_tables, folder / "mlflow.db")
    with MlflowServer(folder) as server:
        yield server.url


@pytest.fixture
def folder(tmp_path, mlflow_tables):
    """A folder with predictions of the last three weeks, and an MLflow without runs."""
    shutil.copy(mlflow_tables, tmp_path / "mlflow.db")
    write_predictions(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def label_studio(tmp_path_factory):
    """A real Label Studio; tests tell their projects apart by the store that they are of."""
    with LabelStudio(tmp_path_factory.mktemp("label-studio")) as server:
        yield server
