"""Monitors beside one another: a slow source holds up neither the others nor their alerts."""

import time
from contextlib import contextmanager
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from monitor.domain.errors import MonitorError, SchemaNewer
from monitor.rounds import claims
from monitor.rounds.opening import due
from monitor.service import worker_pool
from monitor.service.change_detection import ChangeDetector
from monitor.service.loop import TICK, MonitorWork, one_pass
from monitor.service.shared_reads import SharedScans
from monitor.storage.rounds import round_store
from monitor.storage.schema import VERSION_TABLE
from monitor.storage.tables import rounds
from tests.rounds.scene import MONDAY, WEEK, Scene, settings
from tests.rounds.sinks import Sink, application_of
from tests.workers import eventually


class Slow:
    """Lets a source wait in its scan until it may go on."""

    def __init__(self, scene):
        self.begun, self.go_on, self.scans = Event(), Event(), 0
        self._scan = scene.source.scan
        scene.source.scan = self.scan

    def scan(self, *arguments):
        self.scans += 1
        self.begun.set()
        assert self.go_on.wait(60)
        return self._scan(*arguments)


@pytest.fixture
def scenes(database, monkeypatch):
    monkeypatch.setattr(claims, "_stopping", Event())
    return [Scene(database, settings(grace=timedelta(0)), name=name) for name in ("slow", "quick")]


@pytest.fixture
def slow(scenes):
    scenes[0].week(1)
    return Slow(scenes[0])


def leave_in_mid_step(scenes):
    """Let the rounds be left by workers that are gone, so that they come one after the other."""
    for left_at, scene in enumerate(scenes, start=1):
        due.open_due(scene.context)
        its = rounds.c.id == scene.round(1).id
        scene.execute(update(rounds).where(its).values(claimed_by="gone", claimed_until=left_at))


@pytest.fixture
def log():
    return Sink()


@contextmanager
def working(scenes, log, held):
    """The loops over some monitors; what is held goes on in the end."""
    work = MonitorWork(application_of(scenes, log), None, TICK)
    with capture_logs():
        yield work
        held.go_on.set()
        work.stop()
        work.wait()


@pytest.fixture
def work(scenes, slow, log):
    with working(scenes, log, slow) as work:
        yield work


def states(scene):
    return [str(round_.state) for round_ in scene.read(round_store.find_rounds, scene.name)]


def test_a_notice_goes_out_while_another_monitor_is_worked_on(scenes, slow, work, log):
    work.rounds()
    assert slow.begun.wait(60)
    eventually(lambda: states(scenes[1]) == ["abandoned"])  # it has no predictions

    eventually(lambda: work.notices() or log.got)

    assert log.by_monitor() == [("quick", "round.abandoned")]
    assert states(scenes[0]) == ["open"]


def test_what_workers_left_in_mid_step_comes_one_after_the_other(scenes, slow, work):
    """Whatever ended them ends this one only when all else is done."""
    leave_in_mid_step(scenes)

    work.rounds()
    assert slow.begun.wait(60)
    time.sleep(0.5)  # more than it would need
    meanwhile = states(scenes[1])
    slow.go_on.set()

    eventually(lambda: states(scenes[1]) == ["abandoned"])
    assert meanwhile == ["open"]


def test_no_more_monitors_scan_at_once_than_there_are_workers(scenes, slow, log, monkeypatch):
    monkeypatch.setattr(worker_pool, "WORKERS", 1)

    with working(scenes, log, slow) as work:
        work.rounds()
        assert slow.begun.wait(60)
        time.sleep(0.5)  # more than the other one would need
        meanwhile = states(scenes[1])
        slow.go_on.set()
        eventually(lambda: states(scenes[1]) == ["abandoned"])

    assert meanwhile == []


class Bug(Exception):
    """What nobody expects."""


def breaks_for(name, of, monkeypatch, method):
    """Let a method break for one monitor, of which it gets the context or a look."""
    kept = getattr(of, method)

    def broken(self, asked, *arguments, **named):
        if name == getattr(asked, "context", asked).settings.name:
            raise Bug
        return kept(self, asked, *arguments, **named)

    monkeypatch.setattr(of, method, broken)


@pytest.mark.parametrize(
    ("of", "method"), [(SharedScans, "shared"), (ChangeDetector, "record_check")]
)
def test_a_bug_beside_a_look_holds_up_no_other_monitor(scenes, slow, work, monkeypatch, of, method):
    slow.go_on.set()
    leave_in_mid_step(scenes)
    breaks_for("slow", of, monkeypatch, method)

    with capture_logs() as logs:
        work.rounds()
        eventually(lambda: states(scenes[1]) == ["abandoned"])
        eventually(lambda: not work._monitor_pool._busy)

    logged = [line for line in logs if line["event"] == "monitor stopped by a bug"]
    assert [line["monitor"] for line in logged] == ["slow"]
    assert work.running._own_failing() == {"slow": True, "quick": False}
    assert work.running.last_success is None


def test_a_bug_beside_a_look_is_one_monitors_error_in_run_once_too(scenes, slow, work, monkeypatch):
    slow.go_on.set()
    breaks_for("slow", SharedScans, monkeypatch, "shared")

    done = one_pass(work.running.application, work.running.application.monitors)

    assert list(done.errors) == ["slow"]
    assert done.exit_code == 1
    assert states(scenes[1]) == ["abandoned"]


def test_a_broken_import_ends_the_process_after_the_other_looks(scenes, slow, work, monkeypatch):
    reasons: list[MonitorError] = []
    work.running.end = reasons.append

    def broken(*_):
        message = "partially initialized module 'mlflow' has no attribute 'version'"
        raise ImportError(message)

    slow.go_on.set()
    monkeypatch.setattr(scenes[0].source, "scan", broken)

    work.rounds()
    eventually(lambda: reasons)

    assert states(scenes[1]) == ["abandoned"]
    assert reasons[0].exit_code == 1
    assert "an import failed" in str(reasons[0])
    assert "partially initialized module 'mlflow'" in str(reasons[0])


def test_a_store_upgraded_by_a_newer_program_ends_the_process(scenes, slow, work):
    reasons: list[MonitorError] = []
    work.running.end = reasons.append
    slow.go_on.set()
    looks = work._monitor_pool._idle.needed([scenes[1].context])
    scenes[0].execute(f"update {VERSION_TABLE} set version_num = '9999'")

    for begin in (work.rounds, work.mlflow, work.notices):
        with pytest.raises(SchemaNewer, match="upgraded by a newer mlflow-pr-monitor"):
            begin()
    work._monitor_pool._check(looks[0], SharedScans(()).shared)  # begun before the upgrade

    assert {type(reason) for reason in reasons} == {SchemaNewer}
    assert len(reasons) == 4
    assert [states(scene) for scene in scenes] == [[], []]


def test_a_monitor_that_hangs_is_not_begun_again_and_others_are(scenes, slow, work):
    work.rounds()
    assert slow.begun.wait(60)
    eventually(lambda: states(scenes[1]) == ["abandoned"])  # before its next slot comes
    for scene in scenes:
        scene.now = MONDAY + WEEK

    eventually(lambda: work.rounds() or len(states(scenes[1])) == 2)

    assert slow.scans == 1
    assert states(scenes[0]) == ["open"]
    assert work.running.heartbeat.steps()[0] == "monitor slow"
    assert work.running.last_success is None
    slow.go_on.set()
    eventually(lambda: work.rounds() or work.running.last_success)


def test_no_further_monitor_is_begun_once_the_service_is_asked_to_stop(scenes, slow, work):
    begun = Event()
    pool = work._monitor_pool._pool
    for _ in range(pool._max_workers):  # every lane is taken until the service was asked to stop
        pool.submit(begun.wait, 60)
    work.rounds()

    work.stop()
    begun.set()
    eventually(pool._work_queue.empty)
    slow.go_on.set()
    work.wait()

    assert [states(scene) for scene in scenes] == [[], []]
    assert not slow.begun.is_set()
