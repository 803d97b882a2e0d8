"""Kills at every crash point of a round."""

from tests.faults.lives import (
    At,
    die,
    judge,
    labels_now,
    names_of_points,
    whole_life,
)
from tests.faults.world import ENDS_LATE, FIRES_LATE, LATE_ALERT

KILLED = -9


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
    return _where_a_late_round_closes(nursery, FIRES_LATE, "alert.firing", every_nth)


def where_an_alert_ends(nursery, *, every_nth=1):
    """Kill at points of the pass in which a round closes after a newer one and ends an alert."""
    return _where_a_late_round_closes(nursery, ENDS_LATE, "alert.resolved", every_nth)


def _where_a_late_round_closes(nursery, story, event, every_nth):
    def check(world):
        told = [line["event"] for line in world.noted("told")].count(event)
        return [f"{event} was told {told} times, wanted by the log and a hook"] * (told != 2)

    return _killed_in_a_stage(nursery, story, LATE_ALERT, every_nth, check)


def _killed_in_a_stage(nursery, story, stage, every_nth, check):
    """Kill lives at points of one stage of a story; ``check`` looks at a life without a kill."""
    names, found = names_of_points(nursery, story)
    with nursery.world(story) as world:
        whole_life(world, at_points=lambda _: world.note("point", max(world.noted("stage"))))
        stages = world.noted("point")
        found += check(world)
    of_stage = [
        place
        for place, (when, name) in enumerate(zip(stages, names, strict=True))
        if when == stage and not name.startswith(("before", "begin"))
    ]
    chosen = of_stage[::every_nth]
    for place in chosen:
        with nursery.world(story) as world:
            found += _wrong_after_a_kill(world, place, names[place])
    return {"points": len(of_stage), "kills": len(chosen), "violations": found}


def _wrong_after_a_kill(world, place, name):
    """Kill one life at a point, let the next go to the end; say what is wrong then."""
    died = whole_life(world, at_points=At(place, die, lambda met: world.note("killed", met)))
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
