"""How many more labels a segment needs for a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from monitor.stats.core.counts import Counts
from monitor.stats.core.levels import LEVEL, check_probability, normal_quantile
from monitor.stats.design.neyman import coefficients_of
from monitor.stats.design.notes import Remark
from monitor.stats.design.prior import PriorRates
from monitor.stats.estimation.cell_matrix import plain_counts
from monitor.stats.estimation.segments import segment_posterior

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats


_ROUNDING = 1e-9  # labels this little above a whole number mean that number
_PRECISE = 1e-6  # of the factor on a round's labels: far under one label
_NEVER = 1e-12  # labels of the segment in a whole round: none will ever come


@dataclass(frozen=True, slots=True)
class MoreLabels:
    """How many labels a margin still needs.

    ``of_round`` are added to the whole round, drawn as this round was, so that the segment gets its
    share of them; ``None`` if no number is enough, since a stratum that matters is not sampled.
    ``of_segment`` are added to items of the segment only, shared out over its strata for this
    margin.
    """

    of_round: int | None
    of_segment: int


def more_labels(
    segment: Counts, whole: Counts, metric: str, margin: float, *, cells: bool = False
) -> MoreLabels:
    r"""How many more labels bring a segment's 95 % interval within a margin.

    The posterior of a rate has the variance :math:`v_h/m_h` with
    :math:`v_h = E[\pi_h(1-\pi_h)]`, as if from :math:`m_h` labels, of which :math:`n_h` are the
    segment's own. In a window of :math:`N_h` items that is worth :math:`t_h` own labels,

    .. math:: \frac{1}{t_h} = \frac{1}{N_h} + \frac{(N_h-n_h)^2}{N_h^2 m_h} +
        \frac{N_h-n_h}{N_h^2},

    and with :math:`k_h` more the window's half-width is, by the delta method and with the
    gradient g of ``neyman``, :math:`z\sqrt{\sum_h g_h^2 v_h (1/(t_h+k_h) - 1/N_h)}`.

    Expected numbers, not a guarantee; zeros if the margin is reached already. A class without any
    label needs one even if other segments have labels. By score cells each class is one stratum of
    the plain labels that its cells are worth, and so are the labels of the segment only.

    ``segment`` and ``whole`` are as in ``segment_posterior``; ``metric`` is precision or recall,
    and ``margin`` the half-width wanted, in (0, 1).

    Raises
    ------
    ValueError
        If the metric is another one, or the segment cannot have it (nothing flagged, or all).

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> whole = Counts.of_matrix(tp=80, fp=20, fn=10, tn=290, flagged_size=900, passed_size=9000)
    >>> part = Counts.of_matrix(tp=2, fp=8, fn=1, tn=29, flagged_size=90, passed_size=900)
    >>> more_labels(part, whole, "precision", 0.1)
    MoreLabels(of_round=1100, of_segment=28)
    """
    _check_request(metric, margin)
    drawn = whole
    if cells:
        segment, whole = _plain_part(segment, whole)
    # What is most likely, as plans of rounds: own weight is for an interval that may not mislead.
    prior_rates = PriorRates.of_posterior(segment_posterior(segment, whole, own_weight=0.0))
    coefficients, notes = coefficients_of(segment.size, whole.is_flagged, prior_rates)
    if metric not in coefficients:
        message = (
            "nothing was flagged, so precision and recall cannot be planned for"
            if Remark.NOTHING_FLAGGED in notes
            else "everything was flagged, so recall is 1 and needs no labels"
        )
        raise ValueError(message)
    used = coefficients[metric] > 0
    c, size = coefficients[metric][used], segment.size[used].astype(np.float64)
    worth = _worth(segment, prior_rates.alpha + prior_rates.beta)[used]
    allowed = (margin / normal_quantile(LEVEL)) ** 2 + float(np.sum(c / size))
    gain = segment.size * (whole.labeled / np.maximum(whole.size, 1))
    unseen = _without_label(segment, metric)
    least = max((1 / max(float(gain[stratum].sum()), _NEVER) for stratum in unseen), default=0.0)
    factor = _least_factor(c, allowed, worth, size, gain[used], least)
    targeted = float((_fewest(c, allowed, worth, size) - worth).sum())
    return MoreLabels(
        of_round=None if factor is None else _labels_of_round(drawn, factor),
        of_segment=max(math.ceil(targeted - _ROUNDING), len(unseen)),
    )


def _plain_part(segment: Counts, whole: Counts) -> tuple[Counts, Counts]:
    """Make one stratum a class of the cells of a segment, and of all its items."""
    names = ("size", "labeled", "positive")
    others = Counts.of_arrays(
        **{name: getattr(whole, name) - getattr(segment, name) for name in names},
        is_flagged=whole.is_flagged,
    )
    part, other = plain_counts(segment), plain_counts(others)
    both = {name: getattr(part, name) + getattr(other, name) for name in names}
    return part, Counts.of_arrays(**both, is_flagged=part.is_flagged)


def _worth(segment: Counts, values: Floats) -> Floats:
    """How many own labels the posterior is worth in this window, at most all items."""
    size = np.maximum(segment.size, 1).astype(np.float64)
    unlabeled = 1 - segment.labeled / size
    return np.asarray(
        1 / (1 / size + unlabeled**2 / np.maximum(values, segment.labeled) + unlabeled / size)
    )


def _without_label(segment: Counts, metric: str) -> list[Bools]:
    """Strata of each class that the metric needs, that has items and no label."""
    up = segment.is_flagged
    classes = [up] if metric == "precision" else [up, ~up]
    return [of for of in classes if segment.size[of].any() and not segment.labeled[of].any()]


def _fewest(c: Floats, allowed: float, low: Floats, high: Floats) -> Floats:
    r"""Fewest labels with :math:`\sum_h c_h/n_h \le` ``allowed``: clip(mu sqrt c, low, high)."""
    root = np.sqrt(c)

    def labels(multiplier: float) -> Floats:
        return np.asarray(np.clip(multiplier * root, low, high))

    most = float(np.max(high / root, initial=0.0))
    if np.sum(c / low) <= allowed:
        return low
    if np.sum(c / high) >= allowed:
        return high
    result = optimize.brentq(lambda mu: float(np.sum(c / labels(mu))) - allowed, 0.0, most)
    return labels(float(result))


def _least_factor(
    c: Floats, allowed: float, worth: Floats, size: Floats, gain: Floats, least: float
) -> float | None:
    """Least factor on the round's labels, beyond what it has, that keeps the margin."""

    def keeps(factor: float) -> bool:
        return float(np.sum(c / np.minimum(worth + factor * gain, size))) <= allowed

    high = max(float(np.max(size[gain > 0] / gain[gain > 0], initial=0.0)), least)
    if not keeps(high) or high >= 1 / _NEVER:
        return None
    if keeps(least):
        return least
    low = least
    while high - low > _PRECISE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _labels_of_round(whole: Counts, factor: float) -> int:
    """Labels that a factor on the round adds, where strata have that many items left."""
    added = np.minimum(factor * whole.labeled, whole.size - whole.labeled)
    return math.ceil(float(added.sum()) - _ROUNDING)


def _check_request(metric: str, margin: float) -> None:
    if metric not in ("precision", "recall"):
        message = f"labels are predicted for precision and recall, got {metric!r}"
        raise ValueError(message)
    check_probability(margin, "margin")
