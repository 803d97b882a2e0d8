r"""Precision and recall of a segment (a country, a client) from the sample of the whole round.

Post-stratification: within a stratum items are drawn uniformly, so the labeled items of a segment
are a uniform sample of the segment's items of that stratum, and their number may be taken as
given. A round with sizes counted per stratum and segment is therefore a stratified sample of
each segment, only a thin one; many cells hold no label at all.

A cell without labels has no estimate by itself, and the same stratum's other labels say something
but not everything. So the prior of a segment is the mixture that ``change_point`` uses for earlier
rounds, with the rest of the stratum in the place of the past: either the segment is like the rest
(probability 0.1), or its odds differ in all strata of the class by one factor, of which seven up
to 12 either way are tried, and the rest counts for one of its rarer answers a stratum. Labels too
few to show that a segment differs would leave it too like the rest, so a quarter of the weight
stays with the segment's own labels (``robust_mixture``). ``benchmarks/segments.py`` compares it
with cells left alone and with stronger borrowing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.estimation.cell_matrix import MatrixDraws, cell_matrix
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.history.change_point import pool
from monitor.stats.history.robust_mixture import with_robust_weight
from monitor.stats.history.run_length import RunLength

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.beta_mixture import BetaMixture
    from monitor.stats.core.counts import Counts
    from monitor.stats.core.draws import Estimand
    from monitor.stats.design.restratify import EffectiveCounts
    from monitor.stats.history.change_point import ClassCounts


SEGMENT_POINTS = 2**10
"""Sobol points of a segment's estimate: its interval is wide, so ends right to 2e-3 suffice."""

DIFFERS = 0.9
"""Prior probability that a segment's rates are not those of the rest of its strata."""

WORTH = 1.0
"""What the rest of a stratum counts for if the segment differs, in its rarer answer."""

OWN_WEIGHT = 0.25
"""Share of the weight that the segment's own labels keep whatever the rest says. Without it recall
of a segment that alone is worse by a factor of 4.5 in the odds was covered in .84 to .90 where a
class is one stratum, with it in .92 to .93 (benchmarks/segments.py)."""

SHIFTS = tuple((shift, 1.0) for shift in (-2.5, -1.6, -0.8, 0.0, 0.8, 1.6, 2.5))
"""How the log odds of a segment's strata may differ from the rest's, all equally likely."""


_BORROWING = RunLength(hazard=DIFFERS, restart=WORTH, shifts=SHIFTS)


def segment_posterior(
    segment: Counts, whole: Counts, *, own_weight: float = OWN_WEIGHT
) -> JointPosterior:
    r"""Posterior of a segment's rates from its own labels and the rest of its strata.

    With :math:`A_h, B_h` the round's prior plus the positives and negatives of the *other*
    items of stratum h, the prior of the segment's rates in one predicted class is

    .. math:: 0.1 \prod_h \mathrm{Beta}(A_h, B_h) + \frac{0.9}{7} \sum_\delta
        \prod_h \mathrm{Beta}\big(s_h m_h, s_h (1-m_h)\big), \quad
        \operatorname{logit} m_h = \operatorname{logit}\frac{A_h}{A_h+B_h} + \delta

    with :math:`s_h = \min\{A_h+B_h,\ 1/\min(m_h, 1-m_h)\}`; its own labels then weigh the
    components and update each. It is ``change_point.pool`` with the rest as the reference. Of its
    weight ``own_weight`` then goes to the segment alone (``robust_mixture.with_robust_weight``).

    Parameters
    ----------
    segment
        Sizes and labels of the segment in each stratum, H strata in the order of ``whole``.
    whole
        The same of all items, the segment among them.
    own_weight
        From 0, nothing apart from what the labels choose, to 1.

    A ValueError if the strata differ, or the segment has more items or labels than the whole.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> whole = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=900, passed_size=9000)
    >>> part = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=90, passed_size=900)
    >>> segment_posterior(part, whole).mean().round(3)
    array([0.25 , 0.037])
    """
    positive, labeled = _rest(segment, whole)

    def of_class(chosen: Bools) -> BetaMixture:
        own = segment.positive[chosen], segment.labeled[chosen]
        return _borrowed(own, (positive[chosen], labeled[chosen]), own_weight)

    up = whole.is_flagged
    return JointPosterior(flagged=of_class(up), passed=of_class(~up))


def _borrowed(own: ClassCounts, others: ClassCounts, own_weight: float) -> BetaMixture:
    """Pool a segment's labels of one class with the rest of its strata."""
    borrowed = pool([own], reference=others, settings=_BORROWING)
    return with_robust_weight(borrowed, *own, share=own_weight)


def segment_draws(segment: Counts, whole: Counts, *, seed: int, points: int) -> MatrixDraws:
    """Draw the matrix of a segment of a round that was labeled by score cells.

    As ``segment_posterior``, each class one stratum of the plain labels that its cells are worth
    for the items of the segment: so the rest counts where the segment's own scores are.
    """
    positive, labeled = _rest(segment, whole)

    def law(flagged: bool, size: Floats, segment_counts: EffectiveCounts) -> BetaMixture:
        chosen = whole.is_flagged == flagged
        others = cell_counts(size, labeled[chosen], positive[chosen])
        return _borrowed(
            (segment_counts.positive, segment_counts.labeled),
            (others.positive, others.labeled),
            OWN_WEIGHT,
        )

    method = f"Beta mixture by score cells, {points} Sobol points"
    return MatrixDraws(
        partial(cell_matrix, segment, seed=seed, points=points, law=law), method=method
    )


def segment_estimates(
    segment: Counts,
    whole: Counts,
    *,
    metrics: Sequence[str] = ("precision", "recall"),
    estimands: Sequence[Estimand] = ("window",),
    seed: int = 0,
    points: int = SEGMENT_POINTS,
    cells: bool = False,
) -> list[MetricEstimate]:
    """Estimate metrics of one segment; see ``posterior.estimates``.

    ``None`` with the reason where the segment holds no labeled item of a class that the metric
    needs: what the other segments say is no estimate of this one. Coverage is measured by
    ``benchmarks/segments.py``. ``segment`` are its sizes and labels in each stratum, and ``whole``
    has all items, the segment's among them.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> whole = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=900, passed_size=9000)
    >>> part = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=90, passed_size=900)
    >>> print(segment_estimates(part, whole)[0])
    precision (window, round): 0.244 [0.056, 0.500]
    """
    drawn = segment_draws(segment, whole, seed=seed, points=points) if cells else None
    return estimates(
        segment,
        metrics=metrics,
        estimands=estimands,
        seed=seed,
        posterior=None if cells else segment_posterior(segment, whole),
        points=points,
        cells=cells,
        drawn=drawn,
    )


def _rest(segment: Counts, whole: Counts) -> tuple[Ints, Ints]:
    """Positives and labels of the other items; refuse a segment that is no part of the whole."""
    if not np.array_equal(segment.is_flagged, whole.is_flagged):
        of = (
            f"{each.is_flagged.sum()} flagged and {(~each.is_flagged).sum()} passed"
            for each in (segment, whole)
        )
        message = "the segment has {} strata, the whole {}".format(*of)
        raise ValueError(message)
    negative = whole.labeled - whole.positive
    for name, part, all_of_it in (
        ("items", segment.size, whole.size),
        ("positives", segment.positive, whole.positive),
        ("negatives", segment.labeled - segment.positive, negative),
    ):
        if np.any(part > all_of_it):
            message = (
                f"a segment is part of the whole, but has {part.tolist()} {name} of "
                f"{all_of_it.tolist()}"
            )
            raise ValueError(message)
    return whole.positive - segment.positive, whole.labeled - segment.labeled
