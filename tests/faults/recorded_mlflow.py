"""MLflow reduced to one SQLite file: as forgetful of keys as the real one, and far faster.

Like MLflow it has no unique key for runs: who creates twice has two. Each call is one transaction,
so a killed process leaves what a killed client of a real server leaves.
"""

# ruff: noqa: ARG002  the arguments are those of MlflowClient
import sqlite3
import uuid
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from monitor.tracking.connection import Deadline, Timed
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.faults.invariants import SeenRun

TABLES = """
create table if not exists experiments (id integer primary key, name text unique);
create table if not exists runs (
    id text primary key, experiment text, start integer, stage text, status text
);
create table if not exists tags (run text, key text, value text, primary key (run, key));
create table if not exists params (run text, key text, value text, primary key (run, key));
create table if not exists metrics (
    run text, key text, value real, at integer, step integer,
    primary key (run, key, at, step, value)
);
create table if not exists files (run text, name text, content blob, primary key (run, name));
"""
PATIENCE = 15.0
"""Seconds that a delivery may take; where claims are short it is less, as in the product."""


class RecordedClient:
    """What `monitor.tracking` asks of an MlflowClient."""

    def __init__(self, path):
        self.path = path

    @contextmanager
    def _store(self):
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=30)) as store:
            store.execute("pragma synchronous=off")
            store.executescript(TABLES)
            store.execute("begin immediate")
            yield store
            store.execute("commit")

    def get_experiment_by_name(self, name):
        with self._store() as store:
            row = store.execute("select id from experiments where name = ?", (name,)).fetchone()
            if row is None:
                return None
            query = "select key, value from tags where run = ?"
            tags = dict(store.execute(query, (f"experiment {row[0]}",)))
        return SimpleNamespace(experiment_id=str(row[0]), lifecycle_stage="active", tags=tags)

    def create_experiment(self, name, artifact_location=None, tags=None):
        with self._store() as store:
            store.execute("insert or ignore into experiments (name) values (?)", (name,))
            row = store.execute("select id from experiments where name = ?", (name,)).fetchone()
        return str(row[0])

    def set_experiment_tag(self, experiment, key, value):
        with self._store() as store:
            self._tag(store, f"experiment {experiment}", {key: value})

    def create_run(self, experiment, start, tags, name):
        run_id = uuid.uuid4().hex
        with self._store() as store:
            row = (run_id, experiment, start, "active", "RUNNING")
            store.execute("insert into runs values (?, ?, ?, ?, ?)", row)
            store.executemany(
                "insert into tags values (?, ?, ?)", [(run_id, *tag) for tag in tags.items()]
            )
            return self._run(store, row)

    def search_runs(self, experiments, filter_string, view, max_results):
        key, value = filter_string.removeprefix("tags.`").split("` = ")
        with self._store() as store:
            rows = store.execute(
                "select r.* from runs r join tags t on t.run = r.id"
                " where r.experiment = ? and t.key = ? and t.value = ?",
                (experiments[0], key, value.strip("'")),
            ).fetchall()
            return [self._run(store, row) for row in rows]

    def log_batch(self, run_id, metrics, params, tags, synchronous):
        with self._store() as store:
            rows = [(run_id, m.key, m.value, m.timestamp, m.step) for m in metrics]
            store.executemany("insert or ignore into metrics values (?, ?, ?, ?, ?)", rows)
            store.executemany(
                "insert or ignore into params values (?, ?, ?)",
                [(run_id, p.key, p.value) for p in params],
            )
            self._tag(store, run_id, {tag.key: tag.value for tag in tags})

    def log_inputs(self, run_id, datasets, models):
        """Which data a run is of changes nothing here."""

    def log_artifact(self, run_id, path):
        with open(path, "rb") as stream, self._store() as store:  # noqa: PTH123
            row = (run_id, path.rsplit("/", 1)[1], stream.read())
            store.execute("insert or replace into files values (?, ?, ?)", row)

    def list_artifacts(self, run_id):
        with self._store() as store:
            query = "select name from files where run = ?"
            return [SimpleNamespace(path=name) for (name,) in store.execute(query, (run_id,))]

    def download_artifacts(self, run_id, path, dst_path):
        with self._store() as store:
            found = store.execute(
                "select content from files where run = ? and name = ?", (run_id, path)
            ).fetchone()
        if found is None:
            message = f"run {run_id} has no file {path}"
            raise FileNotFoundError(message)
        place = Path(dst_path) / path
        place.write_bytes(found[0])
        return str(place)

    def update_run(self, run_id, status):
        with self._store() as store:
            store.execute("update runs set status = ? where id = ?", (status, run_id))

    def set_tag(self, run_id, key, value):
        with self._store() as store:
            self._tag(store, run_id, {key: value})

    def delete_tag(self, run_id, key):
        with self._store() as store:
            store.execute("delete from tags where run = ? and key = ?", (run_id, key))

    def delete_run(self, run_id):
        with self._store() as store:
            store.execute("update runs set stage = 'deleted' where id = ?", (run_id,))

    def restore_run(self, run_id):
        with self._store() as store:
            store.execute("update runs set stage = 'active' where id = ?", (run_id,))

    def _tag(self, store, run_id, tags):
        rows = [(run_id, *tag) for tag in tags.items()]
        store.executemany("insert or replace into tags values (?, ?, ?)", rows)

    def _run(self, store, row):
        run_id, experiment, start, stage, _ = row
        tags, params = (
            dict(store.execute(f"select key, value from {table} where run = ?", (run_id,)))
            for table in ("tags", "params")
        )
        return SimpleNamespace(
            info=SimpleNamespace(
                run_id=run_id,
                experiment_id=experiment,
                start_time=start,
                lifecycle_stage=stage,
                status="RUNNING",
            ),
            data=SimpleNamespace(tags=tags, params=params),
            inputs=None,
        )


class RecordedConnection:
    """Stands in for `monitor.tracking.connection.Connection`."""

    def __init__(self, path):
        self.client = RecordedClient(path)

    @contextmanager
    def open(self, requested):
        yield Timed(cast("Any", self.client), Deadline(PATIENCE), set_timeout=lambda _: None)


def recorded_handler(path):
    """Give the product's own handler, before a recorded MLflow."""
    handler = MlflowHandler(MlflowSettings())
    handler._connection = cast("Any", RecordedConnection(path))
    return handler


def recorded_runs(path) -> list[SeenRun]:
    """Read all runs that were recorded."""
    with closing(sqlite3.connect(path)) as store:
        store.executescript(TABLES)
        runs = []
        for run_id, stage in store.execute("select id, stage from runs order by rowid").fetchall():
            tags = dict(store.execute("select key, value from tags where run = ?", (run_id,)))
            query = "select key, step, value from metrics where run = ? order by step, at, value"
            metrics = {(key, step): value for key, step, value in store.execute(query, (run_id,))}
            runs.append(SeenRun(stage == "active", tags, metrics))
    return runs


def everything_in(path) -> str:
    """Read a SQLite file as text, to look for what should not be there."""
    with closing(sqlite3.connect(path)) as store:
        return "\n".join(store.iterdump())
