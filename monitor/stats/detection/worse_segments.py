r"""Which segments are worse than the rest, with a bound on how many are named wrongly.

In a stratum of a round, N labels hold K errors: negatives among flagged items, positives among
passed ones. If a segment with n of these labels has :math:`\omega` times the odds of error of the
rest, its errors y have Fisher's noncentral hypergeometric distribution, and

.. math:: \frac{P_\omega(y)}{P_1(y)} = \frac{\omega^y}{E_1[\omega^X]}, \quad
    X \sim \mathrm{Hypergeometric}(N, K, n)

has mean 1 if the segment is like the rest, and at most 1 if it is better. It takes N, K and n as
given, so nothing is assumed of the rates of strata and rounds, and ratios multiply over both. The
e-value of a round averages products over what is not known: which class is worse (flagged, passed,
both), :math:`\omega` (``ODDS``), and whether for the last 1, 2, 4, ... rounds or all. Of segments,
which overlap, weighted e-BH names those that are worse: of the named at most the share alpha is
expected to be wrong, in each round (Wang and Ramdas, JRSS B 84, 2022, Theorem 5.1).
``benchmarks/worse_segments.py`` has its power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.interpolate import CubicSpline

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats, Ints

ODDS = 2 ** (np.arange(1, 7) / 2)
"""Factors in the odds of error that a segment is tried to be worse by: 1.4 to 8."""

KINDS = ("precision", "recall", "both")
"""What is worse: flagged items are wrong, passed ones are missed, or both by one factor."""


@dataclass(frozen=True, slots=True)
class WorseSegment:
    """A named segment: its place among those searched, what is worse, and in how many last rounds.

    ``odds`` are the odds of error against the rest, 8 at most; ``high`` is None where the interval
    has no upper end below that.
    """

    index: int
    kind: str
    rounds: int
    odds: float
    low: float
    high: float | None
    log_e: float


def log_ratios(labels: Ints, errors: Ints, own_labels: Ints, own_errors: Ints) -> Floats:
    """Log likelihood ratio of each of ``ODDS`` by segment, summed over strata.

    ``labels`` and ``errors`` are N and K of each stratum, ``(H,)``, the segments' among them, and
    ``own_labels`` and ``own_errors`` n and y of each segment, ``(S, H)``.
    """
    mixed = (own_labels > 0) & (own_labels < labels) & (errors > 0) & (errors < labels)
    segment, stratum = np.nonzero(mixed)  # the others have one outcome only
    n, y = (own[mixed][:, np.newaxis] for own in (own_labels, own_errors))
    n_all, k_all = (of[stratum][:, np.newaxis] for of in (labels, errors))
    x = np.arange(np.minimum(n, k_all).max(initial=0) + 1)
    log_p = _log_choose(n, x) + _log_choose(n_all - n, k_all - x) - _log_choose(n_all, k_all)
    result = np.zeros((len(own_labels), len(ODDS)))
    for column, theta in enumerate(np.log(ODDS)):
        ratio = theta * y[:, 0] - special.logsumexp(log_p + theta * x, axis=1)
        np.add.at(result[:, column], segment, ratio)
    return result


def _log_choose(n: Ints, k: Ints) -> Floats:
    """Log of the binomial coefficient, -inf where it is 0: the gamma function has a pole there."""
    divisor: Floats = special.gammaln(np.maximum(k, -1) + 1) + special.gammaln(
        np.maximum(n - k, -1) + 1
    )
    return special.gammaln(n + 1) - divisor


def worse_segments(ratios: Floats, prior: Floats, *, level: float = 0.1) -> list[WorseSegment]:
    r"""Name the segments that are worse than the rest, the strongest first.

    The interval of a named one holds its odds with the confidence that keeps the expected share
    of intervals that miss at ``level`` too (e-BY: Xu, Wang and Ramdas, 2022): with R named, those
    :math:`\omega_0` whose likelihood, in its rounds and of its kind, is above
    :math:`\mathrm{level}\,R` times the prior of all that, times the mean likelihood of ``ODDS``.

    ``ratios`` are ``log_ratios`` of the flagged and of the passed strata of each round and segment,
    ``(S, rounds, 2, len(ODDS))``, 0 where a segment has no labels; the weights ``prior``, ``(S,)``,
    sum to 1; ``level`` is the expected share of wrong names among all, at most.
    """
    if not ratios.size:
        return []
    spans, products = _products(ratios)
    parts = _log_parts(products)
    log_e = special.logsumexp(parts, axis=(1, 2))
    named = e_bh(log_e, prior, level=level)
    result: list[WorseSegment] = []
    for index in named:
        span, kind = np.unravel_index(parts[index].argmax(), parts[index].shape)
        cut = parts[index, span, kind] + math.log(level * len(named) * prior[index])
        odds = _odds(products[index, span, kind], cut)
        result.append(
            WorseSegment(index, KINDS[kind], int(spans[span]), *odds, float(log_e[index]))
        )
    return result


def _products(ratios: Floats) -> tuple[Ints, Floats]:
    """Multiply the rounds of each span up to the newest: the spans, and (S, spans, kinds, odds)."""
    of_kinds = np.concatenate([ratios, ratios.sum(axis=2, keepdims=True)], axis=2)
    total = ratios.shape[1]
    spans = np.unique([*(2 ** np.arange(total.bit_length())), total])
    sums = [of_kinds[:, total - span :].sum(axis=1) for span in spans]
    return spans, np.stack(sums, axis=1)


def _log_parts(products: Floats) -> Floats:
    """Weigh spans, kinds and odds alike, summed over the odds: what adds up to the e-value."""
    parts: Floats = special.logsumexp(products, axis=3) - math.log(products[0].size)
    return parts


def e_bh(log_e: Floats, prior: Floats, *, level: float) -> list[int]:
    """Return the places that e-BH names, the largest product of e-value and prior first."""
    weighted = log_e + np.log(prior)
    order = np.argsort(-weighted, kind="stable")
    reached = np.flatnonzero(weighted[order] >= -np.log(level * np.arange(1, len(order) + 1)))
    return order[: reached[-1] + 1].tolist() if reached.size else []


def _odds(log_likelihood: Floats, cut: float) -> tuple[float, float, float | None]:
    """Return the most likely odds and the ends of those above a cut; the odds of the rest are 1."""
    knots = np.log([1.0, *ODDS])
    theta = np.linspace(0, knots[-1], 2**10)
    curve = CubicSpline(knots, [0.0, *log_likelihood])(theta)
    above = theta[curve >= cut]
    high = None if above[-1] == theta[-1] else math.exp(above[-1])
    return math.exp(theta[curve.argmax()]), math.exp(above[0]), high
