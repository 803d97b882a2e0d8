"""Kills at every crash point of a round."""

from tests.faults.lives import At, die, judge, labels_now, names_of_points, whole_life

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
    return {"points": names, "kills": len(chosen), "violations": found}


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
