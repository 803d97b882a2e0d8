"""What waits for MLflow is delivered by a process that comes and goes, and may be killed."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from monitor import wiring
from monitor.domain.model import MLFLOW, EffectKind
from monitor.service import mlflow_process
from monitor.service.loop import advance
from monitor.service.mlflow_process import MlflowProcess
from monitor.storage import schema
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.results.report_store import read_report
from monitor.storage.tables import effects
from monitor.tracking.connection import Connection
from tests.small_config import configure, fill_labels, rows, runs
from tests.tracking import test_classes as class_report
from tests.workers import ROOT, eventually, has_ended, worker

pytestmark = pytest.mark.slow

POINT = """
import os, signal, sys, time
from pathlib import Path

from monitor.domain import crashpoint
from monitor.service.mlflow_process import main


def at(point):
    if point == "{point}" and not Path("reached").exists():
        Path("pid").write_text(str(os.getpid()))
        Path("pid").rename("reached")
        {act}


crashpoint.hook = at
main()
"""
HELD = POINT.format(
    point="before mlflow create_run", act="while not Path('go').exists(): time.sleep(0.01)"
)
KILLED = POINT.format(point="after mlflow create_run", act="os.kill(os.getpid(), signal.SIGKILL)")
SERVICE = """
from pathlib import Path

from monitor import wiring
from monitor.config.load import load_config
from monitor.service import mlflow_process
from monitor.service.loop import TICK, MonitorWork

if sys.argv[1:]:
    mlflow_process.COMMAND = (sys.executable, "-c", sys.argv[1])
application = wiring.build(load_config(Path("config.yaml")))
MonitorWork(application, None, TICK).mlflow()
print("mlflow" in sys.modules, flush=True)
"""


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    """Processes begin in the folder, and find this code."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def told(folder):
    """An application with a closed round, of which MLflow is to be told."""
    application = wiring.build(configure(folder))
    schema.ready(application.database)
    [context] = application.monitors
    assert advance(context) is None
    fill_labels(folder)
    assert advance(context) is None
    yield application
    application.database.close()


def runs_as(monkeypatch, program):
    monkeypatch.setattr(mlflow_process, "COMMAND", (sys.executable, "-c", program))


def states(application):
    query = "select kind, status from effects where sink = 'mlflow' order by id"
    return rows(application.database, query)


def deliver(application):
    beats: list[None] = []
    MlflowProcess().deliver(application, lambda: beats.append(None))
    return len(beats)


def reached(folder):
    """Wait until the process is held; returns its id."""
    eventually((folder / "reached").exists)
    return int((folder / "reached").read_text())


DONE = [("round_run", "done"), ("fleet_point", "done")]


def test_what_is_due_of_any_kind_is_delivered_by_one_process_that_ends(folder, told, monkeypatch):
    started = []

    class Kept(subprocess.Popen[str]):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    add_all_other_kinds(folder, told)

    with capture_logs() as logged:
        beats = [deliver(told), deliver(told)]

    delivered = rows(told.database, "select kind, receipt from effects where status = 'done'")
    assert beats == [len(DONE) + 2, 0]
    elsewhere = {EffectKind.NOTICE, EffectKind.ANSWERS}
    assert {kind for kind, _ in delivered} >= set(EffectKind) - elsewhere
    assert ("model_tags", "models:/mail/1") in delivered
    assert [process.returncode for process in started] == [0], "none where nothing is due"
    assert logged == []


def test_the_service_itself_does_not_load_mlflow(folder, told):
    with worker(SERVICE, cwd=folder) as service:
        code, said, errors = service.end()

    assert (code, said) == (0, "False\n"), errors
    assert states(told) == DONE


def add_all_other_kinds(folder, told):
    with Connection(f"sqlite:///{folder}/mlflow.db", None, 60).open("a model") as client:
        client.create_registered_model("mail")
        client.create_model_version("mail", "file:nowhere")
    averages = class_report.report().model_dump(mode="json")
    with told.database.write() as connection:
        row = connection.execute(select(effects).where(effects.c.sink == MLFLOW).limit(1)).one()
        report = read_report(connection, row.round_id, row.report_version)
        for kind, payload in (
            (EffectKind.MODEL_TAGS, report | {"model": "models:/mail/1"}),
            (EffectKind.CLASS_AVERAGES, averages),
        ):
            key = f"{kind} of this test"
            effect = NewEffect(key, row.monitor_id, row.round_id, kind, MLFLOW, payload=payload)
            effect_store.add_effects(connection, [effect], told.clock())


def test_a_process_killed_in_mid_delivery_is_told_and_the_next_goes_on(folder, told, monkeypatch):
    with monkeypatch.context() as patch, capture_logs() as logged:
        runs_as(patch, KILLED)
        deliver(told)
    before = states(told)
    deliver(told)

    assert before == [("round_run", "waiting"), ("fleet_point", "waiting")]
    assert [(line["event"], line["code"]) for line in logged] == [
        ("the process that delivers to MLflow ended", -signal.SIGKILL)
    ]
    assert states(told) == DONE
    assert [len(runs(folder, name)) for name in ("monitor/mail", "monitor")] == [1, 1]


def test_asked_to_stop_it_ends_after_the_delivery_in_flight(folder, told, monkeypatch):
    runs_as(monkeypatch, HELD)
    process = MlflowProcess()
    delivering = threading.Thread(target=process.deliver, args=(told, lambda: None))
    delivering.start()
    pid = reached(folder)

    for number in (signal.SIGTERM, signal.SIGINT):  # as who stops a service sends to its group
        os.kill(pid, number)
    process.stop()
    (folder / "go").touch()
    delivering.join(60)
    process.deliver(told, lambda: None)

    assert states(told) == [("round_run", "done"), ("fleet_point", "waiting")]


def test_a_reload_ends_no_delivery_and_warnings_of_libraries_are_logged(folder, told, monkeypatch):
    warns = "__import__('logging').getLogger('urllib3').warning('the pool is full')\n        "
    runs_as(monkeypatch, HELD.replace("while not", f"{warns}while not"))
    delivering = threading.Thread(target=deliver, args=(told,))

    with capture_logs() as logged:
        delivering.start()
        os.kill(reached(folder), signal.SIGHUP)
        (folder / "go").touch()
        delivering.join(60)

    assert states(told) == DONE
    assert logged == [{"event": "the pool is full", "log_level": "warning", "logger": "urllib3"}]


@pytest.mark.parametrize(("hangs", "in_flight"), [(False, "done"), (True, "waiting")])
def test_once_the_service_is_killed_it_ends_after_the_delivery(folder, told, hangs, in_flight):
    soon = "\nfrom monitor.service import mlflow_process\nmlflow_process.GRACE = SOON\nmain()"
    imported = "from datetime import timedelta\nSOON = timedelta(seconds=0.1)\n"
    program = imported + HELD.replace("\nmain()", soon) if hangs else HELD
    with worker(SERVICE, program, cwd=folder) as service:
        pid = reached(folder)
        service.process.kill()
        service.process.wait()
        if not hangs:
            (folder / "go").touch()
        eventually(lambda: has_ended(pid))
        (folder / "go").touch()
        errors = service.errors.read()

    before = states(told)
    deliver(told)

    assert before == [("round_run", in_flight), ("fleet_point", "waiting")]
    assert errors == ""
    assert states(told) == DONE
    assert [len(runs(folder, name)) for name in ("monitor/mail", "monitor")] == [1, 1]


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        ('import os; os.write(1, b\'{"level": "warn\'); os.abort()', [-signal.SIGABRT]),
        ("raise SystemExit(3)", [3]),
        ("import only_here", []),  # which the service has found
    ],
)
def test_a_process_that_cannot_begin_or_is_cut_off_is_told(
    told, tmp_path, monkeypatch, program, codes
):
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "only_here.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "beside")
    runs_as(monkeypatch, program)

    with capture_logs() as logged:
        deliver(told)

    assert [line["code"] for line in logged] == codes
