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

All of it assumes that labels err alike in the strata that share an audit, and in the audit as in
the round. So audit the labels of each predicted class by itself (``audit.ClassAudits``): items near
the threshold are hard to label and most of the passed ones are easy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import ESTIMANDS, Draws, round_posterior
from monitor.stats.core.reasons import Contradiction
from monitor.stats.estimation.cell_matrix import MatrixDraws
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.labels.audit import ClassAudits, ScoreAudits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.draws import Estimand
    from monitor.stats.core.metrics import Matrix
    from monitor.stats.labels.audit import ArrivedShare, ClassAudit, LabelAudit


FIRST_ANALYSIS = 2**11  # proposals of the audit alone; powers of 2 keep Sobol points balanced
PROPOSALS = 2**12  # proposals from where the first found weight
POINTS = 2**12  # draws picked from them by weight
METHOD = "posterior given labels and their sensitivity and specificity"

FEWEST_SUPPORTED = 3.0
"""How many of the ``FIRST_ANALYSIS`` proposals of the audit alone the labels leave at least; with
fewer the two contradict each other."""

MOST_WORTH = 5000.0
"""Largest n q (1 - q) of a stratum's labels: its rate then has a standard deviation of .014 in the
log odds, a quarter of a cell of the grid (``CELLS``). An audit is far less sure."""

_HALF_CELL = 2.0**-31  # as in draws: moves a Sobol point to the middle of its cell


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedDraws(Draws):
    """Draws of the true rates, with the sensitivity and specificity of labels, ``(points, H)``.

    ``seed`` is for the unknown truth of labeled items. ``effective`` is how many equally likely
    draws they are worth, ``supported`` how many of ``FIRST_ANALYSIS`` proposals by the audit alone
    the labels leave; with an audit for each class, the fewer of the two.
    """

    sensitivity: Floats
    specificity: Floats
    seed: int
    effective: float
    supported: float

    def window_matrix(self, counts: Counts) -> Matrix:
        r"""Matrix of the very items in the window; not even labeled ones are known.

        An item labeled 1 is positive with probability :math:`\pi s/q`, one labeled 0 with
        :math:`\pi(1-s)/(1-q)`, one without a label with :math:`\pi`.
        """
        rng = np.random.default_rng(self.seed)
        s, t = self.sensitivity, self.specificity
        seen = self.rates * s + (1 - self.rates) * (1 - t)
        right = np.clip(self.rates * s / np.maximum(seen, 1e-300), 0, 1)
        missed = np.clip(self.rates * (1 - s) / np.maximum(1 - seen, 1e-300), 0, 1)
        positive = (
            rng.binomial(counts.positive, right)
            + rng.binomial(counts.labeled - counts.positive, missed)
            + rng.binomial(counts.size - counts.labeled, self.rates)
        ).astype(np.float64)
        return self._summed(positive, counts.size - positive)


def corrected_draws(
    counts: Counts,
    audit: LabelAudit | ArrivedShare | ClassAudits,
    *,
    seed: int = 0,
    points: int = POINTS,
) -> CorrectedDraws:
    r"""Draw the true rates given labels and audit.

    Sobol points propose s and t from the audit's posteriors; a second set proposes them from
    where the first found weight. By the labels a proposal has the weight

    .. math:: \prod_h \int \mathrm{Beta}(\pi; a, a)\, q^{y_h} (1-q)^{n_h-y_h}\, d\pi, \quad
        q = \pi s + (1-\pi)(1-t)

    over the strata that share the audit, with the prior count a of ``draws.round_posterior``: of
    its two minds about a class of several strata the heavy one alone among flagged items, both
    among passed ones (each is weighed by itself, and half of the draws keep to each). Proposals
    are picked by weight, and :math:`\pi_h` is drawn from its distribution given s and t. The
    integrals are sums over cells, with the prior's exact mass in each. There is one audit for all
    labels, or one for each predicted class or part of it, whose labels count as right where it is
    None.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.labels.audit import LabelAudit
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=150, tn=4690, flagged_size=1600, passed_size=48400
    ... )
    >>> draws = corrected_draws(counts, LabelAudit(tp=96, fn=4, tn=1980, fp=20))
    >>> draws.rates.mean(axis=0).round(3)
    array([0.905, 0.022])
    """
    is_right = isinstance(audit, ClassAudits) and audit.flagged is None
    classes = _classes(_thinned(counts), whole=is_right)
    if not isinstance(audit, ClassAudits):
        parts = [_part_draws(classes, audit, seed, points)]
    else:  # nothing ties the classes together then; other seeds keep their draws independent
        audited = [*_audited(classes[0], audit.flagged), *_audited(classes[1], audit.passed)]
        parts = [
            _right_draws(class_, seed + index, points)
            if class_audit is None
            else _part_draws([class_], class_audit, seed + index, points)
            for index, (class_, class_audit) in enumerate(audited)
        ]
    rates = np.hstack([part.rates for part in parts])
    return CorrectedDraws(
        rates=rates,
        uniforms=np.random.default_rng(seed).random(rates.shape),
        flagged=int(counts.is_flagged.sum()),
        sensitivity=np.hstack([part.sensitivity for part in parts]),
        specificity=np.hstack([part.specificity for part in parts]),
        seed=seed,
        effective=min(part.effective for part in parts),
        supported=min(part.supported for part in parts),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _LatentClass:
    """Labels of one predicted class, ``(H,)``, and what they would say if they did not err."""

    posterior: BetaMixture
    positive: Floats
    labeled: Floats

    def part(self, own: slice) -> _LatentClass:
        """Choose some of the strata."""
        weight, alpha, beta = self.posterior.weight, self.posterior.alpha, self.posterior.beta
        posterior = BetaMixture(weight, alpha[:, own], beta[:, own])
        return _LatentClass(posterior, self.positive[own], self.labeled[own])


def _audited(
    class_: _LatentClass, audit: ClassAudit | None
) -> Iterator[tuple[_LatentClass, LabelAudit | ArrivedShare | None]]:
    """Give the parts of a class that have an audit each."""
    if not isinstance(audit, ScoreAudits):
        yield class_, audit
        return
    first = 0
    for strata, own in audit.parts:
        yield class_.part(slice(first, first + strata)), own
        first += strata


def _thinned(counts: Counts) -> Counts:
    """Count fewer labels at the same rate where they tell more than the grid of a rate can hold."""
    share = counts.positive / np.maximum(counts.labeled, 1)
    worth = np.maximum(counts.labeled * share * (1 - share), 1e-300)
    part = np.minimum(1, MOST_WORTH / worth)
    labeled = np.round(counts.labeled * part).astype(np.int64)
    positive = np.minimum(np.round(counts.positive * part).astype(np.int64), labeled)
    return Counts.of_arrays(
        size=counts.size, labeled=labeled, positive=positive, is_flagged=counts.is_flagged
    )


def _classes(counts: Counts, *, whole: bool) -> list[_LatentClass]:
    """Take the classes apart, the flagged with both halves of the prior if ``whole``."""
    posterior = round_posterior(counts)
    flagged = posterior.flagged if whole else _heavy_half(posterior.flagged)
    up = counts.is_flagged
    positive, labeled = counts.positive.astype(np.float64), counts.labeled.astype(np.float64)
    return [
        _LatentClass(flagged, positive[up], labeled[up]),
        _LatentClass(posterior.passed, positive[~up], labeled[~up]),
    ]


def _heavy_half(posterior: BetaMixture) -> BetaMixture:
    """Leave out the light half of a round's prior, under which bands are pure until shown mixed.

    Among flagged items wrong labels can explain every negative away, so that half would raise
    precision: intervals with bands held it in .87 to .93 of rounds, and hold it in .93 to .97
    without that half, though narrower. Among passed items it costs nothing
    (benchmarks/label_error.py).
    """
    return BetaMixture.single(posterior.alpha[-1], posterior.beta[-1])


@dataclass(frozen=True, slots=True, eq=False)
class _PartDraws:
    """Draws of the strata that share an audit, shape ``(points, H)`` each."""

    rates: Floats
    sensitivity: Floats
    specificity: Floats
    effective: float
    supported: float


def _part_draws(
    classes: Sequence[_LatentClass], audit: LabelAudit | ArrivedShare, seed: int, points: int
) -> _PartDraws:
    """Draw the rates of the classes that share an audit."""
    s, t = audit.sensitivity, audit.specificity
    rough = _weighed(classes, audit, s, t, seed, FIRST_ANALYSIS)
    if _effective(rough.weight) < FIRST_ANALYSIS / 2:  # else the audit's own proposals serve
        s = s and _around(rough.sensitivity, rough.weight)
        t = t and _around(rough.specificity, rough.weight)
    weighed = _weighed(classes, audit, s, t, seed, PROPOSALS)
    chosen, effective = _resampled(weighed.weight, points, np.random.default_rng(seed))
    rates = weighed.rates[chosen]

    def in_each_stratum(values: Floats) -> Floats:
        return np.broadcast_to(values[chosen, np.newaxis], rates.shape)

    return _PartDraws(
        rates=rates,
        sensitivity=in_each_stratum(weighed.sensitivity),
        specificity=in_each_stratum(weighed.specificity),
        effective=effective,
        supported=_effective(rough.weight),
    )


def _right_draws(class_: _LatentClass, seed: int, points: int) -> _PartDraws:
    """Draw the rates of a class whose labels count as right."""
    sobol = qmc.Sobol(1 + class_.posterior.strata, scramble=True, rng=seed).random(points)
    ones = np.ones(points)
    _, rates = _class_rates(
        class_,
        ones,
        ones,
        weight=ones,
        uniforms=sobol[:, 1:] + _HALF_CELL,
        pick=sobol[:, 0] + _HALF_CELL,
    )
    # Points of two Sobol sequences are no independent pairs before they are shuffled.
    rates = np.random.default_rng(seed).permutation(rates)
    sure = np.ones_like(rates)
    return _PartDraws(rates, sure, sure, float(points), float(FIRST_ANALYSIS))


@dataclass(frozen=True, slots=True, eq=False)
class _Weighed:
    """Proposed s and t with their weights, shape ``(points,)``, and rates, ``(points, H)``."""

    sensitivity: Floats
    specificity: Floats
    weight: Floats
    rates: Floats


def _weighed(
    classes: Sequence[_LatentClass],
    audit: LabelAudit | ArrivedShare,
    propose_s: tuple[float, float] | None,
    propose_t: tuple[float, float] | None,
    seed: int,
    points: int,
) -> _Weighed:
    """Propose s and t from two Betas, or as 1, and weigh them by audit and labels."""
    strata = sum(class_.posterior.strata for class_ in classes)
    dimensions = 2 + len(classes) + strata
    sobol = qmc.Sobol(dimensions, scramble=True, rng=seed).random(points) + _HALF_CELL
    s, s_ratio = _proposed(propose_s, audit.sensitivity, sobol[:, 0])
    t, t_ratio = _proposed(propose_t, audit.specificity, sobol[:, 1])
    weight = (s + t > 1) * s_ratio * t_ratio
    likely = np.ones(points)
    rates = []
    first = 2 + len(classes)
    for index, class_ in enumerate(classes):
        last = first + class_.posterior.strata
        uniforms, pick = sobol[:, first:last], sobol[:, 2 + index]
        by_class, drawn = _class_rates(class_, s, t, weight=weight, uniforms=uniforms, pick=pick)
        likely *= by_class
        rates.append(drawn)
        first = last
    return _Weighed(s, t, weight * likely, np.hstack(rates))


def _proposed(
    law: tuple[float, float] | None, target: tuple[float, float] | None, uniforms: Floats
) -> tuple[Floats, Floats]:
    """Values of a Beta law with the density wanted over theirs, or 1 where nothing is unknown."""
    if law is None or target is None:
        return np.ones_like(uniforms), np.ones_like(uniforms)
    values = np.asarray(special.betaincinv(*law, uniforms))
    return values, _ratio(values, target, law)


def _ratio(values: Floats, target: tuple[float, float], proposed: tuple[float, float]) -> Floats:
    """Density wanted over density proposed, up to a factor."""
    logs = special.xlogy(target[0] - proposed[0], values)
    logs += special.xlog1py(target[1] - proposed[1], -values)
    return np.asarray(np.exp(logs - logs.max()))


def _around(values: Floats, weight: Floats) -> tuple[float, float]:
    """Beta with the weighted mean of the values and twice their variance."""
    mean = float(np.average(values, weights=weight)) if weight.sum() > 0 else float(values.mean())
    mean = min(max(mean, 1e-6), 1 - 1e-6)
    # Twice as wide: weights stay bounded only where proposals reach further than the posterior.
    variance = 2 * float(np.average((values - mean) ** 2, weights=weight + _HALF_CELL))
    both = max(mean * (1 - mean) / max(variance, 1e-12) - 1, 1.0)
    return mean * both, (1 - mean) * both


def _resampled(weight: Floats, points: int, rng: np.random.Generator) -> tuple[Ints, float]:
    """Draws picked by weight at equal steps, and how many equal ones the weights are worth.

    In a random order: every fourth point of a Sobol sequence is in one quarter of the space.
    """
    total = float(weight.sum())
    if total == 0:
        return np.zeros(points, dtype=np.int64), 0.0
    order = rng.permutation(len(weight))
    steps = (np.arange(points) + 0.5) / points
    position = np.searchsorted(np.cumsum(weight[order]) / total, steps)
    return np.asarray(order[np.minimum(position, len(weight) - 1)]), _effective(weight)


def _effective(weight: Floats) -> float:
    """How many equally likely draws weighted ones are worth."""
    total = float(weight.sum())
    return total**2 / float((weight**2).sum()) if total > 0 else 0.0


def corrected_estimates(
    counts: Counts,
    *audits: LabelAudit | ArrivedShare | ClassAudits,
    metrics: Sequence[str] = ("precision", "recall"),
    estimands: Sequence[Estimand] = ESTIMANDS,
    seed: int = 0,
) -> list[MetricEstimate]:
    """Estimate metrics of the truth from this round's labels and an audit of the labels.

    As ``posterior.estimates``; without a value, and with the reason, also where the audit and the
    labels contradict each other. Of several ``audits`` any may be right: each has as many draws.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.labels.audit import LabelAudit
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=150, tn=4690, flagged_size=1600, passed_size=48400
    ... )
    >>> audit = LabelAudit(tp=96, fn=4, tn=1980, fp=20)
    >>> for found in corrected_estimates(counts, audit, estimands=("rate",)):
    ...     print(found)
    precision (rate, round): 0.905 [0.833, 0.982]
    recall (rate, round): 0.579 [0.506, 0.671]
    """
    ways = [corrected_draws(counts, audit, seed=seed) for audit in audits]
    supported = [draws for draws in ways if draws.supported >= FEWEST_SUPPORTED]
    result = estimates(
        counts,
        metrics=metrics,
        estimands=estimands,
        drawn=MatrixDraws(partial(_any_of, supported or ways, counts), METHOD),
    )
    if supported:
        return result
    reason = Contradiction.AUDIT
    return [replace(row, point=None, low=None, high=None, reason=reason) for row in result]


def _any_of(ways: Sequence[Draws], counts: Counts, estimand: Estimand) -> Matrix:
    """Draws of the matrix, as many of each way."""
    first, *others = (draws.matrix(counts, estimand) for draws in ways)
    names = ("tp", "fp", "fn", "tn") if others else ()
    both = {name: [getattr(each, name) for each in (first, *others)] for name in names}
    return replace(first, **{name: np.concatenate(each) for name, each in both.items()})


CELLS = 400
"""Cells of the grid of a rate, even in its log odds from -12 to 12; what is beyond counts as 0 or
1."""

_FARTHEST = 12.0  # a rate of 6 in a million
_BLOCK = 2**11  # proposals at a time, 7 MB an array


def _class_rates(
    class_: _LatentClass, s: Floats, t: Floats, *, weight: Floats, uniforms: Floats, pick: Floats
) -> tuple[Floats, Floats]:
    """Likelihood of each proposed s and t by one class's labels, and true rates given it.

    The prior of a rate, as in a round, piles up at 0 and 1, so rates are on a grid that is even in
    the log odds and holds the prior's exact mass in each cell; the likelihood is taken in the
    cell's middle. Its shape is ``(points,)``, and its mean is 1 over ``weight`` for each component
    of the prior by itself; the rates have the shape ``(points, H)``. ``s``, ``t`` and ``weight``
    are proposed sensitivity and specificity and their weight without these labels, ``(points,)``.
    ``uniforms``, ``(points, H)``, choose the rates and ``pick``, ``(points,)``, the component; in
    (0, 1).
    """
    mixture, positive, labeled = class_.posterior, class_.positive, class_.labeled
    components, strata = mixture.alpha.shape
    log_likely = np.zeros((components, len(s)))
    drawn = np.empty((components, len(s), strata))
    for h in range(strata):
        likelihoods, rates = _stratum_rates(
            mixture.alpha[:, h] - positive[h], positive[h], labeled[h], s, t, uniforms[:, h]
        )
        log_likely += likelihoods
        drawn[:, :, h] = rates
    likely = np.exp(log_likely - log_likely.max(axis=1, keepdims=True))
    # 1e-300 keeps a component without any weight at 0 instead of 0/0.
    likely /= np.maximum(likely @ weight / weight.sum(), 1e-300)[:, np.newaxis]
    shares = mixture.weight[:, np.newaxis] * likely
    total = shares.sum(axis=0)
    below = np.cumsum(shares, axis=0)[:-1] / np.maximum(total, 1e-300)
    chosen = (below < pick).sum(axis=0)
    return total, drawn[chosen, np.arange(len(s))]


def _stratum_rates(
    prior: Floats, positive: float, labeled: float, s: Floats, t: Floats, uniforms: Floats
) -> tuple[Floats, Floats]:
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
        block = slice(start, start + _BLOCK)
        q = middle * (s[block] + t[block] - 1)[:, np.newaxis] + (1 - t[block])[:, np.newaxis]
        logs = special.xlogy(positive, q) + special.xlog1py(labeled - positive, -q)
        highest = logs.max(axis=1, keepdims=True)  # thousands of labels would underflow
        likely = np.exp(logs - highest)
        for j, cell_mass in enumerate(mass):
            below = np.cumsum(likely * cell_mass, axis=1)
            log_likely[j, block] = highest[:, 0] + np.log(below[:, -1])
            rates[j, block] = _placed(below, uniforms[block])
    return log_likely, rates


def _middles() -> Floats:
    """Log odds in the middle of each cell."""
    return (np.arange(CELLS) + 0.5) / CELLS * 2 * _FARTHEST - _FARTHEST


def _placed(below: Floats, uniforms: Floats) -> Floats:
    """Rates at these shares of the mass, evenly in the log odds within a cell."""
    target = uniforms * below[:, -1]
    cell = (below < target[:, np.newaxis]).sum(axis=1)
    rows = np.arange(len(cell))
    mass_below = np.where(cell > 0, below[rows, cell - 1], 0.0)
    inside = (target - mass_below) / np.maximum(below[rows, cell] - mass_below, 1e-300)
    log_odds = (cell - 1 + np.clip(inside, 0, 1)) / CELLS * 2 * _FARTHEST - _FARTHEST
    rates = np.where(cell == 0, 0.0, special.expit(log_odds))
    return np.asarray(np.where(cell > CELLS, 1.0, rates))
