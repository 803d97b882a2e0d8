"""A worker's name tells others on its machine whether it still runs."""

import os
import socket
import sys

import pytest

from monitor.storage import worker
from tests.workers import worker as started_worker


def test_a_process_is_named_by_its_place_its_id_and_its_start():
    place, pid, started = worker.worker_name().split("/")

    assert place.startswith(socket.gethostname())
    assert pid == str(os.getpid())
    assert started
    assert worker.worker_name() == worker.worker_name(os.getpid())
    assert not worker.is_dead(worker.worker_name())
    assert not worker.is_dead(worker.worker_name(os.getppid()))


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@linux
def test_a_process_that_ended_is_gone_even_before_its_parent_looks():
    with started_worker("pause()") as other:
        other.wait_for("ready")
        name = worker.worker_name(other.process.pid)
        alive = worker.is_dead(name)
        other.process.kill()
        os.waitid(os.P_PID, other.process.pid, os.WEXITED | os.WNOWAIT)  # now a zombie
        zombie = worker.is_dead(name)
        other.process.wait()

        assert (alive, zombie, worker.is_dead(name)) == (False, True, True)


@linux
def test_another_process_with_the_same_id_does_not_keep_a_claim():
    place, pid, started = worker.worker_name().split("/")

    assert worker.is_dead(f"{place}/{pid}/{int(started) - 1}")


@pytest.mark.parametrize(
    "name", ["elsewhere/1/1", "", "x", "a/b/c", "{place}/{pid}/?", "{place}/x/1", "{place}"]
)
def test_a_worker_of_whom_nothing_can_be_known_is_not_gone(name):
    place, pid, _ = worker.worker_name().split("/")

    assert not worker.is_dead(name.format(place=place, pid=pid))


@linux
def test_a_process_that_proc_hides_is_not_gone(monkeypatch, tmp_path):
    """As with `hidepid` or systemd's ProtectProc=invisible, for a process of another user."""
    name = worker.worker_name()
    self_only = tmp_path / "proc"
    (self_only / "self").mkdir(parents=True)
    (self_only / "self" / "stat").write_text("")
    place = name.split("/")[0]
    monkeypatch.setattr(worker, "_host", lambda: place)
    monkeypatch.setattr(worker, "_PROC", self_only)

    assert not worker.is_dead(name)


def test_without_proc_no_worker_is_taken_for_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(worker, "_PROC", tmp_path)

    name = worker.worker_name()

    assert name == f"{socket.gethostname()}/{os.getpid()}/?"
    assert not worker.is_dead(name)
