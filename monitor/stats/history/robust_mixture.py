r"""How much weight a round's own labels keep, regardless of its history.

A history that agrees with a round narrows it; one that is out of date misleads it. Both look
alike where a change is small against the noise of a round, so no weighing by evidence alone can
tell them apart in time. A fixed share q of the weight for the round alone can: with q = .25 the
mixture's 95 % interval always holds the round's own 80 % interval, since the tails of that part
weigh .25 * .10 = .025 each. It reaches from there to the history until the two are told apart,
so after a change it misses at its outer end only. In the Gaussian case with a history known
exactly this is, for its coverage after any change, the interval of least expected width where
nothing changed (Pratt, "Shorter confidence intervals for the mean of a normal distribution with
known variance", 1963, doi:10.1214/aoms/1177704170).

So the weight q is calibrated and no label moves it: the interval is one of *calibrated pooling*, a
confidence interval in Pratt's sense, and not a credible one. How often it holds the truth is what
simulated rounds found (benchmarks/pooling_coverage.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture, prior_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


ROBUST_WEIGHT = 0.3
"""Share of the weight that the round alone keeps. A pooled 95 % interval then always holds the
inner 1 - .05/.3 = 83 % of the round's own part; less covers too seldom after changes, more narrows
less (benchmarks/pooling_coverage.py)."""


def with_robust_weight(
    mixture: BetaMixture, positive: ArrayLike, labeled: ArrayLike, *, share: float = ROBUST_WEIGHT
) -> BetaMixture:
    r"""Reserve a share of the weight for the round alone: one component more, the last.

    .. math:: (1-q) \sum_j w_j \prod_h \mathrm{Beta}(a_{jh}, b_{jh})
        + q \prod_h \mathrm{Beta}(a_0 + y_h, a_0 + n_h - y_h), \quad a_0 = 1/(2H)

    A stratum without labels has no weight: there the mean and the variance come from ``mixture``,
    and so does all where no stratum was labeled. The newest round's labels, ``positive`` and
    ``labeled``, ``(H,)``, are in ``mixture`` too. ``share`` is the weight q of the round alone.

    Raises
    ------
    ValueError
        If ``share`` lies outside [0, 1].

    Examples
    --------
    >>> pooled = BetaMixture.single(np.array([812.0]), np.array([203.0]))
    >>> both = with_robust_weight(pooled, [12], [15], share=0.25)
    >>> both.weight, both.alpha.ravel(), both.beta.ravel()
    (array([0.75, 0.25]), array([812. ,  12.5]), array([203. ,   3.5]))
    """
    if not 0 <= share <= 1:
        message = f"share must lie between 0 and 1, got {share!r}"
        raise ValueError(message)
    y, n = np.asarray(positive, dtype=np.float64), np.asarray(labeled, dtype=np.float64)
    if share == 0 or not n.any():
        return mixture
    prior = prior_count(n.size)
    other_alpha, other_beta = mixture.matched()
    return BetaMixture(
        weight=np.append((1 - share) * mixture.weight, share),
        alpha=np.vstack([mixture.alpha, np.where(n > 0, prior + y, other_alpha)]),
        beta=np.vstack([mixture.beta, np.where(n > 0, prior + n - y, other_beta)]),
    )
