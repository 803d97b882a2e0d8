r"""Two classifiers on the labels of several rounds, as one sample of all their windows together.

Rounds of one history have the same strata, and their windows share no item, so the items of all
windows are one population and the rounds are a stratified sample of it, with strata "round t,
stratum h". An item stands for :math:`w_i = N_{th}/n_{th}` items of its own round's stratum,
whatever other rounds drew, so totals are unbiased also where sizes, plans or rates changed between
rounds. A stratum of all rounds is one of the sample; within it labels are worth
:math:`(\sum w_i)^2/\sum w_i^2` plain ones (Kish 1965, as in ``grouped_cells``), which counts what
differs between rounds as doubt and never as knowledge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.cells import DRAWS
from monitor.stats.core.sample import LabeledSample
from monitor.stats.design.cell_counts import groups_of_cells
from monitor.stats.estimation.grouped_cells import (
    GroupedCells,
    RoundItems,
    plain_labels,
    summed_windows,
)
from monitor.stats.estimation.paired import Comparison, compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints


def compare_windows(
    rounds: Sequence[RoundItems],
    *,
    flagged: int,
    cells: bool,
    level: float = 0.95,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Comparison:
    """Compare two classifiers on the very items of the windows of some rounds (``compare``).

    What the other classifier flags is known in each stratum, so strata are divided by its decision
    too (post-stratification; Holt and Smith, *JRSS A* 142, 1979): only the actual classes are left
    to estimate. Neighbours of one class and decision are put together until they hold ten labels.
    Parts without any label are a stratum by themselves, of which the labels say nothing: it
    has Jeffreys' prior, so its items may be of either class. To take them for their
    neighbours would be narrower and too sure: of a challenger that is wrong about items with low
    scores few are ever labeled.

    The ``rounds`` have the same strata, of which the first ``flagged`` are flagged. Where these are
    score ``cells``, neighbours are put together until they hold ten labeled items a round: more
    rounds fill them, and do not make them finer. A ValueError if a predicted class of a round holds
    items and none is labeled; without ``cells``, a stratum.
    """
    other = np.concatenate([each.other for each in rounds])
    sample = _by_decision(summed_windows(rounds, flagged=flagged, cells=cells), rounds, other)
    return compare(
        sample.items,
        sample.items.is_flagged,
        other,
        second_possible=np.column_stack([~sample.other_flags, sample.other_flags]),
        level=level,
        estimand="window",
        rng=rng,
        draws=draws,
    )


class _ByDecision(NamedTuple):
    """A sample whose strata are of one decision each, and whether the other flags theirs, (H,)."""

    items: LabeledSample
    other_flags: Bools


def _by_decision(grouped: GroupedCells, rounds: Sequence[RoundItems], other: Bools) -> _ByDecision:
    """Divide the strata by the other's decision, whose items were counted in each of them."""
    sample, parts = grouped.sample, len(grouped.sample.size)
    flagged = np.zeros(parts)
    for each in rounds:
        np.add.at(flagged, grouped.group, each.other_flagged)
    # where ids come twice, numbers of flagged items are estimates and may contradict the labels
    surely_flagged, surely_passed = (
        np.bincount(sample.stratum[other == flags], minlength=parts) for flags in (True, False)
    )
    flagged = np.clip(flagged, surely_flagged, sample.size - surely_passed)
    up = np.arange(parts) < sample.flagged
    sizes: list[float] = []
    flags: list[bool] = []
    stratum = np.zeros(len(other), dtype=np.int64)
    stands_for = np.zeros(len(other))
    for first in (True, False):
        for second in (True, False):
            size = np.where(up == first, flagged if second else sample.size - flagged, 0)
            members = (other == second) & (sample.is_flagged == first)
            merged = _merged(size, sample.stratum[members], sample.weight[members])
            stratum[members] = len(sizes) + merged.stratum
            stands_for[members] = merged.stands_for
            sizes += merged.size
            flags += [second] * len(merged.size)
        if first:
            of_flagged = len(sizes)
    items = LabeledSample(
        stratum,
        sample.positive,
        size=np.rint(sizes),
        flagged=of_flagged,
        worth=plain_labels(stands_for, stratum),
        may_lack_labels=True,
    )
    return _ByDecision(items, np.array(flags))


class _Merged(NamedTuple):
    """Strata of one class and decision: sizes, the stratum of each item, what it stands for."""

    size: list[float]
    stratum: Ints
    stands_for: Floats


def _merged(size: Floats, stratum: Ints, weight: Floats) -> _Merged:
    """Merge neighbors until they hold ten labels; a stratum without labels stays by itself."""
    answers = np.bincount(stratum, minlength=len(size))
    seen = np.bincount(stratum, weights=weight, minlength=len(size))
    labeled = np.flatnonzero(answers)
    group = np.zeros(len(size), dtype=np.int64)
    group[labeled] = groups_of_cells(answers[labeled])
    stands_for = weight * np.divide(size, seen, out=np.ones(len(size)), where=seen > 0)[stratum]
    sizes = np.bincount(group[labeled], weights=size[labeled]).tolist()
    return _Merged([*sizes, size[answers == 0].sum()], group[stratum], stands_for)
