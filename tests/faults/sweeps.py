"""Kills at every crash point of a round."""

from __future__ import annotations

from tests.faults.lives import (
    At,
    die,
    judge,
    labels_now,
    names_of_points,
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


def where_a_second_wave_goes_out(nursery, *, every_nth=1):
    """Kill at points of the pass in which a first round draws and hands out its second wave."""
    names, found = names_of_points(nursery, two_waves=True)
    with nursery.world(two_waves=True) as world:
        whole_life(world, at_points=lambda _: world.note("point", max(world.noted("stage"))))
        stages, tasks = world.noted("point"), len(list((world.path / "labels").glob("*.csv")))
    found += [f"{tasks} files of tasks were written, wanted one a wave"] * (tasks != 2)
    every_nth = 1 + every_nth // 6  # its points are few
    done = _killed_in_a_stage(nursery, SECOND_WAVE, names, stages, every_nth, two_waves=True)
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
