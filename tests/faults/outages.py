"""The database cut off around COMMIT, stopped, full, locked; a life goes on by itself."""

# ruff: noqa: S311  chance that can be repeated is what is wanted
import os
import random
import select
import signal
import socket
import sqlite3
import threading
import time
from dataclasses import replace
from pathlib import Path

from sqlalchemy import event
from sqlalchemy.engine import make_url

from monitor.storage import database
from tests.faults.lives import At, end_of, mended, names_of_points, start, whole_life
from tests.servers import Postgres

LOST_REQUEST, LOST_ANSWER = "the COMMIT never arrives", "the answer to COMMIT never arrives"
TOLD = "Nothing changed, or it is unknown whether it did; running again is safe"
WAITS = (
    "cannot be used now",
    "still to be done",
    "there is no task file yet",
    "ended, or hung",
    "the store did not say",  # it was cut off while the test asked it whether all is done
)


def cut_off(nursery, *, count, seed):
    """Cut a life's connections at some COMMITs, each in both ways."""
    names, found = names_of_points(nursery)
    commits = names.count("commit")
    chosen = sorted(random.Random(seed).sample(range(commits), min(count, commits)))
    met = 0
    for place in chosen:
        for way in (LOST_REQUEST, LOST_ANSWER):
            with nursery.world() as world:
                code = _cut(world, place, way)
                # What it could not write back is claimed by it for minutes, unless it is gone.
                found += mended(world, f"{way}, {place}", [code], kills=1, in_the_way=WAITS)
                met += _was_told(world)
    return {"cuts": 2 * len(chosen), "told": met, "violations": found}


class CommitProxy:
    """Forwards all there is, until the n-th COMMIT, counted from 0 over all connections."""

    def __init__(self, port, how, place):
        self.target = ("127.0.0.1", port)
        self.how = how
        self.left = place
        self.lock = threading.Lock()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def in_own_process(self) -> int:
        """Serve in a fork; returns its process id."""
        pid = os.fork()
        if pid:
            self.server.close()
            return pid
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client):
        with client, socket.create_connection(self.target) as server:
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is client and b"COMMIT" in data and self._is_the_one():
                        if self.how == LOST_ANSWER:
                            server.sendall(data)
                            server.recv(65536)  # so it has been done
                        return
                    (server if ready is client else client).sendall(data)

    def _is_the_one(self):
        with self.lock:
            self.left -= 1
            return self.left == -1


def _was_told(world):
    return any(TOLD in str(line["what"]) for line in world.noted("trouble"))


def _cut(world, place, way):
    url = make_url(world.url)
    proxy = CommitProxy(url.port, way, place)
    pid = proxy.in_own_process()
    try:
        behind = url.set(port=proxy.port).render_as_string(hide_password=False)
        return whole_life(replace(world, url=behind), patient=True)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def file_faults(nursery, *, pages):
    """Let a life meet a full disk after so many pages each, then one that finds the file locked."""
    _, found = names_of_points(nursery)
    told: list[str] = []
    for more in pages:
        with nursery.world() as world:
            found += _met_and_mended(world, f"full after {more} pages", told, _full(world, more))
    for place in pages:
        with nursery.world() as world:
            found += _met_and_mended(world, f"locked at {place}", told, _locked(world, place))
    return {"faults": 2 * len(pages), "told": told, "violations": found}


def _met_and_mended(world, what, told, codes):
    met = [each for line in world.noted("trouble") for each in line["what"]]
    told += [each for each in met if "cannot be used now" in each]
    return mended(world, what, codes, kills=1, in_the_way=WAITS)


def _full(world, more):
    with sqlite3.connect(world.path / "monitor.db") as store:
        store.execute("vacuum")  # pages that migrations freed would be room
        most = store.execute("pragma page_count").fetchone()[0] + more
    make = database._sqlite_engine

    def with_little_room(url):
        engine = make(url)
        event.listen(engine, "connect", lambda c, _: c.execute(f"pragma max_page_count={most}"))
        return engine

    database._sqlite_engine = with_little_room
    try:
        return [whole_life(world)]
    finally:
        database._sqlite_engine = make


def _locked(world, place):
    """Hold the write lock from a point on for longer than anybody waits."""
    database._LOCK_MS = 100

    def take(_):
        pid = os.fork()
        if not pid:
            store = sqlite3.connect(world.path / "monitor.db", isolation_level=None)
            store.execute("begin immediate")
            world.note("locker", os.getpid())
            time.sleep(600)
        while not world.noted("locker"):
            time.sleep(0.01)

    code = whole_life(world, at_points=At(place, take, only="begin"))
    for pid in world.noted("locker"):
        os.kill(pid, signal.SIGKILL)
    return [code]


def server_restarts(nursery, *, runs, seed, control, folder_of_server, port):
    """Stop the server as a crash does during a life, and start it again."""
    server = Postgres(Path(folder_of_server), tuple(control), port)
    rng = random.Random(seed)
    names, found = names_of_points(nursery)
    told = 0
    for run in range(runs):
        with nursery.world() as world:
            stops = At(rng.randrange(len(names)), lambda _: server.stop())
            pid = start(world, at_points=stops, patient=True)
            _start_again(server, pid, world)
            found += mended(world, f"run {run}", [end_of(pid)], kills=1, in_the_way=WAITS)
            told += _was_told(world)
    return {"runs": runs, "told": told, "violations": found}


def _start_again(server, pid, world):
    """Wait until the life has stopped the server, let it notice, and start the server."""
    running = server.folder / "data" / "postmaster.pid"
    while running.exists() and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.01)
    time.sleep(0.2)
    server.start()
