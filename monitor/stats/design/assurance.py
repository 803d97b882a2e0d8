r"""How sure a plan is of its margins: the half-widths of intervals from labels not yet drawn.

A plan by the expected variance misses its margin in about half of the rounds: rates are uncertain,
and the labels of a round are more or less informative than expected. So rates are drawn
from the prior of the round, the round's answers from the rates, and of each draw the
half-width of the interval is computed as after a round,

.. math:: z \Big(\sum_h g_h^2 \frac{m_h(1-m_h)}{n_h}\Big(1 - \frac{n_h}{N_h}\Big)\Big)^{1/2},
    \quad m_h = \frac{a_h + y_h}{2 a_h + n_h}

with the gradient g at the rates m found and the interval's own prior count :math:`a_h`; where
strata are score cells, that of ``cell_half_widths``. The share
of draws within the margin is the *assurance* (O'Hagan, Stevens and Campbell, *Pharmaceutical
Statistics* 4, 2005, doi:10.1002/pst.175), of a width as in Adcock (*The Statistician* 46, 1997,
doi:10.1111/1467-9884.00082).

**Rates of score cells** start from a line along the score, whose coefficients vary
by their normal law (``recalibration``). No line fits everywhere: misses may lie far below the
threshold, where it expects none. So a class with many labels is cut into groups of neighbouring
cells of ``GROUP_LABELS`` or more, and each group's rate also goes by its own answers,

.. math:: r_g \sim \mathrm{Beta}(y_g + w\bar m_g,\ n_g - y_g + w(1-\bar m_g)), \quad
    \bar m_g = \frac{\sum n_h m_h}{n_g}, \quad
    w = \min\Big\{\frac{2}{\min(\bar m_g, 1-\bar m_g)},\ 50\Big\}

with m the drawn line, worth w labels (a conjugate Beta-binomial update). A group whose rate is
above the line's has the rest spread evenly over its items that the line takes for negative,
:math:`m_h + (1-m_h)(r_g-\bar m_g)/(1-\bar m_g)`; one whose rate is below it is scaled,
:math:`m_h r_g/\bar m_g`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.cell_counts import cells_by_class, rest_of_class
from monitor.stats.design.neyman import prior_counts
from monitor.stats.design.prior import PriorRates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.neyman import AllocationProblem
    from monitor.stats.design.prior import JointLogits


POINTS = 256
"""Sobol points: a share of .8 is then right to about .01."""

RARER_WORTH = 2.0
"""Answers of the rarer kind that the line is worth in a group."""

MOST_WORTH = 50.0
"""Labels that the line is worth at most in a group, which has eight times as many of its own."""

_DOUBT = 0.5
"""Jeffreys' half count, added to what rounds found of each stratum. Plans look where positives
were found, so a band in which few were found by chance stays underestimated: without this recall
misses its margin twice as often as asked (benchmarks/assurance.py)."""

_HALF_CELL = 2.0**-31  # the sequence has 30 bits; the middle of a cell is never 0 or 1
_PRECISE = 1e6  # labels from which on a Beta is a normal law, to far more than is needed
_TINY = 1e-12


@lru_cache(maxsize=8)
def _points(columns: int) -> Floats:
    return qmc.Sobol(columns, scramble=True, rng=0).random(POINTS) + _HALF_CELL


def _uniforms(prior_rates: PriorRates) -> Floats:
    """Return Sobol points: columns for the rates, and a last one per stratum for the answers."""
    strata = len(prior_rates.alpha)
    return _points((2 if prior_rates.joint is None else 3) * strata)


def answer_uniforms(prior_rates: PriorRates) -> Floats:
    """Return the points by which the answers of a round follow its rates, ``(POINTS, H)``."""
    return _uniforms(prior_rates)[:, -len(prior_rates.alpha) :]


def drawn_rates(prior_rates: PriorRates) -> Floats:
    """Draw rates, shape ``(POINTS, H)``: together where a line gave them, else from Beta laws."""
    uniforms = _uniforms(prior_rates)
    if prior_rates.joint is not None:
        return _by_the_line(prior_rates.joint, uniforms)
    if prior_rates.source == "rounds":
        prior_rates = PriorRates(
            prior_rates.alpha + _DOUBT, prior_rates.beta + _DOUBT, prior_rates.source
        )
    uniforms = uniforms[:, : len(prior_rates.alpha)]
    both = prior_rates.alpha + prior_rates.beta
    well = both > _PRECISE  # a normal law is quick
    spread = np.sqrt(prior_rates.rate * (1 - prior_rates.rate) / (both + 1))
    rates = prior_rates.rate + spread * special.ndtri(uniforms)
    rates[:, ~well] = special.betaincinv(
        prior_rates.alpha[~well], prior_rates.beta[~well], uniforms[:, ~well]
    )
    return np.clip(rates, 0.0, 1.0)


def _by_the_line(law: JointLogits, uniforms: Floats) -> Floats:
    columns = law.loadings.shape[1]
    rates = special.expit(law.mean + special.ndtri(uniforms[:, :columns]) @ law.loadings.T)
    for i, group in enumerate(law.groups):
        own_items, n = rates[:, group.cells], group.labeled.sum()
        line = np.clip(own_items @ group.labeled / n, _TINY, 1 - _TINY)
        worth = np.minimum(RARER_WORTH / np.minimum(line, 1 - line), MOST_WORTH)
        alpha, beta = group.positive + worth * line, n - group.positive + worth * (1 - line)
        drawn = special.betaincinv(alpha, beta, uniforms[:, columns + i])
        more, less = (np.maximum(drawn - line, 0) / (1 - line), np.minimum(drawn / line, 1.0))
        spread = own_items + (1 - own_items) * more[:, np.newaxis]
        rates[:, group.cells] = np.where((drawn > line)[:, None], spread, own_items * less[:, None])
    return np.clip(rates, _TINY, 1 - _TINY)


def cell_half_widths(
    size: ArrayLike,
    is_flagged: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    *,
    z: float,
    cell: Ints | None = None,
) -> dict[str, Floats]:
    """Half-widths of precision and recall, shape ``(...)``, that these answers would give.

    As ``cell_matrix`` has them, by the delta method: each class is one stratum of the plain labels
    that its cells are worth (``cell_counts``), with Jeffreys' prior. It is the items left that are
    uncertain, a Beta-binomial number of positives among them (``rest_of_class``). 1 where a
    class with items has no answer. Sizes, classes and numbers of answers, which may be expected
    ones, have the shape ``(H,)``, the cells of a class in order of score; positives ``(..., H)``.
    ``z`` is the standard errors in a half-width, ``cell`` as in ``cell_counts``.
    """
    items, n, y = (np.asarray(each, dtype=np.float64) for each in (size, labeled, positive))
    up = np.asarray(is_flagged, dtype=np.bool_)
    (hits, of_hits), (missed, of_missed) = (
        _positives(items[members], n[members], y[..., members], of_class)
        for members, of_class in zip((up, ~up), cells_by_class(cell, up), strict=True)
    )
    flagged, all_positive = float(items[up].sum()), hits + missed
    recall = hits / np.maximum(all_positive, 1e-9)
    spread = (1 - recall) ** 2 * of_hits + recall**2 * of_missed
    blind = [bool(items[members].sum() > 0 and n[members].sum() == 0) for members in (up, ~up)]
    widths = {
        "precision": z * np.sqrt(of_hits) / max(flagged, 1.0),
        "recall": z * np.sqrt(spread) / np.maximum(all_positive, 1e-9),
    }
    unknown = {"precision": blind[0], "recall": any(blind)}
    return {
        name: np.ones_like(half) if unknown[name] else np.minimum(half, 1.0)
        for name, half in widths.items()
    }


def _positives(
    size: Floats, labeled: Floats, positive: Floats, cell: Ints | None
) -> tuple[Floats, Floats]:
    """Compute the expected positives of a class by its labels, and their variance, ``(...)``."""
    prior, unlabeled = prior_count(1), size - labeled
    worth, by_chance = rest_of_class(unlabeled, labeled, positive, cell=cell)
    items = float(unlabeled.sum())
    alpha = prior + worth.positive[..., 0]
    beta = prior + (worth.labeled - worth.positive)[..., 0]
    both = alpha + beta
    variance = (items**2 + by_chance * both) * alpha * beta / (both**2 * (both + 1))
    return positive.sum(axis=-1) + items * alpha / both, variance


ASSURANCE = 0.8
"""Probability with which half-widths come out within the margins, unless settings say otherwise."""

_MANY = 4.0  # variance from which on a count is expanded, not added up
_LARGEST = 40  # more than a count of a variance of 4 reaches in 256 draws


@dataclass(frozen=True, slots=True, eq=False)
class FutureWidths:
    """Half-widths that a plan may come to, by draws of rates and answers.

    Rates are drawn from the prior of the round, shape ``(points, H)`` like the uniforms of the
    answers; ``prior`` is the prior count of the interval, a, shape ``(H,)``.
    """

    problem: AllocationProblem
    rates: Floats
    uniforms: Floats
    prior: Floats

    @classmethod
    def of(cls, problem: AllocationProblem, prior_rates: PriorRates) -> FutureWidths:
        """Draw the rates; the same knowledge gives the same draws."""
        prior = prior_counts(problem.size, problem.is_flagged)
        return cls(problem, drawn_rates(prior_rates), answer_uniforms(prior_rates), prior)

    def half_widths(self, labels: Ints | Floats) -> dict[str, Floats]:
        """Half-widths of each metric for each draw, shape ``(points,)``."""
        size, up = self.problem.size, self.problem.is_flagged
        n = np.asarray(labels, dtype=np.float64)
        answers = _answers(self.uniforms, n, self.rates)
        if self.problem.uniform is not None:
            cell = self.problem.cell
            widths = cell_half_widths(size, up, n, answers, z=self.problem.z, cell=cell)
            return {name: widths[name] for name in self.problem.coefficients}
        rate = (self.prior + answers) / np.maximum(2 * self.prior + n, 1e-9)
        unlabeled = 1 - n / np.maximum(size, 1)
        unseen = (n == 0) & (size > 0)
        noise = rate * (1 - rate) * unlabeled / np.maximum(n, 1)
        positive = size * rate
        every = np.maximum(positive.sum(axis=1, keepdims=True), 1e-9)
        recall = positive[:, up].sum(axis=1, keepdims=True) / every
        moved = {
            "precision": np.where(up, size / max(float(size[up].sum()), 1.0), 0.0),
            "recall": size * np.where(up, 1 - recall, recall) / every,
        }
        widths = {}
        for name in self.problem.coefficients:
            half = self.problem.z * np.sqrt((moved[name] ** 2 * noise).sum(axis=1))
            blind = bool(np.any(unseen & (self.problem.coefficients[name] > 0)))
            widths[name] = np.ones_like(half) if blind else np.minimum(half, 1.0)
        return widths


def mean_widths(drawn: Mapping[str, Floats]) -> dict[str, float]:
    """Mean of the drawn half-widths of each metric."""
    return {name: float(half.mean()) for name, half in drawn.items()}


def shares_within(drawn: Mapping[str, Floats], margins: Mapping[str, float]) -> dict[str, float]:
    """Share of the drawn half-widths within the margin, for each of the margins."""
    return {name: float(np.mean(drawn[name] <= margin)) for name, margin in margins.items()}


def _answers(uniforms: Floats, labeled: Floats, rates: Floats) -> Floats:
    """Binomial quantiles: added up where the variance is small, else by Cornish and Fisher."""
    n = np.broadcast_to(labeled, rates.shape)
    variance = n * rates * (1 - rates)
    spread = np.sqrt(np.maximum(variance, _MANY))
    z = special.ndtri(uniforms)
    result = np.rint(n * rates + spread * z + (1 - 2 * rates) * (z**2 - 1) / 6)
    few = (variance < _MANY) & (n > 0)
    rarer = np.minimum(rates[few], 1 - rates[few])
    turned = rates[few] > 0.5  # noqa: PLR2004
    count = _small_counts(np.where(turned, 1 - uniforms[few], uniforms[few]), n[few], rarer)
    result[few] = np.where(turned, n[few] - count, count)
    return np.clip(result, 0.0, n)


def _small_counts(uniforms: Floats, labeled: Floats, rates: Floats) -> Floats:
    """Binomial quantiles of counts that are mostly small, by adding up from 0."""
    count = np.zeros_like(uniforms)
    chance = np.exp(labeled * np.log1p(-rates))
    below = chance.copy()
    for k in range(1, _LARGEST):
        more = uniforms > below
        if not more.any():
            break
        count += more
        chance = chance * (labeled - k + 1) / k * rates / (1 - rates)
        below += chance
    return count
