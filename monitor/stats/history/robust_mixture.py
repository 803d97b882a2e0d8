r"""How much weight a round's own labels keep, whatever its history says.

A history that agrees with a round narrows it; one that is out of date misleads it. Both look
alike where a change is small against the noise of a round, so no weighing by evidence alone can
tell them apart in time. A fixed share q of the weight for the round alone can: with q = .25 the
mixture's 95 % interval always holds the round's own 80 % interval, since the tails of that part
weigh .25 * .10 = .025 each. It reaches from there to the history until the two are told apart,
so after a change it misses at its outer end only. In the Gaussian case with a history known
exactly this is, for its coverage after any change, the interval of least expected width where
nothing changed (Pratt, "Shorter confidence intervals for the mean of a normal distribution with
known variance", 1963, doi:10.1214/aoms/1177704170).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture, prior_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats: TypeAlias = NDArray[np.float64]

ROBUST_WEIGHT = 0.16
"""Share of the weight that the round alone keeps. A pooled 95 % interval then always holds the
inner 1 - .05/.16 = 69 % of the round's own part; less covers too seldom after drops,
more narrows less (benchmarks/pooling_coverage.py)."""

SHIFT = 0.4
"""Standard errors of a round by which its own part is shifted to the worse: an interval that is too
good after a drop costs more than one that is too bad after a repair. More would cover rises less
(benchmarks/pooling_coverage.py)."""


def with_robust_weight(
    mixture: BetaMixture,
    positive: ArrayLike,
    labeled: ArrayLike,
    *,
    share: float = ROBUST_WEIGHT,
    shift: float = 0.0,
) -> BetaMixture:
    r"""Reserve a share of the weight for the round alone.

    .. math:: (1-q) \sum_j w_j \prod_h \mathrm{Beta}(a_{jh}, b_{jh})
        + q \prod_h \mathrm{Beta}(s_h m_h, s_h (1-m_h))

    with :math:`s_h = 2 a_0 + n_h`, :math:`a_0 = 1/(2H)` and

    .. math:: \operatorname{logit} m_h = \operatorname{logit}\frac{a_0 + y_h}{s_h}
        + \lambda \Big(\sum_g s_g p_g (1-p_g)\Big)^{-1/2}, \quad p_h = \frac{a_0 + y_h}{s_h};

    the root is the standard error of a shift common to all strata. A stratum without labels has
    no say of its own: there the mean and the variance are those of ``mixture``.

    Parameters
    ----------
    mixture
        The pooled posterior over H strata.
    positive, labeled
        The newest round's labels, shape ``(H,)``; they are in ``mixture`` too.
    share
        Weight q of the round alone, from 0 (the mixture as it is) to 1.
    shift
        :math:`\lambda`, in standard errors: above 0 to higher rates (worse among predicted
        negatives), below 0 to lower ones (worse among predicted positives).

    Returns
    -------
    BetaMixture
        One component more, the last. The mixture as it is where ``share`` is 0, and where no
        stratum was labeled.

    Raises
    ------
    ValueError
        If ``share`` lies outside [0, 1] or ``shift`` is not finite.

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
    alpha, beta = own_part(y, n, shift=shift)
    other_alpha, other_beta = _matched(mixture)
    return BetaMixture(
        weight=np.append((1 - share) * mixture.weight, share),
        alpha=np.vstack([mixture.alpha, np.where(n > 0, alpha, other_alpha)]),
        beta=np.vstack([mixture.beta, np.where(n > 0, beta, other_beta)]),
    )


def own_part(positive: Floats, labeled: Floats, *, shift: float) -> tuple[Floats, Floats]:
    """Beta parameters of the round alone, shifted; arrays of shape ``(..., H)``.

    Examples
    --------
    >>> alpha, beta = own_part(np.array([12.0]), np.array([15.0]), shift=-0.5)
    >>> print(alpha.round(3), beta.round(3))
    [11.604] [4.396]
    """
    if not math.isfinite(shift):
        message = f"shift must be a finite number of standard errors, got {shift!r}"
        raise ValueError(message)
    prior = prior_count(positive.shape[-1])
    alpha, beta = prior + positive, prior + labeled - positive
    worth = alpha + beta
    seen = np.where(labeled > 0, alpha * beta / worth, 0.0)
    information = np.maximum(seen.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny)
    odds = alpha / beta * np.exp(shift / np.sqrt(information))
    mean = odds / (1 + odds)
    return worth * mean, worth * (1 - mean)


def _matched(mixture: BetaMixture) -> tuple[Floats, Floats]:
    """Betas with the mean and the variance of each stratum of the mixture, shape ``(H,)``."""
    worth = mixture.alpha + mixture.beta
    mean = mixture.mean()
    label_variance = mixture.weight @ (mixture.alpha * mixture.beta / (worth * (worth + 1)))
    spread = mean * (1 - mean) - label_variance
    total = label_variance / spread
    return mean * total, (1 - mean) * total
