r"""How sure a plan is of its margins: the half-widths of intervals from labels not yet drawn.

A plan by the expected variance misses its margin in about half of the rounds: the rates are known
only so well, and the labels of a round say more or less than their expectation. So rates are drawn
from the prior of the round, the round's answers from the rates, and of each draw the
half-width of the interval is computed as after a round,

.. math:: z \Big(\sum_h g_h^2 \frac{m_h(1-m_h)}{n_h}\Big(1 - \frac{n_h}{N_h}\Big)\Big)^{1/2},
    \quad m_h = \frac{a_h + y_h}{2 a_h + n_h}

with the gradient g at the rates m found and the interval's own prior count :math:`a_h`; where
strata are score cells, that of ``cell_widths``. The share
of draws within the margin is the *assurance* (O'Hagan, Stevens and Campbell, *Pharmaceutical
Statistics* 4, 2005, doi:10.1002/pst.175), of a width as in Adcock (*The Statistician* 46, 1997,
doi:10.1111/1467-9884.00082).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.design.cell_widths import cell_half_widths
from monitor.stats.design.neyman import prior_counts
from monitor.stats.design.rate_draws import answer_uniforms, drawn_rates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.neyman import AllocationProblem
    from monitor.stats.design.prior import PriorRates


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
            return self._of_cells(n, answers)
        rate = (self.prior + answers) / np.maximum(2 * self.prior + n, 1e-9)
        unlabeled = 1 - n / np.maximum(size, 1)
        unseen = (n == 0) & (size > 0)
        noise = rate * (1 - rate) * unlabeled / np.maximum(n, 1)
        positive = size * rate
        tp, all_positive = positive[:, up].sum(axis=1), positive.sum(axis=1)
        recall = (tp / np.maximum(all_positive, 1e-9))[:, np.newaxis]
        moved = {
            "precision": np.where(up, size / max(float(size[up].sum()), 1.0), 0.0),
            "recall": size * np.where(up, 1 - recall, recall) / all_positive[:, np.newaxis],
        }
        widths = {}
        for name in self.problem.coefficients:
            half = self.problem.z * np.sqrt((moved[name] ** 2 * noise).sum(axis=1))
            blind = bool(np.any(unseen & (self.problem.coefficients[name] > 0)))
            widths[name] = np.ones_like(half) if blind else np.minimum(half, 1.0)
        return widths

    def _of_cells(self, labels: Floats, values: Floats) -> dict[str, Floats]:
        problem = self.problem
        widths = cell_half_widths(
            problem.size,
            problem.is_flagged,
            labels,
            values,
            z=problem.z,
            first_phase=problem.first_phase,
        )
        return {name: widths[name] for name in problem.coefficients}

    def quantiles(self, labels: Ints | Floats, share: float) -> dict[str, float]:
        """Half-width of each metric that a share of the draws keeps."""
        return {
            name: float(np.quantile(half, share)) for name, half in self.half_widths(labels).items()
        }

    def is_within(self, labels: Ints | Floats, margins: Mapping[str, float]) -> dict[str, float]:
        """Share of the draws whose half-width is within the margin, for each of the margins."""
        widths = self.half_widths(labels)
        return {name: float(np.mean(widths[name] <= margin)) for name, margin in margins.items()}


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
