"""Kills at every crash point of a round, and at random ones over several rounds and lives."""

# ruff: noqa: S311  chance that can be repeated is what is wanted
from __future__ import annotations

import os
import random
import signal
import time

from monitor.presentation.delivery import INTERRUPTED
from tests.faults.lives import (
    At,
    die,
    end_of,
    judge,
    labels_now,
    names_of_points,
    start,
    whole_life,
)
from tests.faults.world import LATE_ALERT, SECOND_WAVE

KILLED = -9
LATE_ROUNDS = 3
"""Rounds of the story in which one closes after a newer one and fires."""


def everywhere(nursery, *, every=False, every_nth=1, only=""):
    """Kill one life at points of a round, let the next go to the end, and look at everything.

    A point before a call, or before a transaction, is the same state as the point before it;
    unless ``every`` is asked for they are left out.
    """
    names, found = names_of_points(nursery)
    chosen = [
        place
        for place, name in enumerate(names)
        if only in name and (every or not name.startswith(("before", "begin")))
    ]
    chosen = chosen[::every_nth]
    for place in chosen:
        with nursery.world() as world:
            found += _wrong_after_a_kill(world, place, names[place])
    return {"points": len(names), "kills": len(chosen), "violations": found}


def where_a_late_round_fires(nursery, *, every_nth=1):
    """Kill at points of the pass in which a round closes after a newer one and fires an alert."""
    return _where_a_late_round_closes(nursery, "alert.firing", every_nth, late=True)


def where_an_alert_ends(nursery, *, every_nth=1):
    """Kill at points of the pass in which a round closes after a newer one and ends an alert."""
    return _where_a_late_round_closes(nursery, "alert.resolved", every_nth, recovers=True)


def _where_a_late_round_closes(nursery, event, every_nth, **story):
    story |= {"rounds": LATE_ROUNDS}
    names, found = names_of_points(nursery, **story)
    with nursery.world(**story) as world:
        whole_life(world, at_points=lambda _: world.note("point", max(world.noted("stage"))))
        stages = world.noted("point")
        told = [line["event"] for line in world.noted("told")].count(event)
    found += [f"{event} was told {told} times, wanted by the log and a hook"] * (told != 2)
    done = _killed_in_a_stage(nursery, LATE_ALERT, names, stages, every_nth, **story)
    return done | {"violations": [*found, *done["violations"]]}


def where_a_second_wave_goes_out(nursery):
    """Kill at points of the pass in which a first round draws and hands out its second wave."""
    names, found = names_of_points(nursery, two_waves=True)
    with nursery.world(two_waves=True) as world:
        whole_life(world, at_points=lambda _: world.note("point", max(world.noted("stage"))))
        stages, tasks = world.noted("point"), len(list((world.path / "labels").glob("*.csv")))
    found += [f"{tasks} files of tasks were written, wanted one a wave"] * (tasks != 2)
    done = _killed_in_a_stage(nursery, SECOND_WAVE, names, stages, two_waves=True)
    return done | {"violations": [*found, *done["violations"]]}


def _killed_in_a_stage(nursery, stage, names, stages, every_nth=1, **story):
    """Kill lives at points of one stage, given the name and the stage of each point."""
    of_stage = [
        place
        for place, (when, name) in enumerate(zip(stages, names, strict=True))
        if when == stage and not name.startswith(("before", "begin"))
    ]
    chosen, found = of_stage[::every_nth], []
    for place in chosen:
        with nursery.world(**story) as world:
            found += _wrong_after_a_kill(world, place, names[place])
    return {"points": len(of_stage), "kills": len(chosen), "violations": found}


def _wrong_after_a_kill(world, place, name):
    """Kill one life at a point, let the next go to the end; say what is wrong then."""
    died = _killed_at(world, place)
    accepted = labels_now(world)
    ended = whole_life(world)
    wrong = judge(world, kills=1, accepted=accepted)
    if (died, ended) != (KILLED, 0):
        wrong.append(f"the lives ended with {died} and {ended}")
    if world.noted("killed") != [name]:
        wrong.append(f"{world.noted('killed')} was met instead of {name}")
    return [f"{place} {name}: {each}" for each in wrong]


def points(nursery):
    """Names of the crash points of a round."""
    names, found = names_of_points(nursery)
    return {"names": names, "violations": found}


def _killed_at(world, place):
    return whole_life(world, at_points=At(place, die, lambda name: world.note("killed", name)))


DEADLY = ("is not asked to take", INTERRUPTED, "still to be done: an effect")
LONGEST = 0.15
"""Seconds of a round, about, within which a kill at a random time falls."""


def at_random(nursery, *, runs, seed):
    """Go through one to three rounds in lives that are killed at random points or times."""
    rng = random.Random(seed)
    names, found = names_of_points(nursery)
    usual, kills = len(names), 0
    for run in range(runs):
        rounds = rng.randint(1, 3)
        late = rounds == LATE_ROUNDS and rng.random() < 0.5
        with nursery.world(rounds, late=late) as world:
            mine = _killed_often(world, rng, rng.randint(4, 8), usual * rounds)
            ended = whole_life(world, patient=True)
            wrong = judge(world, kills=mine, accepted=labels_now(world), in_the_way=DEADLY)
            wrong += [f"the last life ended with {ended}"] if ended else []
            found += [f"run {run} of seed {seed}: {each}" for each in wrong]
            kills += mine
    return {"runs": runs, "kills": kills, "violations": found}


def _killed_often(world, rng, times, points):
    """Begin lives until so many were killed, or one came to the end; returns how many were."""
    accepted: set[tuple[str, ...]] = set()
    kills = 0
    while kills < times:
        share = rng.random() * 2 / (times + 1)  # so that the last one dies near the end
        if rng.random() < 0.5:
            code = whole_life(world, at_points=At(int(share * points), die), patient=True)
        else:
            code = _killed_at_a_time(world, share * LONGEST * world.rounds)
        if code not in {0, KILLED}:
            message = f"a life ended with {code}: {world.noted('trouble')}"
            raise AssertionError(message)
        gone = accepted - (accepted := labels_now(world))
        if gone:
            message = f"stored labels are gone: {gone}"
            raise AssertionError(message)
        if code == 0:
            break
        kills += 1
    return kills


def _killed_at_a_time(world, seconds):
    pid = start(world, patient=True)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return end_of(pid)
