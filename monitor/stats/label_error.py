r"""Estimates of the truth from labels that may be wrong, given an audit of the labels.

Labels with sensitivity s and specificity t make a stratum of true rate :math:`\pi` look like one of
rate

.. math:: q = \pi s + (1 - \pi)(1 - t)

Turned round this is Rogan & Gladen, "Estimating prevalence from the results of a screening test",
Am. J. Epidemiology 107, 1978: :math:`\pi = (q + t - 1)/(s + t - 1)`, which leaves [0, 1] wherever
the class is rarer than the errors. Cutting each draw of it to [0, 1] is the usual way out. Here
:math:`\pi` has the prior that every round has, s and t have the posteriors of the audit, and what
is drawn is the posterior of all three given the labels: no draw needs cutting, and a stratum with
2 positives in 1,000 labels says that t is over .99 however small the audit was.
``benchmarks/label_error.py`` has both ways.

All of it assumes that labels err alike in every stratum, and in the audit as in the round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.draws import ESTIMANDS, Draws, round_posterior
from monitor.stats.metrics import Matrix
from monitor.stats.posterior import MetricEstimate, estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from monitor.stats.counts import Counts
    from monitor.stats.draws import Estimand
    from monitor.stats.mixture import BetaMixture

    Values = NDArray[np.float64]

PROPOSALS = 2**13
POINTS = 2**13
METHOD = "corrected for label errors: posterior of labels and audit"

CELLS = 400
"""Cells of the grid of a rate, even in its log odds from -12 to 12; what is beyond counts as 0 or
1."""

FEWEST_EFFECTIVE = 100.0
"""Draws, as many as weighted ones are worth, under which audit and labels contradict each other."""

CHANCE_LIMIT = 0.025
"""Largest probability that labels are no better than chance at which anything is corrected."""

_HALF_CELL = 2.0**-31
_FARTHEST = 12.0
_BLOCK = 2**11  # proposals at a time, 7 MB an array


@dataclass(frozen=True, slots=True)
class LabelAudit:
    """Items whose truth is known, and how they were labeled.

    Parameters
    ----------
    tp, fn
        Truly positive items labeled 1 and 0.
    tn, fp
        Truly negative items labeled 0 and 1.

    Raises
    ------
    ValueError
        If a count is negative, or labels are no better than chance (sensitivity plus
        specificity at most 1) with probability over ``CHANCE_LIMIT``.

    Examples
    --------
    >>> audit = LabelAudit(tp=96, fn=4, tn=190, fp=10)
    >>> audit.sensitivity, audit.specificity
    ((96.5, 4.5), (190.5, 10.5))
    """

    tp: int
    fn: int
    tn: int
    fp: int

    def __post_init__(self) -> None:
        if min(self.tp, self.fn, self.tn, self.fp) < 0:
            message = f"counts of an audit are 0 or more, got {self}"
            raise ValueError(message)
        chance = self.chance
        if chance > CHANCE_LIMIT:
            message = (
                "labels are no better than chance with probability "
                f"{chance:.2f} by this audit ({self.tp} of {self.tp + self.fn} positive and "
                f"{self.tn} of {self.tn + self.fp} negative items labeled right), so nothing can "
                "be corrected; audit more items"
            )
            raise ValueError(message)

    @property
    def sensitivity(self) -> tuple[float, float]:
        """Beta posterior of the share of positive items labeled 1, from Jeffreys' prior."""
        return self.tp + 0.5, self.fn + 0.5

    @property
    def specificity(self) -> tuple[float, float]:
        """Beta posterior of the share of negative items labeled 0, from Jeffreys' prior."""
        return self.tn + 0.5, self.fp + 0.5

    @property
    def chance(self) -> float:
        """Probability that sensitivity plus specificity is at most 1."""
        middles = (np.arange(2**12) + 0.5) / 2**12
        sensitivity = special.betaincinv(*self.sensitivity, middles)
        return float(special.betainc(*self.specificity, 1 - sensitivity).mean())


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedDraws(Draws):
    """Draws of the true rates, with the sensitivity and specificity of labels in each.

    Parameters
    ----------
    sensitivity, specificity
        Shape ``(points,)``.
    seed
        Of the unknown truth of labeled items.
    effective
        How many equally likely draws they are worth.
    """

    sensitivity: Values
    specificity: Values
    seed: int
    effective: float

    def window_matrix(self, counts: Counts) -> Matrix:
        r"""Matrix of the very items in the window; not even labeled ones are known.

        An item labeled 1 is positive with probability :math:`\pi s/q`, one labeled 0 with
        :math:`\pi(1-s)/(1-q)`, one without a label with :math:`\pi`.
        """
        rng = np.random.default_rng(self.seed)
        s, t = self.sensitivity[:, np.newaxis], self.specificity[:, np.newaxis]
        seen = self.rates * s + (1 - self.rates) * (1 - t)
        right = np.clip(self.rates * s / np.maximum(seen, 1e-300), 0, 1)
        missed = np.clip(self.rates * (1 - s) / np.maximum(1 - seen, 1e-300), 0, 1)
        positive = (
            rng.binomial(counts.positive, right)
            + rng.binomial(counts.labeled - counts.positive, missed)
            + rng.binomial(counts.size - counts.labeled, self.rates)
        ).astype(np.float64)
        up, down = slice(None, self.flagged), slice(self.flagged, None)
        negative = counts.size - positive
        return Matrix(
            tp=positive[:, up].sum(axis=1),
            fp=negative[:, up].sum(axis=1),
            fn=positive[:, down].sum(axis=1),
            tn=negative[:, down].sum(axis=1),
        )


def corrected_draws(
    counts: Counts, audit: LabelAudit, *, seed: int = 0, points: int = POINTS
) -> CorrectedDraws:
    r"""Draw the true rates given labels and audit.

    Sobol points propose s and t from the audit's posteriors. A proposal has the weight

    .. math:: \prod_h \int \mathrm{Beta}(\pi; a, a)\, q^{y_h} (1-q)^{n_h-y_h}\, d\pi, \quad
        q = \pi s + (1-\pi)(1-t)

    with the prior count a of ``draws.round_posterior`` (of its two minds about a class of several
    strata each is weighed by itself, and half of the draws keep to each). Proposals are picked
    by weight, and :math:`\pi_h` is drawn from its distribution given s and t. The integrals are
    sums over cells, with the prior's exact mass in each.

    Parameters
    ----------
    counts
        Sizes and labels, errors and all, H strata.
    audit
        What is known of the labels.
    seed, points
        Same seed, same draws; ``points`` of them.

    Examples
    --------
    >>> from monitor.stats.counts import Counts
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=150, tn=4690, flagged_size=1600, passed_size=48400
    ... )
    >>> draws = corrected_draws(counts, LabelAudit(tp=96, fn=4, tn=1980, fp=20))
    >>> draws.rates.mean(axis=0).round(3)
    array([0.905, 0.022])
    """
    posterior = round_posterior(counts)
    strata, flagged = posterior.strata, posterior.flagged.strata
    sobol = qmc.Sobol(strata + 4, scramble=True, rng=seed).random(PROPOSALS) + _HALF_CELL
    s = special.betaincinv(*audit.sensitivity, sobol[:, 0])
    t = special.betaincinv(*audit.specificity, sobol[:, 1])
    weight = (s + t > 1).astype(np.float64)
    rates = np.empty((PROPOSALS, strata))
    up, down = slice(None, flagged), slice(flagged, None)
    for mixture, part, own, pick in (
        (posterior.flagged, counts.flagged, up, sobol[:, 2]),
        (posterior.passed, counts.passed, down, sobol[:, 3]),
    ):
        positive = np.array([stratum.positive for stratum in part], dtype=np.float64)
        labeled = np.array([stratum.labeled for stratum in part], dtype=np.float64)
        likely, rates[:, own] = _class_rates(
            mixture, positive, labeled, s, t, sobol[:, 4:][:, own], pick
        )
        weight *= likely
    chosen, effective = _resampled(weight, points, np.random.default_rng(seed))
    return CorrectedDraws(
        rates=rates[chosen],
        uniforms=np.empty((points, 0)),
        flagged=flagged,
        sensitivity=s[chosen],
        specificity=t[chosen],
        seed=seed,
        effective=effective,
    )


def _class_rates(
    mixture: BetaMixture,
    positive: Values,
    labeled: Values,
    s: Values,
    t: Values,
    uniforms: Values,
    pick: Values,
) -> tuple[Values, Values]:
    """Weight of each proposal by one class's labels, and true rates drawn given it.

    Weights have the mean 1, for each component of the prior by itself.
    """
    components, strata = mixture.alpha.shape
    log_likely = np.zeros((components, len(s)))
    drawn = np.empty((components, len(s), strata))
    for h in range(strata):
        likelihoods, found = _stratum_rates(
            mixture.alpha[:, h] - positive[h], positive[h], labeled[h], s, t, uniforms[:, h]
        )
        log_likely += likelihoods
        drawn[:, :, h] = found
    likely = np.exp(log_likely - log_likely.max(axis=1, keepdims=True))
    likely /= likely.mean(axis=1, keepdims=True)
    shares = mixture.weight[:, np.newaxis] * likely
    total = shares.sum(axis=0)
    below = np.cumsum(shares, axis=0)[:-1] / np.maximum(total, 1e-300)
    chosen = (below < pick).sum(axis=0)
    return total, drawn[chosen, np.arange(len(s))]


def _stratum_rates(
    prior: Values, positive: float, labeled: float, s: Values, t: Values, uniforms: Values
) -> tuple[Values, Values]:
    """Log likelihood of s and t by one stratum's labels, and its rate drawn given them.

    Shapes ``(J, points)``, for each prior count of ``prior``, shape ``(J,)``.
    """
    edges = np.concatenate(
        [[0.0], special.expit(np.linspace(-_FARTHEST, _FARTHEST, CELLS + 1)), [1.0]]
    )
    middle = np.concatenate([[0.0], special.expit(_middles()), [1.0]])
    mass = np.diff(special.betainc(prior[:, np.newaxis], prior[:, np.newaxis], edges), axis=1)
    log_likely = np.empty((len(prior), len(s)))
    rates = np.empty((len(prior), len(s)))
    for start in range(0, len(s), _BLOCK):
        own = slice(start, start + _BLOCK)
        q = middle * (s[own] + t[own] - 1)[:, np.newaxis] + (1 - t[own])[:, np.newaxis]
        logs = special.xlogy(positive, q) + special.xlog1py(labeled - positive, -q)
        highest = logs.max(axis=1, keepdims=True)
        likely = np.exp(logs - highest)
        for j, of in enumerate(mass):
            below = np.cumsum(likely * of, axis=1)
            log_likely[j, own] = highest[:, 0] + np.log(below[:, -1])
            rates[j, own] = _placed(below, uniforms[own])
    return log_likely, rates


def _middles() -> Values:
    """Log odds in the middle of each cell."""
    return (np.arange(CELLS) + 0.5) / CELLS * 2 * _FARTHEST - _FARTHEST


def _placed(below: Values, uniforms: Values) -> Values:
    """Rates at these shares of the mass, evenly in the log odds within a cell."""
    wanted = uniforms * below[:, -1]
    cell = (below < wanted[:, np.newaxis]).sum(axis=1)
    rows = np.arange(len(cell))
    before = np.where(cell > 0, below[rows, cell - 1], 0.0)
    inside = (wanted - before) / np.maximum(below[rows, cell] - before, 1e-300)
    log_odds = (cell - 1 + np.clip(inside, 0, 1)) / CELLS * 2 * _FARTHEST - _FARTHEST
    rates = np.where(cell == 0, 0.0, special.expit(log_odds))
    return np.asarray(np.where(cell > CELLS, 1.0, rates))


def _resampled(
    weight: Values, points: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], float]:
    """Draws picked by weight at equal steps, and how many equal ones the weights are worth.

    In a random order: every fourth point of a Sobol sequence lies in one quarter of the space.
    """
    total = float(weight.sum())
    if total == 0:
        return np.zeros(points, dtype=np.int64), 0.0
    order = rng.permutation(len(weight))
    steps = (np.arange(points) + 0.5) / points
    place = np.searchsorted(np.cumsum(weight[order]) / total, steps)
    effective = total**2 / float((weight**2).sum())
    return np.asarray(order[np.minimum(place, len(weight) - 1)]), effective


def corrected_estimates(
    counts: Counts,
    audit: LabelAudit,
    *,
    metrics: Sequence[str] = ("precision", "recall"),
    estimands: Sequence[Estimand] = ESTIMANDS,
    level: float = 0.95,
    seed: int = 0,
    points: int = POINTS,
) -> list[MetricEstimate]:
    """Estimate metrics of the truth from this round's labels and an audit of the labels.

    Parameters
    ----------
    counts, audit, seed, points
        As in ``corrected_draws``.
    metrics, estimands, level
        As in ``posterior.estimates``.

    Returns
    -------
    list of MetricEstimate
        Without a value, and with the reason, also where the audit and the labels contradict each
        other.

    Examples
    --------
    >>> from monitor.stats.counts import Counts
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=150, tn=4690, flagged_size=1600, passed_size=48400
    ... )
    >>> audit = LabelAudit(tp=96, fn=4, tn=1980, fp=20)
    >>> for found in corrected_estimates(counts, audit, estimands=("rate",)):
    ...     print(found)
    precision (rate, round): 0.905 [0.833, 0.984]
    recall (rate, round): 0.579 [0.506, 0.671]
    """
    draws = corrected_draws(counts, audit, seed=seed, points=points)
    found = estimates(
        counts, metrics=metrics, estimands=estimands, level=level, seed=seed, draws=draws
    )
    if draws.effective < FEWEST_EFFECTIVE:
        reason = (
            "the labels of this round contradict the audit: they would hardly ever come out so "
            "with the errors it found"
        )
        return [
            replace(each, method=METHOD, point=None, low=None, high=None, reason=reason)
            for each in found
        ]
    return [replace(each, method=METHOD) for each in found]
