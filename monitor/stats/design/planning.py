r"""What labels buy, both ways: from margins to labels, and from a number of labels to margins.

``plan_options`` sets the plan of a ``Prospect`` beside the same window without bands (two strata,
Shang et al. 2023) and beside a plain random sample, and says what the alerts would find.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.levels import LEVEL, normal_quantile
from monitor.stats.design.allocation import Allocation, allocate, assured_by
from monitor.stats.design.assurance import ASSURANCE, FutureWidths, cell_half_widths
from monitor.stats.design.neyman import AllocationProblem
from monitor.stats.design.prior import PriorRates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.prospect import Prospect


MARGINS = (0.10, 0.05, 0.03)
"""Margins that a prospect is always asked for."""
_OUT_OF_REACH = 1e4


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """Labels that margins need, by three designs."""

    margins: Mapping[str, float]
    labels: int
    two_strata: int
    random: int


@dataclass(frozen=True, slots=True)
class MarginsBought:
    """Margins that a number of labels buys, with the bands and without them."""

    labels: int
    cost: float
    margins: Mapping[str, float]
    two_strata: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class PlanOptions:
    """A plan, and what other margins and other numbers of labels would mean.

    ``assurance`` is the probability with which margins are to be kept; None if plans are for
    the expected half-width. ``plausible`` is what the plan may come to where scores are all that is
    known, None otherwise. ``one_more`` is the half-width of recall if one positive more than
    expected turned up (``with_one_more``).
    """

    prospect: Prospect
    plan: Allocation
    needed: tuple[LabelsNeeded, ...]
    bought: tuple[MarginsBought, ...]
    assurance: float | None
    plausible: PlausibleScores | None = None
    one_more: float | None = None


def plan_options(
    prospect: Prospect,
    *,
    margins: Mapping[str, float] | None = None,
    max_labels: int | None = None,
    assurance: float | None = ASSURANCE,
) -> PlanOptions:
    """Plan a round, with the labels of other margins and the margins of other numbers of labels.

    ``margins``, ``max_labels`` and ``assurance`` are as for
    `monitor.stats.design.allocation.allocate`; one of the first two is needed.

    Examples
    --------
    >>> from monitor.stats.design.prospect import Prospect
    >>> window = Prospect.assumed(precision=0.8, recall=0.6, flagged_rate=0.03, size=100_000)
    >>> found = plan_options(window, max_labels=1000)
    >>> found.plan.labels, {name: round(half, 3) for name, half in found.plan.margins.items()}
    (array([ 61, 939]), {'precision': 0.1, 'recall': 0.122})
    >>> [(each.labels, each.random) for each in found.needed if each.margins["recall"] == 0.05]
    [(5944, 8768)]
    """
    plan = allocate(prospect, margins=margins, max_labels=max_labels, assurance=assurance)
    names = [name for name in ("precision", "recall") if name in plan.margins]
    ladder = _ladder(names, margins or {})
    free = prospect.free_labels
    paid, most = plan.total - free, int(prospect.size.sum()) - free
    # Out of reach, so that a plan spends all of its labels on the ratio that was asked for.
    ratio = {name: half / _OUT_OF_REACH for name, half in plan.asked.items() if name in names}
    others = {paid // 2, min(2 * paid, most)} - {0, paid}
    plans = [plan, *(allocate(prospect, margins=ratio, max_labels=labels) for labels in others)]
    plans.sort(key=lambda each: each.total)
    return PlanOptions(
        prospect=prospect,
        plan=plan,
        needed=tuple(_needed(prospect, each, assurance) for each in ladder),
        bought=tuple(_bought(prospect, each) for each in plans),
        assurance=assurance,
        plausible=plausible_scores(
            prospect, plan.labels, plan.asked, assurance=assurance or ASSURANCE
        ),
        one_more=with_one_more(prospect, plan.labels) if "recall" in plan.margins else None,
    )


def with_one_more(prospect: Prospect, labels: Ints) -> float | None:
    """Half-width of recall if the heaviest passed cell had one positive answer more than expected.

    It is the cell in which a label stands for most items. None without a passed label, and where
    strata are bands.

    >>> from monitor.stats.design.prospect import Prospect
    >>> rates = PriorRates.of_rates([0.8, 1e-4, 0.1])
    >>> window = Prospect.of([300, 9000, 700], [True, False, False], rates, uniform=0.5)
    >>> round(with_one_more(window, np.array([60, 20, 120])), 3)
    0.264
    """
    passed = ~prospect.is_flagged & (labels > 0)
    if prospect.uniform is None or not passed.any():
        return None
    n, size = labels.astype(np.float64), prospect.size
    answers = n * prospect.prior_rates.rate
    heaviest = int(np.argmax(np.where(passed, size / np.maximum(n, 1), 0.0)))
    answers[heaviest] = min(answers[heaviest] + 1, n[heaviest])
    z = normal_quantile(LEVEL)
    widths = cell_half_widths(size, prospect.is_flagged, n, answers, z=z, cell=prospect.cell)
    return float(widths["recall"])


def _ladder(names: Sequence[str], requested: Mapping[str, float]) -> list[dict[str, float]]:
    """Margins to show the price of, from wide to narrow: the usual ones and those asked for."""
    ladder = [dict.fromkeys(names, margin) for margin in MARGINS if names]
    own = {name: margin for name, margin in requested.items() if name in names}
    if own and own not in ladder:
        ladder.append(own)
        ladder.sort(key=lambda margins: sum(margins.values()) / len(margins), reverse=True)
    return ladder


def _needed(
    prospect: Prospect, margins: Mapping[str, float], assurance: float | None
) -> LabelsNeeded:
    pooled = prospect.without_bands
    labels, two_strata = (
        allocate(each, margins=margins, assurance=assurance).total for each in (prospect, pooled)
    )
    random = random_sampling_labels(pooled, margins, assurance=assurance)
    return LabelsNeeded(margins, labels, two_strata, random)


def _bought(prospect: Prospect, plan: Allocation) -> MarginsBought:
    pooled = prospect.without_bands
    two_strata = allocate(pooled, max_labels=plan.total - pooled.free_labels).margins
    return MarginsBought(plan.total, plan.cost, plan.margins, two_strata)


def random_sampling_labels(
    prospect: Prospect, margins: Mapping[str, float], *, assurance: float | None = None
) -> int:
    r"""Labels that a plain random sample of the window would need for the same margins.

    Expected numbers, not a guarantee: :math:`n\,N_+/N` labels fall on predicted positives and
    :math:`n\,\eta` on actual ones, with variances :math:`P(1-P)` and :math:`R(1-R)` per label
    (section 2.1 of Shang et al., 2023) and the finite-population term of the window. ``margins``
    and ``assurance`` are as for `monitor.stats.design.allocation.allocate`. With an assurance the
    expected half-width is to be narrower than the margin by what that share of the draws needs; the
    sample's split between the classes is taken for the window's.

    Examples
    --------
    >>> from monitor.stats.design.prior import PriorRates
    >>> from monitor.stats.design.prospect import Prospect
    >>> window = Prospect.of([46e6, 1000e6], [1, 0], PriorRates.of_rates([0.79, 0.0178988]))
    >>> random_sampling_labels(window, {"recall": 0.05})
    6552
    """
    size, up = prospect.size.astype(np.float64), prospect.is_flagged
    rate, total = prospect.prior_rates.rate, float(size.sum())
    z = normal_quantile(LEVEL)
    true_positive, positive = float(size[up] @ rate[up]), float(size @ rate)
    shares = {
        "precision": (true_positive, float(size[up].sum())),
        "recall": (true_positive, positive),
    }
    needed = 0.0
    for name, margin in margins.items():
        numerator, denominator = shares[name]
        if denominator > 0:
            per_label = (
                (numerator / denominator) * (1 - numerator / denominator) * total / denominator
            )
            labels = per_label / ((margin / z) ** 2 + per_label / total)
            if assurance is not None:
                wider = _wider(name, prospect, labels, assurance)
                labels = per_label / ((margin / wider / z) ** 2 + per_label / total)
            needed = max(needed, labels)
    return math.ceil(needed)


def _wider(name: str, prospect: Prospect, labels: float, assurance: float) -> float:
    """Half-width that is kept with a probability, against the one kept in half of the draws."""
    problem, _ = AllocationProblem.of(replace(prospect, uniform=None), LEVEL)
    future = FutureWidths.of(replace(problem, z=1.0), prospect.prior_rates)
    widths = future.half_widths(labels * problem.size / problem.size.sum())[name]
    return float(np.quantile(widths, assurance) / np.quantile(widths, 0.5))


SHIFT = 1.5
"""Log odds by which plausible scores are off: a factor of 4.5 of the odds."""

STRETCH = 2.0
"""Factor by which the log odds of plausible scores are too large or too small."""


@dataclass(frozen=True, slots=True)
class PlausibleScores:
    """Least and most over all scores that are plausible.

    Of the probability that the plan's labels keep each margin, and of the labels that would keep
    all margins with the assurance asked for.
    """

    assured: Mapping[str, tuple[float, float]]
    needed: tuple[int, int]


def plausible_scores(
    prospect: Prospect, labels: Ints, margins: Mapping[str, float], *, assurance: float
) -> PlausibleScores | None:
    r"""Judge a plan by all plausible scores; None unless scores are all that is known.

    Before any label a plan takes the scores of a window for probabilities, and its probability of
    keeping a margin rests on that. Here the same labels are judged, and the same margins planned
    for, where the scores are wrong in ways that are common: in the log odds l of each stratum the
    truth is

    .. math:: l, \quad l \pm 1.5, \quad l/2, \quad 2l,

    or the scores say nothing within a predicted class, whose strata all have its mean rate.
    """
    if prospect.prior_rates.source != "scores" or not margins:
        return None
    needed, shares = [], []
    for rates in _plausible(prospect):
        plausible = replace(prospect, prior_rates=rates)
        plan = allocate(plausible, margins=margins, assurance=assurance)
        needed.append(plan.total)
        shares.append(assured_by(plausible, labels, margins))
    spans = {name: [each[name] for each in shares] for name in shares[0]}
    return PlausibleScores(
        {name: (min(each), max(each)) for name, each in spans.items()}, (min(needed), max(needed))
    )


def _plausible(prospect: Prospect) -> Iterator[PriorRates]:
    prior_rates = prospect.prior_rates
    log_odds = special.logit(prior_rates.rate)
    moves = (log_odds, log_odds - SHIFT, log_odds + SHIFT, log_odds / STRETCH, log_odds * STRETCH)
    for moved in moves:
        yield _with_rates(prior_rates, special.expit(moved))
    yield _with_rates(prior_rates, _class_means(prospect))


def _class_means(prospect: Prospect) -> Floats:
    rate, up = prospect.prior_rates.rate.copy(), prospect.is_flagged
    for members in (up, ~up):
        size = prospect.size[members]
        if size.any():
            rate[members] = np.average(rate[members], weights=size)
    return rate


def _with_rates(prior_rates: PriorRates, rates: Floats) -> PriorRates:
    """Return other rates that are known as well."""
    both, inside = prior_rates.alpha + prior_rates.beta, np.clip(rates, 1e-9, 1 - 1e-9)
    return PriorRates(both * inside, both * (1 - inside), prior_rates.source)
