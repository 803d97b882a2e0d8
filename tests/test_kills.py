"""`run-once` is killed at every point of a round, and the round is still one round."""

import csv
import json

import pytest

from monitor.config.load import load_config
from monitor.storage.database import Database
from tests.small_config import configure, fill_labels, rows, runs
from tests.workers import worker as started_worker

# Each line is a life of `run-once`: the process kills itself before or after the named call.
LIVES = """
import json, os, signal
from pathlib import Path

from monitor.service import loop
from monitor import wiring
from monitor.config.load import load_config
from monitor.hooks.log import LogHandler
from monitor.labeling import label_files
from monitor.labeling.files import FilesLabeler
from monitor.rounds.labels import collect
from monitor.rounds.delivery import deliver
from monitor.rounds.opening import due
from monitor.rounds import versions, run
from monitor.sources.duckdb import DuckdbSource
from monitor.storage import schema
from monitor.tracking import mlflow as tracking, writing
from monitor.tracking.connection import load_mlflow

# Loaded once for all lives.
import duckdb, structlog

PLACES = {
    "before the slot is opened": (due, "_add", "before"),
    "after the slot is opened": (run, "_unfinished", "before"),
    "after the scan": (DuckdbSource, "scan", "after"),
    "after the items are written": (run, "send", "before"),
    "while tasks are written": (Path, "hardlink_to", "before"),
    "after tasks are out": (FilesLabeler, "send", "after"),
    "after labels are read": (FilesLabeler, "collect", "after"),
    "after labels are stored": (run, "finish", "before"),
    "after the estimate": (versions, "_estimated", "after"),
    "while it is published": (versions, "enqueue", "after"),
    "after it is published": (loop, "deliver", "before"),
    "before MLflow is asked": (tracking.MlflowHandler, "deliver", "before"),
    "after the MLflow run is made": (tracking, "find_or_create", "after"),
    "while the MLflow run is written": (writing, "_log_files", "before"),
    "after MLflow has it": (tracking.MlflowHandler, "deliver", "after"),
}


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(owner, name, when):
    act = getattr(owner, name)

    def acted(*arguments, **named):
        if when == "before":
            die()
        act(*arguments, **named)
        die()

    setattr(owner, name, acted)


def live(point):
    if point:
        deadly(*PLACES[point])
    application = wiring.build(load_config(Path("config.yaml")))
    schema.ready(application.database)
    os._exit(loop.one_pass(application, application.monitors).exit_code)


structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
load_mlflow()
import mlflow.store.tracking.sqlalchemy_store
import mlflow.store.model_registry.sqlalchemy_store

pause(json.dumps(list(PLACES)))
for line in sys.stdin:
    child = os.fork()
    if not child:
        live(line.strip())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_a_round_whose_worker_is_killed_at_every_point_is_still_one_round(folder, store_url):
    """Each life gets one point further than the one before it, and meets what that one left."""
    configure(
        folder, store=store_url if store_url.startswith("postgres") else "sqlite:///monitor.db"
    )
    database = Database(load_config(folder / "config.yaml").store_url)

    with started_worker(LIVES, cwd=folder) as lives:
        points = json.loads(lives.said.readline())
        lives.go()
        codes = {point: life(lives, point) for point in points[:6]}
        drew = life(lives, "")
        fill_labels(folder)
        codes |= {point: life(lives, point) for point in points[6:]}
        rest = [life(lives, "") for _ in range(2)]

    assert codes == dict.fromkeys(points, -9)
    assert (drew, rest) == (0, [0, 0])
    assert rows(database, "select state, version, claimed_by from rounds") == [("closed", 1, None)]
    assert rows(database, "select count(*), count(distinct id) from items") == [(20, 20)]
    assert rows(database, "select count(*), count(sent_at) from tasks") == [(20, 20)]
    assert rows(database, "select count(*) from label_events") == [(20,)]
    assert rows(database, "select tp + fp + fn + tn, latest from confusion_matrices") == [(20, 1)]
    moves = "select after from round_events where before is null or before <> after order by id"
    assert rows(database, moves) == [("open",), ("labeling",), ("closed",)]
    assert rows(database, "select distinct status from effects") == [("done",)]
    assert [len(runs(folder, name)) for name in ("monitor/mail", "monitor")] == [1, 1]
    assert task_files(folder) == {"mail": 20}
    database.close()


def life(lives, point):
    lives.go(point)
    return int(lives.said.readline())


def task_files(folder):
    """Monitor of each task file to the number of different tasks in it."""
    found = {}
    for path in (folder / "labels").glob("*.csv"):
        with path.open(newline="") as stream:
            keys = [row["task"] for row in csv.DictReader(stream)]
        assert len(set(keys)) == len(keys)
        found[path.name.split("-")[0]] = len(keys)
    return found
