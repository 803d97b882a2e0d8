r"""Draws of the strata's positive rates, and of the confusion matrix that they make.

Each rate has a Beta posterior, independent of the others given the mixture component of its
class. Points of a scrambled Sobol sequence go through the Beta quantile functions, so the same
seed gives the same draws, and an average over them errs far less than over random ones (Owen,
"On dropping the first Sobol' point", 2020, on scrambling).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.core.beta_mixture import BetaMixture, round_priors
from monitor.stats.core.counts import Interval
from monitor.stats.core.metrics import Matrix
from monitor.stats.core.quantiles import MANY, beta_quantiles, binomial_quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Counts


Estimand = Literal["rate", "window"]
ESTIMANDS: tuple[Estimand, ...] = get_args(Estimand)

POINTS = 2**14
"""Sobol points of an estimate: an interval's end is then right to 1e-4 in ordinary cases and to
1e-3 with counts such as 5/1/0/50."""

_HALF_CELL = 2.0**-31  # the sequence has 30 bits; the middle of a cell is never 0 or 1


@dataclass(frozen=True, slots=True)
class JointPosterior:
    """Distribution of all strata's positive rates; the two classes are independent."""

    flagged: BetaMixture
    passed: BetaMixture

    @property
    def strata(self) -> int:
        """How many strata there are, H."""
        return self.flagged.strata + self.passed.strata

    @property
    def components(self) -> int:
        """How many components the larger of the two mixtures has."""
        return max(len(self.flagged.weight), len(self.passed.weight))

    def mean(self) -> Floats:
        """Posterior mean of each stratum's rate, flagged first, shape ``(H,)``."""
        return np.concatenate([self.flagged.mean(), self.passed.mean()])


def check_estimand(estimand: str) -> None:
    """Refuse what is no estimand."""
    if estimand not in ESTIMANDS:
        message = f"no estimand is called {estimand!r}; there are {', '.join(ESTIMANDS)}"
        raise ValueError(message)


def round_posterior(counts: Counts, *, grouped: bool = False) -> JointPosterior:
    r"""Posterior of the rates from one round's labels alone.

    .. math:: \pi_h \sim \mathrm{Beta}(a + y_h,\ a + n_h - y_h)

    One stratum in a class has Jeffreys' prior, a = 1/2. With H strata *of the same predicted class*
    that hold an item, half of the draws take :math:`a = 0.1/H` in all of them and half :math:`a =
    0.5/\sqrt H`: a mixture of two components, see ``beta_mixture.round_priors``. An empty stratum
    does not count in H: it weighs nothing in any metric. It still gets the prior, so that shapes
    stay as in the counts. A class without any item counts as one stratum. ``grouped`` divides the
    labels by their design effects.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> posterior = round_posterior(counts)
    >>> posterior.flagged.alpha, posterior.flagged.beta
    (array([[138.5]]), array([[22.5]]))
    """
    up = counts.is_flagged
    effects = counts.group_effects if grouped else (1.0, 1.0)
    return JointPosterior(
        _class_posterior(counts, up, effects[0]), _class_posterior(counts, ~up, effects[1])
    )


def _class_posterior(counts: Counts, members: Bools, effect: float) -> BetaMixture:
    prior = round_priors(max(1, int((counts.size[members] > 0).sum())))[:, np.newaxis]
    positive, labeled = counts.positive[members] / effect, counts.labeled[members] / effect
    weight = np.full(len(prior), 1 / len(prior))
    return BetaMixture(weight, prior + positive, prior + labeled - positive)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Joint draws of the rates, ``(points, H)``, the first ``flagged`` of them of flagged strata.

    ``uniforms``, of the same shape and independent of ``rates``, are for the items not labeled
    (``window``) or for the shares of the strata (``rate``).
    """

    rates: Floats
    uniforms: Floats
    flagged: int

    def rate_matrix(self, size: Ints) -> Matrix:
        r"""Matrix of the rates, the ``rate`` estimand: :math:`TP = \sum_+ N_h \pi_h` and so on.

        The shares of a class's strata are a draw of the process too, so each draw has its own
        :math:`N_h`: Gamma variables with the counted sizes as means (by the cube of Wilson and
        Hilferty, 1931), scaled to the items of the class, which are taken as counted.
        """
        up, down = slice(None, self.flagged), slice(self.flagged, None)
        items = np.hstack([drawn_sizes(size[of], self.uniforms[:, of]) for of in (up, down)])
        return self._summed(self.rates * items, (1 - self.rates) * items)

    def window_matrix(self, counts: Counts) -> Matrix:
        r"""Matrix of the very items in the window, the ``window`` estimand.

        .. math:: TP = \sum_+ \big(y_h + B_h\big), \quad
            B_h \sim \mathrm{Binomial}(N_h - n_h, \pi_h)

        Items that are labeled are known; with every item labeled all draws are equal.
        """
        unlabeled = counts.size - counts.labeled
        positive = np.broadcast_to(counts.positive.astype(np.float64), self.rates.shape).copy()
        for h in np.flatnonzero(unlabeled):
            positive[:, h] += binomial_quantiles(
                self.uniforms[:, h], unlabeled[h], self.rates[:, h]
            )
        return self._summed(positive, counts.size - positive)

    def _summed(self, positive: Floats, negative: Floats) -> Matrix:
        """Add the items of the strata up by predicted class, shape ``(points, H)`` each."""
        up, down = slice(None, self.flagged), slice(self.flagged, None)
        return Matrix(
            tp=positive[:, up].sum(axis=1),
            fp=negative[:, up].sum(axis=1),
            fn=positive[:, down].sum(axis=1),
            tn=negative[:, down].sum(axis=1),
        )

    def matrix(self, counts: Counts, estimand: Estimand) -> Matrix:
        """Matrix of one estimand for the sizes (and, in a window, the labels) of a round."""
        if estimand == "rate":
            return self.rate_matrix(counts.size)
        return self.window_matrix(counts)


def drawn_sizes(size: Ints, uniforms: Floats) -> Floats:
    """Draw the sizes of one class's strata in the process, ``(points, H)``; they keep their sum."""
    if len(size) == 1:
        return np.broadcast_to(size.astype(np.float64), uniforms.shape)
    some = np.maximum(size, 1)
    root = 1 - 1 / (9 * some) + special.ndtri(uniforms) / (3 * np.sqrt(some))
    drawn = size * np.maximum(root, 0.0) ** 3
    return np.asarray(drawn * (size.sum() / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-9)))


def draw(
    posterior: JointPosterior, *, seed: int, points: int = POINTS, size: Ints | None = None
) -> Draws:
    """Draw the rates jointly, and the uniforms for the items that were not labeled.

    The Sobol coordinates are, in this order: one per stratum for its rate, one per stratum for
    its unlabeled items, and one per class to choose the mixture component by weight. Where ``size``
    is given, the rate of an empty stratum weighs nothing, so it is left at 0 and costs nothing.

    Raises
    ------
    ValueError
        If ``points`` is not a power of 2, or ``size`` does not have H values.

    Examples
    --------
    >>> uniform = BetaMixture.single(np.ones(1), np.ones(1))
    >>> draw(JointPosterior(uniform, uniform), seed=7, points=2**10).rates.shape
    (1024, 2)
    """
    if points < 1 or points & (points - 1):  # a Sobol sequence is balanced at powers of 2 only
        message = f"points must be a power of 2, got {points!r}"
        raise ValueError(message)
    strata, flagged = posterior.strata, posterior.flagged.strata
    if size is not None and size.shape != (strata,):
        message = f"the posterior has {strata} strata, but sizes have the shape {size.shape}"
        raise ValueError(message)
    used = np.ones(strata, dtype=np.bool_) if size is None else size > 0
    # One coordinate each, also for empty strata: the draws of the others stay the same whatever
    # sizes are.
    sobol = qmc.Sobol(2 * strata + 2, scramble=True, rng=seed).random(points) + _HALF_CELL
    rates = np.zeros((points, strata))
    classes = ((posterior.flagged, 0, sobol[:, -2]), (posterior.passed, flagged, sobol[:, -1]))
    for mixture, first, pick in classes:
        inside = np.flatnonzero(used[first : first + mixture.strata])
        rates[:, first + inside] = _mixture_rates(mixture, inside, sobol[:, first + inside], pick)
    return Draws(rates=rates, uniforms=sobol[:, strata : 2 * strata], flagged=flagged)


def _mixture_rates(mixture: BetaMixture, strata: Ints, uniforms: Floats, pick: Floats) -> Floats:
    """Quantiles of one class's strata, component chosen by ``pick``, shape ``(points, H)``."""
    alpha, beta = mixture.alpha[:, strata], mixture.beta[:, strata]
    last = len(mixture.weight) - 1
    chosen = np.searchsorted(np.cumsum(mixture.weight)[:last], pick, side="right")
    rates = np.empty_like(uniforms)
    often = np.bincount(chosen, minlength=last + 1) >= MANY
    for component in np.flatnonzero(often):
        members = np.flatnonzero(chosen == component)
        for h in range(len(strata)):
            shape = float(alpha[component, h]), float(beta[component, h])
            rates[members, h] = beta_quantiles(*shape, uniforms[members, h])
    others = np.flatnonzero(~often[chosen])
    rates[others] = special.betaincinv(
        alpha[chosen[others]], beta[chosen[others]], uniforms[others]
    )
    return rates


def credible_interval(
    values: Floats, level: float, *, point: float | None = None, edges: Sequence[Floats] = ()
) -> Interval:
    """Equal-tailed interval of draws, NaN where there is no value, around a point found elsewhere.

    The point is moved into the interval if it lies outside; if not given or NaN, it is the mean of
    the draws. ``edges`` are further draws of the same quantity: the interval reaches to each of
    their intervals, unless they are all NaN.
    """
    ends = [_ends(each, level) for each in (values, *edges) if not np.isnan(each).all()]
    lows, highs = zip(*ends, strict=True)
    low, high = min(lows), max(highs)
    if point is None or math.isnan(point):
        point = float(values[~np.isnan(values)].mean())
    return Interval(min(max(float(point), low), high), low, high)


def _ends(values: Floats, level: float) -> tuple[float, float]:
    """Quantiles by the inverse of the draws' distribution function, as ``np.quantile`` has them."""
    tail = (1 - level) / 2
    unknown = np.isnan(values)
    finite = values[~unknown] if unknown.any() else values.copy()
    low, high = (max(0, math.ceil(len(finite) * share - 1)) for share in (tail, 1 - tail))
    finite.partition((low, high))
    return float(finite[low]), float(finite[high])
