r"""What a first plan would come to if its scores are no probabilities.

Before any label a plan takes the scores of a window for probabilities, and its probability of
keeping a margin rests on that. Here the same labels are judged, and the same margins planned for,
where the scores are wrong in ways that are common: in the log odds l of each stratum the truth is

.. math:: l, \quad l \pm 1.5, \quad l/2, \quad 2l,

or the scores say nothing within a predicted class, whose strata all have its mean rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.design.allocation import allocate, assured_by
from monitor.stats.design.prior import PriorRates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.prospect import Prospect


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
    """Judge a plan by all plausible scores; None unless scores are all that is known."""
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
