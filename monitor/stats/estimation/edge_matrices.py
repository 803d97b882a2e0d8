r"""Confusion matrices at the edge of what the labels allow: an answer never seen may not exist.

A Beta posterior after no positive label leaves out the rate 0, by a hair, however many labels
there are; so an equal-tailed interval for recall would leave out 1 although not one missed
positive was seen, and would hold a nearly perfect recall hardly ever. Brown, Cai & DasGupta,
"Interval Estimation for a Binomial Proportion", Statistical Science 16 (2001), section 4.1.1, let
the Jeffreys interval reach 0 there; so do we, for every metric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.metrics import Matrix

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats
    from monitor.stats.core.counts import Counts


def matrices_at_the_edge(counts: Counts, matrix: Matrix) -> list[Matrix]:
    """Matrices in which the answers that no label of a class had are set to none.

    The draws of ``matrix`` with one class changed, with the other, and with both: none to three of
    them. An unlabeled class says nothing, so it has no edge. The ends of an interval are taken over
    the draws and all of these; they only move where some count is 0.
    """
    up = counts.is_flagged
    flagged = [(matrix.tp, matrix.fp), *_edge(counts, up, matrix.flagged)]
    passed = [(matrix.fn, matrix.tn), *_edge(counts, ~up, matrix.passed)]
    return [Matrix(*up, *down) for down in passed for up in flagged][1:]


def _edge(counts: Counts, members: Bools, items: Floats) -> list[tuple[Floats, Floats]]:
    """Positives and negatives of a class without the answer never seen; none if both were."""
    labeled, seen = counts.labeled[members].sum(), counts.positive[members].sum()
    if labeled == 0 or 0 < seen < labeled:
        return []
    nothing = np.zeros_like(items)
    return [(nothing, items) if seen == 0 else (items, nothing)]
