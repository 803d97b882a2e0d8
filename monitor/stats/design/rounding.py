"""Whole numbers of labels from fractional plans, within a total and within each stratum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints


_NOISE = 1e-9  # a plan this little above a whole number means that number


def rounded_up(plan: Floats, size: Floats) -> Ints:
    """Round every stratum up, but not past its size."""
    return np.minimum(np.ceil(plan - _NOISE), np.floor(size)).astype(np.int64)


def at_most_total(plan: Floats, is_flagged: Bools, total: int) -> Ints:
    """Round down, then give what remains of the total to the largest remainders.

    Equal remainders are served by plan size, one class after the other, so that a tiny total
    reaches both classes.
    """
    labels = np.floor(plan + _NOISE).astype(np.int64)
    remainder = np.round(plan - labels, 9)  # else a search's last bits would break ties
    order = np.lexsort((_rank_in_class(plan, is_flagged), -remainder))
    open_strata = [h for h in order if remainder[h] > 0]
    labels[open_strata[: max(0, total - int(labels.sum()))]] += 1
    return labels


def _rank_in_class(plan: Floats, is_flagged: Bools) -> Ints:
    """Place of each stratum in its class, the largest plan first."""
    rank = np.empty(len(plan), dtype=np.int64)
    for members in (np.flatnonzero(is_flagged), np.flatnonzero(~is_flagged)):
        rank[members[np.argsort(-plan[members], kind="stable")]] = np.arange(len(members))
    return rank


def level_total(high: Floats, is_flagged: Bools, total: int) -> Ints:
    """Share a total out evenly, no stratum above its ``high``: one level for all, cut there."""
    unassigned, plan = float(total), np.zeros(len(high))
    for position, h in enumerate(np.argsort(high, kind="stable")):
        plan[h] = min(high[h], unassigned / (len(high) - position))
        unassigned -= plan[h]
    return at_most_total(plan, is_flagged, total)


def proportional_above(low: Floats, size: Floats, total: float) -> Floats:
    """Share a total out: ``low`` to each stratum, the rest in proportion to what it has left."""
    room = size - low
    if room.sum() == 0:
        return low.copy()
    share: Floats = room / room.sum()
    return low + (total - float(low.sum())) * share
