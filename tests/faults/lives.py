"""A warmed process whose forks are the lives of the program: killed, stopped, begun anew.

`main` takes one command per line and answers each with one line; every command runs in a fork of
its own, so what it patches ends with it.
"""

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from monitor.domain import crashpoint
from monitor.storage import schema
from monitor.storage.database import Database
from tests.faults import bugs
from tests.faults import world as worlds
from tests.faults.invariants import CHECKS, Case, accepted_labels
from tests.faults.world import World, live
from tests.servers import execute_on, new_database

COMMANDS = ("sweeps", "replicas", "outages")
"""Modules whose functions are commands; loaded before anything forks."""

SECRET = "canary-of-a-secret"  # noqa: S105  the password in the store's address


@dataclass
class Nursery:
    """Gives each run a world of its own: an empty store, and an MLflow without runs."""

    folder: Path
    server: str
    count: int = 0
    _template: str = field(default="", init=False)

    def __post_init__(self):
        if self.server:
            self._template = f"template_{os.getpid()}"
            url = self._new_database(self._template)
        else:
            self._template = str(self.folder / "template.db")
            url = f"sqlite:///{self._template}"
        database = Database(url)
        schema.ready(database)
        database.close()
        with self.world() as world:
            live(world)  # so that its forks find everything loaded and compiled

    @contextmanager
    def world(self, rounds=1):
        """A new world, gone afterwards."""
        self.count += 1
        folder = self.folder / f"world{self.count}"
        (folder / "labels").mkdir(parents=True)
        name = f"world_{os.getpid()}_{self.count}"
        url = self._new_store(folder, name)
        try:
            yield World(url, str(folder), rounds)
        finally:
            if self.server:
                self._drop(name)
            shutil.rmtree(folder)

    def _new_store(self, folder, name):
        if self.server:
            return self._new_database(name, more=f"template {self._template}")
        shutil.copy(self._template, folder / "monitor.db")
        return f"sqlite:///{folder}/monitor.db"

    def _new_database(self, name, **more):
        url = make_url(new_database(self.server, name, **more)).set(password=SECRET)
        return url.render_as_string(hide_password=False)

    def _drop(self, name):
        execute_on(self.server, f"drop database if exists {name} with (force)")

    def close(self):
        if self.server:
            self._drop(self._template)


def start(world, *, at_points=None, patient=False) -> int:
    """Begin a life; ``at_points`` is what happens at its crash points."""
    pid = os.fork()
    if pid:
        return pid
    try:
        die_with_parent()
        crashpoint.hook = at_points
        live(world, patient=patient)
    except BaseException:  # noqa: BLE001  whatever ended it is told
        worlds.died(world)
        os._exit(1)
    os._exit(0)


def die_with_parent() -> None:
    """Leave no stopped or endless process behind when a test is interrupted (Linux only)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def end_of(pid) -> int:
    """Exit code of a life; -9 where it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def whole_life(world, **named) -> int:
    return end_of(start(world, **named))


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def stop(*_):
    os.kill(os.getpid(), signal.SIGSTOP)


class At:
    """Do something at the n-th crash point of a life, counted from 0; with ``note``, tell which.

    With ``only``, points whose name has it are counted alone.
    """

    def __init__(self, place, do, note=lambda _: None, only=""):
        self.left = place
        self.do = do
        self.note = note
        self.only = only

    def __call__(self, name):
        if self.only not in name:
            return
        if self.left == 0:
            self.note(name)
            self.do(name)
        self.left -= 1


def names_of_points(nursery) -> tuple[list[str], list[str]]:
    """Names of the crash points of a life that nothing happens to, in order, and what was wrong."""
    with nursery.world() as world:
        code = whole_life(world, at_points=lambda name: world.note("point", name))
        found = [*judge(world, kills=0), *([f"it ended with {code}"] if code else [])]
        return world.noted("point"), [f"a quiet life: {each}" for each in found]


def judge(world, *, kills, accepted=frozenset(), in_the_way=()) -> list[str]:
    """All that is wrong with a world in which everything should be done.

    ``in_the_way`` is what lives may have met that a later one had to get past.
    """
    database = Database(world.url)
    outside = worlds.outside(world, (worlds.CANARY, SECRET))
    case = Case(database, outside, world.stages[-1].now, kills, accepted)
    found = [each for check in CHECKS for each in check(case)]
    database.close()
    met = [what for line in world.noted("trouble") for what in line["what"]]
    return found + [f"trouble: {what}" for what in met if not _may_be(what, in_the_way)]


def mended(world, where, codes=(), **judged) -> list[str]:
    """Let one more life go to the end; say what is wrong then, and if any life ended badly."""
    last = whole_life(world, patient=True)
    wrong = judge(world, **judged)
    wrong += [f"the lives ended with {codes}, then {last}"] if any([*codes, last]) else []
    return [f"{where}: {each}" for each in wrong]


def _may_be(what, in_the_way):
    is_bug = "a bug" in what or "Traceback" in what or "broke with" in what
    return not is_bug and any(each in what for each in in_the_way)


def labels_now(world):
    """Label events that are stored at this moment."""
    database = Database(world.url)
    try:
        return accepted_labels(database)
    finally:
        database.close()


def obey(line) -> dict[str, Any]:
    """Run one command in this process."""
    asked = json.loads(line)
    bugs.application(asked.pop("bug", None))
    module, _, command = asked.pop("do").partition(".")
    folder = Path(tempfile.mkdtemp(prefix="world-", dir=asked.pop("folder")))
    nursery = Nursery(folder, asked.pop("server", ""))
    try:
        do = getattr(import_module(f"tests.faults.{module}"), command)
        said: dict[str, Any] = do(nursery, **asked)
        said["violations"] = [each[:600] for each in said["violations"][:20]]
        return said
    finally:
        nursery.close()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    worlds.prepare()
    for name in COMMANDS:
        import_module(f"tests.faults.{name}")
    out = os.dup(1)
    os.dup2(
        os.open(os.devnull, os.O_WRONLY), 2
    )  # nobody reads it, and a full pipe stops who writes
    os.write(out, b"ready\n")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            die_with_parent()
            began = time.process_time()
            try:
                said = obey(line)
            except BaseException:  # noqa: BLE001  whatever ended it is told
                said = {"error": traceback.format_exc()}
            spent = os.times()
            said["cpu"] = round(
                time.process_time() - began + spent.children_user + spent.children_system, 1
            )
            os.write(out, (json.dumps(said) + "\n").encode())
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
