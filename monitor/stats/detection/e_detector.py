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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.counts import completed
from monitor.stats.detection.alternatives import ERRORS, WEIGHTS, alternatives, steps
from monitor.stats.detection.half_space import HalfSpace, Limit, LimitCannotBeTested, half_space
from monitor.stats.detection.projection import inside, project

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.counts import Counts


def log_e_factor(
    limit: Limit,
    counts: Counts,
    rates: Floats | None,
    beyond: Sequence[float] | None = None,
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
    beyond
        Fixed r of each alternative in place of ``alternatives.steps``.
    errors
        How far beyond the limit each alternative lies, in standard errors of a round's estimate.
    missing
        Items handed out without an answer, shape ``(H,)``: they count in favor of the limit.

    Raises ValueError where sizes are estimated: ``waves.log_e_of_waves`` knows what those need.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> poor = Counts.of_matrix(tp=60, fp=40, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> print(log_e_factor(limit, poor, np.array([0.86, 0.02])).round(2))
    [3.3  5.82 9.05]
    """
    nothing = np.zeros(len(errors if beyond is None else beyond))
    if rates is None:
        return nothing
    _check_rates(rates, counts)
    try:
        space = half_space(limit, counts.size, counts.is_flagged)
        if missing is not None and missing.any():
            counts = completed(counts, missing, space.c > 0)
        if not np.any(space.c[counts.labeled > 0]):
            return nothing
        window = (limit, counts.size, counts.is_flagged, rates)
        if beyond is None:
            beyond = steps(*window, counts.labeled, errors).tolist()
        rows = alternatives(*window, beyond, labeled=counts.labeled)
        return np.array([_log_e(space, row, counts) for row in rows])
    except LimitCannotBeTested:  # in this week's window
        return nothing


def update(log_m: ArrayLike, log_e: ArrayLike) -> Floats:
    r"""One Shiryaev-Roberts step, :math:`M \leftarrow (M + 1)\,e`, in logs."""
    return np.asarray(np.logaddexp(log_m, 0.0) + np.asarray(log_e, dtype=np.float64))


def log_mixed(log_m: Floats, weights: Sequence[float] = WEIGHTS) -> Floats:
    r"""Evidence of all alternatives together, :math:`\ln\sum_r w_r M_r`, over the last axis.

    >>> print(log_mixed(np.log([10.0, 20.0, 30.0])).round(4) == np.log(20.0).round(4))
    True
    """
    return np.asarray(np.logaddexp.reduce(log_m + np.log(weights), axis=-1))


def log_threshold(every: float, watched: int) -> float:
    """Log of the evidence at which to fire, log(N m).

    Parameters
    ----------
    every
        The promise N: at most one false alarm per N rounds, over all that is watched.
    watched
        Metrics m of the monitor under a limit; two sides of one metric count twice.

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

    :math:`M = \sum_r w_r M_r`, the weights summing to 1, is compared with the threshold. The
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
    weights: tuple[float, ...] = WEIGHTS

    def __post_init__(self) -> None:
        if len(self.log_m) != len(self.weights) or any(math.isnan(value) for value in self.log_m):
            message = (
                f"evidence has {len(self.weights)} numbers, one per alternative; got {self.log_m}"
            )
            raise ValueError(message)
        if min(self.weights) <= 0 or not math.isclose(sum(self.weights), 1, abs_tol=1e-9):
            message = f"weights must be positive and sum to 1, got {self.weights}"
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
        return float(log_mixed(np.array(self.log_m), self.weights))

    def after(self, log_e: ArrayLike) -> Evidence:
        """Evidence after one more round with this log e, one number per alternative."""
        # In logs, since thousands of labels in one round can overflow a float.
        return replace(self, log_m=tuple(update(self.log_m, log_e).tolist()))

    def fires(self, threshold: float) -> bool:
        """Whether log M has reached :func:`log_threshold`."""
        return self.log_mean >= threshold


def _log_e(space: HalfSpace, alternative: Floats, counts: Counts) -> float:
    if bool(space.contains(alternative)):
        return 0.0
    seen = counts.labeled > 0
    x = inside(project(space, alternative, counts.labeled)[seen])
    alt = inside(alternative[seen])
    y, n = counts.positive[seen], counts.labeled[seen]
    return float(y @ np.log(alt / x) + (n - y) @ (np.log1p(-alt) - np.log1p(-x)))


def _check_rates(rates: Floats, counts: Counts) -> None:
    if counts.first_phase is not None:
        message = "sizes are estimated from a first phase; use waves.log_e_of_waves"
        raise ValueError(message)
    if rates.shape != counts.size.shape:
        message = f"the guess has shape {rates.shape}, the round {counts.size.shape}"
        raise ValueError(message)
    if not np.all((rates > 0) & (rates < 1)):
        message = f"a guess lies strictly between 0 and 1 in each stratum, got {rates.tolist()}"
        raise ValueError(message)
