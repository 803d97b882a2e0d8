r"""Neyman's allocation with one multiplier per metric: the fewest labels that keep margins.

By the delta method the variance of a metric m's posterior is about

.. math:: \mathrm{Var}(m) = \sum_h c_{mh} \Big(1 + \frac{d_h}{n_h}\Big)
    \Big(\frac{1}{n_h} - \frac{1}{N_h}\Big)

with :math:`c_{mh} = g_{mh}^2 v_h`, gradient :math:`g_{mh} = \partial m/\partial\pi_h`, and
:math:`v_h = E[\pi_h(1-\pi_h)]` from the prior of the round. :math:`d_h = \kappa a_h/v_h`
is what the estimate's prior count :math:`a_h` adds: a stratum that is nearly pure is never known
to be so from a few labels, however well we know it. The cheapest labels, at a cost of
:math:`k_h` each, that keep every half-width :math:`z\sqrt{\mathrm{Var}(m)}` within its margin
solve

.. math:: k_h = (\lambda_P c_{Ph} + \lambda_R c_{Rh})
    \Big(\frac{1 - d_h/N_h}{n_h^2} + \frac{2 d_h}{n_h^3}\Big)

clipped to the floor and to N_h, once a share of the passed labels is spread by size
(`share_by_size`). With d = 0 that is :math:`n_h \propto \sqrt{c_h/k_h}` (Neyman;
with costs Cochran, *Sampling Techniques*, 3rd ed. 1977, Eq. 5.23); with two strata, the rates
known, an infinite window and only recall binding it is Theorem 1 of Shang et al., AISTATS 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.beta_mixture import round_priors
from monitor.stats.core.levels import normal_quantile
from monitor.stats.design.cell_sizes import least_sizes, systematic_sizes
from monitor.stats.design.notes import Remark
from monitor.stats.design.prospect import MOST_BY_SIZE
from monitor.stats.design.rounding import at_most_total, rounded_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.design.prior import PriorRates
    from monitor.stats.design.prospect import Prospect

FLOOR = 10.0
"""Labels each stratum gets at least (or all its items): without them a stratum that was found
pure once is never looked at again, and coverage breaks down."""

PRIOR_PART = 0.3
"""Part of the prior's variance that the interval's width shows. The whole of it would be right
for a variance; but a stratum with few positives has a long tail, which the 95 % interval leaves
out. With 0.3 a plan for the default bands predicts its labels to a few percent."""


def mixed_by_size(optimal: Floats, low: Floats, size: Floats, share: float) -> Floats:
    r"""Spread a share of the labels of one class by size, the rest as the optimum has them.

    The optimum sends labels to where positives are expected, so that a label in the band with the
    lowest scores represents very many items, and misses that appear there are hardly ever
    seen. So with optimal labels :math:`o_h`, :math:`n_- = \sum o_h` of them, and a share s,

    .. math:: n_h = (1-s)\, o_h + s\, n_- N_h / N_-,

    within the floor and :math:`N_h`. No label then stands for more than about 1/s times as many
    items as in a sample spread by size throughout (a defensive mixture, Hesterberg, *Technometrics*
    37, 1995, doi:10.1080/00401706.1995.10484303). Optimal labels are at least ``low``, the floor,
    and more than the size where the optimum would label yet more: so a stratum is labeled whole
    though a part goes by size.
    """
    total = float(size.sum())
    spread = share * float(np.minimum(optimal, size).sum()) / total * size if total > 0 else 0.0
    return np.minimum(np.maximum((1 - share) * optimal + spread, low), size)


@dataclass(frozen=True, slots=True, eq=False)
class AllocationProblem:
    """Strata, bounds on their labels, and each metric's coefficients c, shape ``(H,)``.

    ``doubt`` is d, in labels; ``cost`` is the cost of one label of each stratum, in any unit;
    ``share_by_size`` the share of the passed labels that is spread by size. ``uniform`` is u of
    the round where strata are score cells, whose labels are made whole by it (``cell_sizes``).
    ``most`` is how many items of each can be labeled, ``low`` how many are at least, ``cell`` the
    score cell of each, where verdicts cut them.
    """

    size: Floats
    is_flagged: Bools
    low: Floats
    most: Floats
    coefficients: dict[str, Floats]
    doubt: Floats
    cost: Floats
    z: float
    share_by_size: float = 0.0
    uniform: float | None = None
    cell: Ints | None = None

    @classmethod
    def of(cls, prospect: Prospect, level: float) -> tuple[AllocationProblem, tuple[Remark, ...]]:
        """Set up a window's problem, with notes on the metrics that it leaves undetermined."""
        size, up, prior = prospect.size, prospect.is_flagged, prospect.prior_rates
        items = size.astype(np.float64)
        coefficients, notes = coefficients_of(size, up, prior)
        most = prospect.available.astype(np.float64)
        low, doubt = least_sizes(items, up, most), np.zeros(len(size))  # cells have no prior
        if prospect.uniform is None:
            low = np.minimum(FLOOR, most)
            doubt = np.asarray(PRIOR_PART * prior_counts(size, up) / prior.label_variance)
        problem = cls(
            size=items,
            most=most,
            is_flagged=up,
            low=low if prospect.is_free is None else np.where(prospect.is_free, most, low),
            coefficients=coefficients,
            doubt=doubt,
            cost=prospect.cost,
            z=normal_quantile(level),
            share_by_size=prospect.share_by_size,
            uniform=prospect.uniform,
            cell=prospect.cell,
        )
        return problem, notes

    def whole(self, plan: Floats) -> Ints:
        """Make a plan whole: bands rounded up, cells by u, none past its size."""
        if self.uniform is None:
            return rounded_up(plan, self.most)
        return np.minimum(systematic_sizes(plan, self.uniform), self.most.astype(np.int64))

    def whole_of(self, plan: Floats, total: int) -> Ints:
        """Make a plan whole with exactly this total."""
        if self.uniform is None:
            return at_most_total(plan, self.is_flagged, total)
        return self.whole(plan * (total / max(float(plan.sum()), 1.0)))

    def mixed(self, optimal: Floats) -> Floats:
        """Keep labels within their bounds, a share of the passed ones spread by size."""
        down = ~self.is_flagged
        labels = np.minimum(np.maximum(optimal, self.low), self.size)
        labels[down] = mixed_by_size(
            optimal[down], self.low[down], self.size[down], self.share_by_size
        )
        return np.minimum(labels, self.most)

    def terms(self, name: str) -> tuple[Floats, Floats]:
        """Coefficients of 1/n and of 1/n^2 in the metric's variance."""
        c = self.coefficients[name]
        unlabeled = 1 - self.doubt / np.maximum(self.size, 1)
        return c * unlabeled, c * self.doubt

    def allowed(self, name: str, margin: float) -> float:
        """Upper bound on the terms' sum that keeps the metric within the margin."""
        c, inside = self.coefficients[name], self.size > 0
        of_census = float(np.sum(c[inside] / self.size[inside]))
        return (margin / self.z) ** 2 + of_census

    def half_width(self, name: str, labels: Floats | Ints) -> float:
        """Half-width of the metric's interval, at most 1."""
        relevant = self.coefficients[name] > 0
        c, n, size = self.coefficients[name][relevant], labels[relevant], self.size[relevant]
        if np.any(n == 0):
            return 1.0
        variance = np.sum(c * (1 + self.doubt[relevant] / n) * ((size - n) / size) / n)
        nonnegative = max(0.0, float(variance))  # a census may come out a last digit under 0
        return min(1.0, self.z * math.sqrt(nonnegative))

    def half_widths(self, labels: Floats | Ints) -> dict[str, float]:
        """Half-width of every metric that can be planned for."""
        return {name: self.half_width(name, labels) for name in self.coefficients}


def coefficients_of(
    size: Ints, is_flagged: Bools, prior_rates: PriorRates
) -> tuple[dict[str, Floats], tuple[Remark, ...]]:
    r"""Coefficients c of each metric that the window determines, and notes on the others.

    For precision :math:`g_h = W_h/W_+` in the flagged strata. For recall
    :math:`g_h = W_h(1-R)/(TP+FN)` in the flagged and :math:`-W_h R/(TP+FN)` in the passed.
    """
    weight = size.astype(np.float64)
    positives = weight * prior_rates.rate
    flagged, passed = float(weight[is_flagged].sum()), float(weight[~is_flagged].sum())
    notes: list[Remark] = []
    coefficients: dict[str, Floats] = {}
    if flagged > 0:
        gradient = np.where(is_flagged, weight / flagged, 0.0)
        coefficients["precision"] = gradient**2 * prior_rates.label_variance
    else:
        notes.append(Remark.NOTHING_FLAGGED)
    if flagged > 0 and passed > 0:
        recall = float(positives[is_flagged].sum() / positives.sum())
        gradient = weight / positives.sum() * np.where(is_flagged, 1 - recall, recall)
        coefficients["recall"] = gradient**2 * prior_rates.label_variance
    elif flagged > 0:
        notes.append(Remark.EVERYTHING_FLAGGED)
    return coefficients, tuple(notes)


def expected_coefficients(
    size: Floats, is_flagged: Bools, rates: Floats, names: Iterable[str]
) -> dict[str, Floats]:
    r"""Coefficients :math:`c_h = E[g_h^2 \pi_h(1-\pi_h)]` over draws of the rates, ``(points, H)``.

    Recall's gradient hangs on the positives that are missed. Where these are hardly known, the
    coefficients at the mean rates take its variance for far too small, and the passed class gets
    too few labels to learn better. The expected variance is what a Bayesian design makes least
    (Chaloner and Verdinelli, *Statistical Science* 10, 1995, doi:10.1214/ss/1177009939).
    """
    positives, noise = size * rates, rates * (1 - rates)
    every = np.maximum(positives.sum(axis=1, keepdims=True), 1e-9)
    recall = positives[:, is_flagged].sum(axis=1, keepdims=True) / every
    gradients = {
        "precision": np.where(is_flagged, size / max(float(size[is_flagged].sum()), 1.0), 0.0),
        "recall": size / every * np.where(is_flagged, 1 - recall, recall),
    }
    return {name: np.mean(gradients[name] ** 2 * noise, axis=0) for name in names}


def prior_counts(size: ArrayLike, is_flagged: Bools) -> Floats:
    """Mean prior count of the interval in each stratum, by the strata of its class."""
    items, prior = np.asarray(size), np.empty(len(is_flagged))
    for members in (is_flagged, ~is_flagged):
        prior[members] = round_priors(max(1, int((items[members] > 0).sum()))).mean()
    return prior


def least_labels(
    once: Floats,
    twice: Floats,
    allowed: float,
    low: Floats,
    high: Floats,
    cost: Floats,
    mixed: Callable[[Floats], Floats],
) -> Floats:
    r"""Cheapest labels with :math:`\sum_h a_h/n_h + b_h/n_h^2 \le` ``allowed`` within bounds.

    ``once`` is a and ``twice`` b. One multiplier fixes all labels, of which ``mixed`` spreads a
    share by size and keeps the bounds, and the sum falls in it; on log scales nearly as a line,
    so a few steps find it. All strata that the sum depends on are taken whole if even that is
    not enough.
    """
    least = low.copy()
    used = once + twice > 0
    once, twice, low, high, cost = (each[used] for each in (once, twice, low, high, cost))
    high = high / (1 - MOST_BY_SIZE)  # whole strata stay whole when a share of this is spread

    def total(labels: Floats) -> float:
        n = labels[used]
        return float(np.sum((once + twice / n) / n))

    def filled(optimal: Floats) -> Floats:
        labels = least.copy()
        labels[used] = optimal
        return mixed(labels)

    if total(filled(low)) <= allowed:
        return filled(low)
    if total(filled(high)) >= allowed:
        return filled(high)

    def at(log_multiplier: float) -> Floats:
        scale = math.exp(log_multiplier) / cost
        return filled(np.maximum(_cubic_root(scale * once, 2 * scale * twice), low))

    prices = [cost * n**3 / (once * n + 2 * twice) for n in (low, high)]
    ends = math.log(prices[0].min()) - 1, math.log(prices[1].max()) + 1  # all low, all high
    goal = math.log(allowed)  # near a line on log scales, so the search is short
    root = optimize.brentq(lambda x: math.log(total(at(x))) - goal, *ends, xtol=1e-14)
    return at(root)


def _cubic_root(p: Floats, q: Floats) -> Floats:
    """Positive roots of n^3 = p n + q, for q of 0 or more, by Newton's steps from above."""
    # The cubic is convex above its root, so steps from above never jump over it. The error after a
    # step is at most 1.5 times the square of that step, both relative to the root.
    if not q.any():
        return np.asarray(np.sqrt(np.maximum(p, 0)))
    n = np.sqrt(np.maximum(p, 0)) + np.cbrt(q)
    for _ in range(50):
        square = n * n
        step = (n * (square - p) - q) / (3 * square - p)
        n = n - step
        if (step <= 1e-8 * n).all():
            break
    return n


def optimum(problem: AllocationProblem, margins: Mapping[str, float]) -> Floats:
    r"""Cheapest labels, not yet whole numbers, that keep all margins.

    In the flagged strata the coefficients of recall are precision's times one constant.
    So if the optimum for recall alone breaks the precision margin, precision alone fixes the
    flagged strata, and the passed ones close what recall still lacks: both multipliers are
    then positive. Otherwise the one of precision is 0.
    """
    low, high, cost, mixed = problem.low, problem.most, problem.cost, problem.mixed
    labels = mixed(low)
    if "recall" in margins:
        recall = problem.terms("recall")
        recall_allowed = problem.allowed("recall", margins["recall"])
        labels = least_labels(*recall, recall_allowed, low, high, cost, mixed)
    if "precision" not in margins:
        return labels
    precision = problem.terms("precision")
    precision_allowed = problem.allowed("precision", margins["precision"])
    if _sum(precision, labels) <= precision_allowed:
        return labels
    labels = least_labels(*precision, precision_allowed, low, high, cost, mixed)
    if "recall" in margins:
        up, down = problem.is_flagged, ~problem.is_flagged
        allowed_passed = recall_allowed - _sum((recall[0][up], recall[1][up]), labels[up])
        passed = (each[down] for each in (*recall, low, high, cost))
        once, twice, least, most, price = passed
        by_size = partial(mixed_by_size, low=least, size=most, share=problem.share_by_size)
        labels[down] = least_labels(once, twice, allowed_passed, least, most, price, by_size)
    return labels


def _sum(terms: tuple[Floats, Floats], labels: Floats) -> float:
    once, twice = terms
    used = once + twice > 0
    return float(np.sum((once[used] + twice[used] / labels[used]) / labels[used]))
