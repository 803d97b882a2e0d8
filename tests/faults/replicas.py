"""Several lives at once: some killed, some stopped for longer than their claims last."""

# ruff: noqa: S311  chance that can be repeated is what is wanted
import os
import random
import signal
import time

from monitor.storage import database
from tests.faults.lives import At, die, end_of, mended, names_of_points, start, stop
from tests.faults.world import claims_last

CLAIM, USUAL_CLAIM = 0.3, 300
"""Seconds that a claim lasts where lives are stopped for longer, and about as many in life."""

PATIENCE = 3.0
OTHERS = (
    "still to be done",
    "there is no task file yet",
    "moved by another worker",
    "taken over by another worker",
    "got new estimates meanwhile",
    "opened this history meanwhile",
    "MLflow answers too slowly",
    "other workers keep making MLflow runs",
    "was removed while it was written",
    "ended, or hung, before it was done",
)
"""What a life may meet beside others, and gets past."""

LOCKED = (*OTHERS, "cannot be used now")
"""And what it may meet while a process is stopped in a transaction."""


def together(nursery, *, replicas, runs, seed):
    """Let replicas go through two rounds side by side, and kill some of them."""
    rng = random.Random(seed)
    names, found = names_of_points(nursery)
    kills = 0
    for run in range(runs):
        with nursery.world(rounds=2) as world:
            left = [int(rng.random() * len(names)) for _ in range(replicas)]
            lives = {start(world, at_points=At(place, die), patient=True): place for place in left}
            mine = _until_all_end(world, lives)
            where = f"run {run} of {replicas} replicas, seed {seed}"
            found += mended(world, where, kills=mine, in_the_way=OTHERS)
            kills += mine
    return {"runs": runs, "kills": kills, "violations": found}


def _until_all_end(world, lives):
    """Begin a life in place of each that was killed; returns how many were."""
    kills = 0
    while lives:
        pid, status = os.wait()
        if lives.pop(pid, None) is None:
            continue
        if os.WIFSIGNALED(status):
            kills += 1
            lives[start(world, patient=True)] = -1
    return kills


def stopped(nursery, *, count, seed, only=""):
    """Stop a life at a point for longer than its claims, let another go on, then wake it."""
    names, chosen, found = _points(nursery, count, seed, only)
    for place in chosen:
        with nursery.world() as world:
            sleeper = _stopped_at(world, place)
            time.sleep(CLAIM)
            other = start(world, patient=True)
            _wait_for(other, world)
            os.kill(sleeper, signal.SIGCONT)
            found += _ended(world, (sleeper, other), f"{place} {names[place]}")
    return {"points": len(names), "stops": len(chosen), "violations": found}


def stopped_twice(nursery, *, count, seed):
    """Stop a life, then the one that took over from it; wake the first, then the second."""
    names, chosen, found = _points(nursery, count, seed)
    rng = random.Random(seed)
    for place in chosen:
        with nursery.world() as world:
            first = _stopped_at(world, place)
            time.sleep(CLAIM)
            second = start(world, at_points=At(rng.randrange(60), stop), patient=True)
            _wait_for(second, world)
            os.kill(first, signal.SIGCONT)
            _wait_for(first, world)
            os.kill(second, signal.SIGCONT)
            found += _ended(world, (first, second), f"{place} {names[place]}", stops=2)
    return {"points": len(names), "stops": 2 * len(chosen), "violations": found}


def _points(nursery, count, seed, only=""):
    """Shorten what is waited for, and choose points, ``only`` of those whose name has it."""
    names, found = names_of_points(nursery)
    database._LOCK_MS = database._IDLE_MS = 100
    all_of_them = [place for place, name in enumerate(names) if only in name]
    places = random.Random(seed).sample(all_of_them, min(count, len(all_of_them)))
    return names, sorted(places), found


def _stopped_at(world, place):
    claims_last(CLAIM)
    pid = start(world, at_points=At(place, stop), patient=True)
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        message = f"the life ended with {status} before point {place}"
        raise AssertionError(message)
    return pid


def _wait_for(pid, world):
    """Wait until a life ends or stops, but not for ever: the sleeper may hold SQLite's lock."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.01)


def _ended(world, pids, where, stops=1):
    codes = [end_of(pid) for pid in pids]
    claims_last(USUAL_CLAIM)
    return mended(world, where, codes, kills=stops * 3, in_the_way=LOCKED)
