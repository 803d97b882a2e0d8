"""A kill while MLflow's tables are made leaves none of them, and half made ones are recognised."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

from monitor.files.atomic_write import STALE_AFTER
from monitor.tracking.connection import Connection
from monitor.tracking.sqlite_tables import make_tables
from tests.workers import python

pytestmark = pytest.mark.slow

KILLED = """
import os
from sqlalchemy import Engine, event

statements = 0

@event.listens_for(Engine, "before_cursor_execute")
def kill(*_):
    global statements
    statements += 1
    if statements == {number}:
        os._exit(9)
"""
OURS = """
from pathlib import Path
from monitor.tracking.sqlite_tables import make_tables

make_tables(Path("mlflow.db").absolute())
"""
CHECK = """
import json
from pathlib import Path
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings

print(json.dumps(MlflowHandler(MlflowSettings(), Path()).check()))
"""
MLFLOWS_OWN = """
from mlflow import MlflowClient

MlflowClient("sqlite:///mlflow.db").search_experiments()
"""


def killed(folder, program, number):
    done = python("-c", KILLED.format(number=number) + program, cwd=folder)
    assert done.returncode == 9, done.stderr


def problems(folder):
    """Ask a process of its own, as the service does: MLflow's client keeps files open."""
    done = python("-c", CHECK, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("number", "is_old"), [(10, False), (900, True)])
def test_a_kill_while_the_tables_are_made_leaves_no_file_and_the_next_makes_it_and_tidies_up(
    tmp_path, number, is_old
):
    folder = tmp_path / "50%20off"  # an escape to whoever takes the path for an address
    folder.mkdir()
    killed(folder, OURS, number)
    [left] = folder.iterdir()  # it was killed while it wrote
    if is_old:
        old = left.stat().st_mtime - 2 * STALE_AFTER
        os.utime(left, (old, old))

    found = problems(folder)

    assert left.name != "mlflow.db"
    assert found == []
    assert left.exists() == (not is_old)
    assert (folder / "mlflow.db").exists()


def test_of_processes_that_race_the_file_of_the_first_stays(tmp_path, monkeypatch):
    path = tmp_path / "mlflow.db"

    def slower(unfinished):
        unfinished.write_bytes(b"of the slower one")
        path.write_bytes(b"of the faster one")

    monkeypatch.setattr("monitor.tracking.sqlite_tables._build", slower)

    make_tables(path)

    assert path.read_bytes() == b"of the faster one"
    assert [each.name for each in tmp_path.iterdir()] == ["mlflow.db"]


def test_a_half_made_file_of_another_is_named_with_a_way_out_that_works(tmp_path):
    killed(tmp_path, MLFLOWS_OWN, 400)
    upgraded = python("-m", "mlflow", "db", "upgrade", "sqlite:///mlflow.db", cwd=tmp_path)

    [problem] = problems(tmp_path)
    path = tmp_path / "mlflow.db"
    path.rename(f"{path}.half-made")
    after = problems(tmp_path)

    assert upgraded.returncode
    assert f"(mv {path} {path}.half-made); the next try makes a new one" in problem
    assert "CREATE TABLE" not in problem
    assert after == []


def test_a_file_with_runs_is_never_said_to_be_half_made(tmp_path):
    path = tmp_path / "mlflow.db"
    with Connection(f"sqlite:///{path}", None, 60).open("a run") as client:
        client.create_run("0")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("update alembic_version set version_num = '451aebb31d03'")

    [problem] = problems(tmp_path)

    assert "run 'mlflow db upgrade <database_uri>'" in problem
    assert problem.endswith("please consult your database's documentation for more detail.")
    assert "Move the file away" not in problem
