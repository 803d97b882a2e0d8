r"""How much of the truth has arrived by an age, from labels that come over days to months.

Rounds younger than the oldest label have only shown what was quick: their delays are truncated on
the right. Time runs backwards here, so that these are late entries, and labels that were there when
somebody first looked are censored (Lagakos, Barraj & De Gruttola, "Nonparametric analysis of
truncated survival data, with application to AIDS", Biometrika 75, 1988,
doi:10.1093/biomet/75.3.515). All of it assumes that later labels come as the earlier ones did;
`pace_fit` tests the part of that which shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.labels.audit import ArrivedShare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats

RECENT = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Parts of the time to maturity in which the newest labels are compared with what is expected."""


class Arrivals(NamedTuple):
    """Positive labels of one round that came between two ages, up to the age it has.

    ``first`` and ``last`` are the ages between which ``labels`` came, ``bound`` is the age at
    which the round was last read, all in days. ``first`` is None if they were there when somebody
    first looked.
    """

    first: float | None
    last: float
    labels: float
    bound: float

    @property
    def middle(self) -> float:
        """The age that they count at."""
        return ((self.first or 0.0) + self.last) / 2

    def is_dated(self, coarse: float) -> bool:
        """Whether they were seen coming: at the latest by an age of ``coarse`` at first sight."""
        return self.first is not None or self.last <= coarse


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalCurve:
    """Share of the labels that have come by each age, shapes ``(K,)``, ages ascending.

    ``worth`` is how many labels that were followed from the start would tell as much.
    """

    ages: Floats
    share: Floats
    worth: Floats

    def at(self, age: float) -> ArrivedShare:
        """Share that has come by an age: 0 before the first, 1 after the last."""
        index = int(np.searchsorted(self.ages, age, side="right")) - 1
        if index < 0:
            return ArrivedShare(0.0, float(self.worth[0]))
        return ArrivedShare(float(self.share[index]), float(self.worth[index]))

    def age_of(self, share: float) -> float:
        """First age at which at least a share has come."""
        return float(self.ages[self.share >= share][0])

    def shares(self, ages: Floats) -> Floats:
        """Share that has come by each of some ages."""
        return np.append(0.0, self.share)[np.searchsorted(self.ages, ages, side="right")]


def arrival_curve(arrivals: Sequence[Arrivals], *, coarse: float) -> ArrivalCurve:
    r"""Product-limit estimate of the share that has come by an age, in reverse time.

    .. math:: \hat F(t) = \prod_{s > t} \Big(1 - \frac{d_s}{n_s}\Big), \quad
        n_s = \#\{i: a_i \le s \le c_i\}

    with :math:`d_s` labels of age s, of rounds that were followed up to :math:`c_i`. Its variance
    is Greenwood's, :math:`\hat F^2 \sum_{s>t} d_s / (n_s (n_s - d_s))`, and ``worth`` is
    :math:`\hat F (1 - \hat F)` over it. The share is of the labels that come before the largest
    bound.

    Parameters
    ----------
    coarse
        Days; labels that were there when somebody first looked at a greater age count as come by
        then, whenever that was.

    A ValueError if no label has an age.

    Examples
    --------
    >>> old = [Arrivals(day, day, 10, bound=30) for day in (2, 5, 10, 20)]
    >>> curve = arrival_curve([*old, Arrivals(2, 2, 8, bound=6)], coarse=3)
    >>> curve.share, round(curve.at(6).share, 2)
    (array([0.32142857, 0.5       , 0.75      , 1.        ]), 0.5)
    """
    ages = _dated_ages(arrivals, coarse)
    if not ages.size:
        message = "no label has an age: all were there when somebody first looked"
        raise ValueError(message)
    came_at, at_risk = _risk_sets(arrivals, ages, coarse)
    later = slice(None, 0, -1)  # the ages after each, the oldest first
    remaining = 1 - came_at / at_risk
    share = np.append(np.cumprod(remaining[later])[::-1], 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = came_at / (at_risk * (at_risk - came_at))
        variance = share**2 * np.append(np.cumsum(terms[later])[::-1], 0.0)
        worth = share * (1 - share) / variance
    return ArrivalCurve(ages, share, np.where(np.isfinite(worth), worth, at_risk))


def _dated_ages(arrivals: Sequence[Arrivals], coarse: float) -> Floats:
    return np.unique([each.middle for each in arrivals if each.is_dated(coarse)])


def _risk_sets(arrivals: Sequence[Arrivals], ages: Floats, coarse: float) -> tuple[Floats, Floats]:
    """Count the labels that came at each age, and those that are followed in reverse time there."""
    is_dated = np.array([each.is_dated(coarse) for each in arrivals], dtype=np.bool_)
    count, bound = (
        np.array([getattr(each, name) for each in arrivals], dtype=np.float64)
        for name in ("labels", "bound")
    )
    came = np.array([each.middle if each.is_dated(coarse) else each.last for each in arrivals])
    came_at = np.array([count[is_dated & (came == age)].sum() for age in ages])
    at_risk = np.array([count[(came <= age) & (age <= bound)].sum() for age in ages])
    return came_at, at_risk


def delays_differ(one: Sequence[Arrivals], other: Sequence[Arrivals], *, coarse: float) -> float:
    r"""Probability that two groups of labels come as differently as they do, if they come alike.

    The log-rank test in reverse time (Lagakos et al., section 4): with :math:`d_s` labels of age s
    among :math:`n_s` that are followed there, :math:`n_{1s}` of the first group,

    .. math:: z = \sum_s \Big(d_{1s} - d_s \frac{n_{1s}}{n_s}\Big) \Big/
        \sqrt{\sum_s d_s \frac{n_{1s}(n_s - n_{1s})(n_s - d_s)}{n_s^2 (n_s - 1)}}

    Examples
    --------
    >>> quick, slow = ([Arrivals(d, d, 1, bound=90) for d in range(1, n)] for n in (21, 61))
    >>> round(delays_differ(quick, slow, coarse=3), 3), delays_differ(quick, quick, coarse=3)
    (0.001, 1.0)
    """
    both = [*one, *other]
    ages = _dated_ages(both, coarse)
    came_at, at_risk = _risk_sets(both, ages, coarse)
    came_first, first = _risk_sets(one, ages, coarse)
    expected = came_at * first / at_risk
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = expected * (at_risk - first) * (at_risk - came_at) / (at_risk * (at_risk - 1))
    variance = float(np.where(at_risk > 1, terms, 0.0).sum())
    difference = float((came_first - expected).sum())
    return math.erfc(abs(difference) / math.sqrt(2 * variance)) if variance > 0 else 1.0


def pace_fit(curve: ArrivalCurve, worth: float, young: Sequence[Arrivals], matures: float) -> float:
    r"""Probability of a difference between young and earlier rounds, if labels come alike.

    Of the labels of a round of age c, :math:`p = 1 - \hat F(c - w)/\hat F(c)` are expected in its
    last w days, however many positives it has. Over all young rounds the number O of these is
    compared with its binomial law,

    .. math:: z = \Big(O - \sum p\Big) \Big/
        \sqrt{\Big(1 + \frac{N}{m}\Big) \sum p (1 - p)}

    where the N labels are counted and :math:`\hat F` is worth m. The smallest of the two-sided
    probabilities for a few w is multiplied by their number (Bonferroni). Labels that are as
    much slower in each round, at any age, show in the older of the young rounds only.

    Parameters
    ----------
    worth
        Labels that the curve comes from.
    matures
        Days until labels mature, of which the w are parts.

    Examples
    --------
    >>> old = [Arrivals(day, day, 10, bound=30) for day in range(1, 31)]
    >>> curve = arrival_curve(old, coarse=3)
    >>> alike = [Arrivals(day, day, 4, bound=20) for day in range(1, 21)]
    >>> stopped = [Arrivals(day, day, 5, bound=20) for day in range(1, 17)]
    >>> [round(pace_fit(curve, 300, each, 30), 3) for each in (alike, stopped)]
    [1.0, 0.0]
    """
    rows = [(each.middle, each.bound, each.labels) for each in young]
    came, bound, labels = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    came, bound, labels = (values[curve.shares(bound) > 0] for values in (came, bound, labels))
    noise = 1 + float(labels.sum()) / worth
    fits = [1.0]
    for width in np.array(RECENT) * matures:
        share = 1 - curve.shares(bound - width) / curve.shares(bound)
        variance = noise * float(labels @ (share * (1 - share)))
        difference = float(labels @ ((came > bound - width) - share))
        if variance > 0:
            fits.append(len(RECENT) * math.erfc(abs(difference) / math.sqrt(2 * variance)))
    return min(fits)
