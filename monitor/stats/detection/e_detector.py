r"""Alerts with a promised false-alarm rate: a mixture Shiryaev-Roberts e-detector.

Each round multiplies in an e-value: the likelihood ratio of an alternative beyond the limit against
its projection x onto the rates that keep the limit, :math:`c\cdot\pi \ge d`. At x,
:math:`n_h (\mathrm{alt}_h - x_h) / (x_h (1 - x_h)) = -\lambda c_h` with :math:`\lambda \ge 0`, so

.. math:: \ln E_\pi[e] = \sum_h n_h \ln\Big(1 + \frac{(\pi_h - x_h)(\mathrm{alt}_h - x_h)}
    {x_h (1 - x_h)}\Big) \le -\lambda\, c\cdot(\pi - x) \le 0

for *every* :math:`\pi` that keeps the limit, regardless of the guess.

**Missing answers.** The n_h are the items handed out, answered or not, since whether an item is
answered may depend on what it is. Missing items count as the answer that speaks for the limit: 1
where :math:`c_h > 0`, 0 where :math:`c_h < 0`. In log e the answer 1 adds :math:`\ln(\mathrm{alt}_h
(1 - x_h) / (x_h (1 - \mathrm{alt}_h)))` over the answer 0, which has the sign of
:math:`\mathrm{alt}_h - x_h`, and so the sign of :math:`-c_h`. So log e is the least over all that
the missing answers may be, at most the full sample's, and :math:`E[e] \le 1` for every way in which
answers go missing.

Then :math:`M_t` of the first t
rounds has mean at most t, and fired at N it gives at most T/N false alarms in T rounds.

Sources: reverse information projection, Grünwald, de Heide & Koolen 2024
(doi:10.1093/jrsssb/qkae011); Shiryaev-Roberts e-detectors and their mixtures, Shin, Ramdas &
Rinaldo (https://nejsds.nestat.org/journal/NEJSDS/article/59); labels drawn without replacement,
Hoeffding 1963 (doi:10.1080/01621459.1963.10500830, Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import completed
from monitor.stats.detection.alternatives import ERRORS, WEIGHTS, alternatives, steps
from monitor.stats.detection.blocks import correction
from monitor.stats.detection.half_space import (
    Limit,
    LimitCannotBeTested,
    half_space,
    inside,
    project,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import EllipsisType

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Counts


def log_e_factor(
    limit: Limit,
    counts: Counts,
    rates: Floats | None,
    *,
    errors: Sequence[float] = ERRORS,
    missing: Ints | None = None,
) -> Floats:
    r"""Evidence of one round against a limit: log e, shape ``(alternatives,)``.

    .. math:: \log e_r = \sum_h y_h\log\frac{\mathrm{alt}_{rh}}{x_{rh}}
        + (n_h-y_h)\log\frac{1-\mathrm{alt}_{rh}}{1-x_{rh}}

    :math:`E[e_r] \le 1` for all rates that keep the limit, if the numbers of labels do not depend
    on the round's own answers. Labels added in blocks of fixed size multiply: add their log e.

    Uninformative is e = 1, log e = 0.0, not an error, since a service calls this every round:
    without a guess, in a window where the metric is undefined or constant, when no stratum that
    matters was labeled, and for an alternative that keeps the limit.

    Parameters
    ----------
    rates
        The ``alternatives.guess`` made before the round, shape ``(H,)``, or None.
    errors
        How far beyond the limit each alternative lies, in standard errors of a round's estimate.
    missing
        Items handed out without an answer, shape ``(H,)``: they count in favor of the limit.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> poor = Counts.of_matrix(tp=60, fp=40, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> print(log_e_factor(limit, poor, np.array([0.86, 0.02])).round(2))
    [3.3  5.82 9.05]
    """
    absent = None if missing is None else [missing]
    path = log_e_path(limit, [counts], rates, errors=errors, missing=absent)
    return np.asarray(path[..., -1, :])


def log_e_path(
    limit: Limit,
    blocks: Sequence[Counts],
    rates: Floats | None,
    *,
    errors: Sequence[float] = ERRORS,
    missing: Sequence[Ints] | None = None,
) -> Floats:
    """Log e that may be read after each block of a round, ``(blocks, alternatives)``.

    ``blocks`` are the labels up to the end of each, the whole round's last, and ``missing`` what of
    them has no answer. The last row is what :func:`log_e_factor`, whose parameters are the same,
    gives for the round; those before it are less than the answers say by ``blocks.correction``.
    Many rounds of one window, as simulations have them, are read at once where positives and rates
    have leading axes, which come first in the result.
    """
    whole = blocks[-1]
    nothing = np.zeros((*whole.positive.shape[:-1], len(blocks), len(errors)))
    if rates is None:
        return nothing
    _check_rates(rates, whole)
    try:
        favorable = half_space(limit, whole.size, whole.is_flagged).c > 0
    except LimitCannotBeTested:  # in this week's window
        return nothing
    y, n = _with_missing(blocks, missing, favorable)
    bets = Bets.on(limit, whole.size, whole.is_flagged, n[-1], rates, errors)
    if bets is None:
        return nothing
    return np.swapaxes(bets.log_ratios(y, n) - bets.correction(n), -1, -2)


@dataclass(frozen=True, slots=True, eq=False)
class Bets:
    """Alternatives of a round, and their projections, in its labeled strata, ``(..., r, S)``.

    Leading axes as the guesses have them. An alternative that keeps the limit bets nothing.
    """

    alternative: Floats
    x: Floats
    is_beyond: Bools
    seen: Bools

    @classmethod
    def on(
        cls,
        limit: Limit,
        size: Ints,
        is_flagged: Bools,
        labeled: Ints,
        rates: Floats,
        errors: Sequence[float] = ERRORS,
    ) -> Bets | None:
        """Make them from guesses, ``(..., H)``; None where a round carries no evidence."""
        about, seen = (limit, size, is_flagged, rates), labeled > 0
        try:
            space = half_space(limit, size, is_flagged)
            if not np.any(space.c[seen]):
                return None
            rows = alternatives(*about, steps(*about, labeled, errors), labeled=labeled)
            x = project(space, rows, labeled)
        except LimitCannotBeTested:
            return None
        return cls(inside(rows[..., seen]), inside(x[..., seen]), ~space.contains(rows), seen)

    def log_ratios(self, positive: Ints, labeled: Ints) -> Floats:
        """Log S after each block, ``(..., r, blocks)``, of answers ``(..., blocks, H)``."""
        ratios = log_ratios(
            positive[..., self.seen], labeled[:, self.seen], self.alternative, self.x
        )
        return np.where(self.is_beyond[..., np.newaxis], ratios, 0.0)

    def correction(self, labeled: Ints, guesses: Bools | EllipsisType = ...) -> Floats:
        """Return what the log S of some guesses is less by, likewise (``blocks.correction``)."""
        less = correction(labeled[:, self.seen], self.alternative[guesses], self.x[guesses])
        return np.where(self.is_beyond[guesses][..., np.newaxis], less, 0.0)


def log_ratios(positive: Ints, labeled: Ints, alternative: Floats, x: Floats) -> Floats:
    """Log likelihood ratio of the labels up to each block, ``(..., alternatives, blocks)``.

    Of answers ``(..., blocks, S)`` to ``labeled`` items, ``(blocks, S)``, for alternatives of the
    round against their projections, ``(..., alternatives, S)``.
    """
    gain = np.log(alternative / x)
    loss = np.log1p(-alternative) - np.log1p(-x)
    return np.asarray((gain - loss) @ np.swapaxes(positive, -1, -2) + loss @ labeled.T)


def update(log_m: ArrayLike, log_e: ArrayLike) -> Floats:
    r"""One Shiryaev-Roberts step, :math:`M \leftarrow (M + 1)\,e`, in logs."""
    return np.asarray(np.logaddexp(log_m, 0.0) + np.asarray(log_e, dtype=np.float64))


def log_mixed(log_m: Floats, weights: Sequence[float] = WEIGHTS) -> Floats:
    r"""Evidence of all alternatives together, :math:`\ln\sum_r w_r M_r`, over the last axis."""
    return np.asarray(np.logaddexp.reduce(log_m + np.log(weights), axis=-1))


def mixed_after(log_m: Floats, path: Floats) -> Floats:
    """Log M of one more round after each block of its :func:`log_e_path`, ``(..., blocks)``."""
    return log_mixed(update(log_m[..., np.newaxis, :], path))


def log_threshold(every: float, watched: int) -> float:
    """Log of the evidence at which to fire, log(N m).

    ``every`` is the promise N, 1 or more: at most one false alarm per N rounds, over all that is
    watched. ``watched`` are the metrics m of the monitor under a limit; two sides of one count
    twice.

    Raises
    ------
    ValueError
        If ``every`` is under 1 or infinite, or nothing is watched.

    Examples
    --------
    >>> round(log_threshold(52, 2), 4)
    4.6444
    """
    if not (every >= 1 and math.isfinite(every)):
        message = f"a false alarm every {every!r} rounds cannot be promised; give 1 or more"
        raise ValueError(message)
    if watched < 1:
        message = f"at least one limit must be watched, got {watched!r}"
        raise ValueError(message)
    return math.log(every * watched)


@dataclass(frozen=True, slots=True)
class Evidence:
    r"""Running evidence against one limit: log M of each alternative.

    :math:`M = \sum_r w_r M_r` with the weights ``WEIGHTS`` is compared with the threshold. The
    rounds' log e, which are finite, are what to store; :meth:`replay` makes the evidence from them.

    Every step adds 1 to M before the factor, so a step with e = 1 is a step all the same: leave
    out rounds that were skipped or abandoned, and, from a firing until its alert resolves, all.

    Examples
    --------
    >>> evidence = Evidence().after([0.1, 0.3, 0.4]).after([1.0, 3.0, 4.0])
    >>> round(evidence.log_mean, 3), evidence.fires(log_threshold(52, 1))
    (3.95, False)
    """

    log_m: tuple[float, ...] = (-math.inf,) * len(ERRORS)

    def __post_init__(self) -> None:
        if len(self.log_m) != len(WEIGHTS) or any(math.isnan(value) for value in self.log_m):
            message = f"evidence has {len(WEIGHTS)} numbers, one per alternative; got {self.log_m}"
            raise ValueError(message)

    @classmethod
    def replay(cls, log_e: Iterable[ArrayLike]) -> Evidence:
        """Evidence after rounds with these log e, one row of alternatives each, in slot order."""
        evidence = cls()
        for row in log_e:
            evidence = evidence.after(row)
        return evidence

    @property
    def log_mean(self) -> float:
        """Log of M, the weighted mean over the alternatives."""
        return float(log_mixed(np.array(self.log_m)))

    def after(self, log_e: ArrayLike) -> Evidence:
        """Evidence after one more round with this log e, one number per alternative."""
        # In logs, since thousands of labels in one round can overflow a float.
        return Evidence(tuple(update(self.log_m, log_e).tolist()))

    def fires(self, threshold: float) -> bool:
        """Whether log M has reached :func:`log_threshold`."""
        return self.log_mean >= threshold

    def highest(self, path: ArrayLike) -> float:
        """Highest log M of one more round with this :func:`log_e_path`, whose end is its last row.

        >>> print(round(Evidence().highest([[1.0, 4.0, 5.0], [1.0, 2.0, 3.0]]), 3))
        4.074
        """
        return float(mixed_after(np.array(self.log_m), np.asarray(path)).max())


def _with_missing(
    blocks: Sequence[Counts], missing: Sequence[Ints] | None, positive: Bools
) -> tuple[Ints, Ints]:
    """Positive and labeled up to each block, ``(blocks, H)``, with answers for what is missing."""
    full = blocks
    if missing is not None:
        pairs = zip(blocks, missing, strict=True)
        full = [completed(counts, absent, positive) for counts, absent in pairs]
    positives = np.stack([each.positive for each in full], axis=-2)
    return positives, np.array([each.labeled for each in full])


def _check_rates(rates: Floats, counts: Counts) -> None:
    if rates.shape != counts.positive.shape:
        message = f"the guess has shape {rates.shape}, the round {counts.positive.shape}"
        raise ValueError(message)
    if not np.all((rates > 0) & (rates < 1)):
        message = f"a guess lies strictly between 0 and 1 in each stratum, got {rates.tolist()}"
        raise ValueError(message)
