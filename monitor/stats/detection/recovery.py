r"""When an open alert ends: evidence that its metric keeps the limit again.

A round's factor is the detector's turned round: the likelihood ratio of an alternative *within* the
limit against its projection onto the rates beyond it, :math:`c\cdot\pi \le d`. That is a half-space
like the other, so the proof in ``e_detector`` holds: :math:`E[e] \le 1` for all rates beyond the
limit or exactly on it, with the labels really given, regardless of the guess; and, drawn without
replacement, for all windows whose own metric is there. Over the rounds since the firing,

.. math:: R_t = \sum_{k=1}^{t} w_k \prod_{j=k}^{t} e_j, \quad w_k = \frac{1}{k(k+1)},

and the alert ends when :math:`R_t \ge 20`. Each product bets that the metric came back in round k.

**The bound.** Let the metric be beyond its limit in every round since the firing. Given all that
closed before round j, its labels are drawn at rates beyond the limit, while their number, the guess
and the alternative do not depend on them: :math:`E[e_j \mid \text{past}] \le 1`. So for each k the
product, taken as 1 before round k, is a nonnegative supermartingale that starts at 1, and so is the
mean of all of them with the weights :math:`w_k`, which sum to 1. That mean is
:math:`R_t + 1/(t+1)`. By Ville's inequality it ever reaches 20 with probability at most 1/20: of
the alerts whose metric stays beyond its limit at most 5 % ever end by evidence.

**Which rounds.** Those that closed after the firing and are of later time, each once, in the order
of closing, with the answers frozen at the closing. A round without evidence has e = 1; one that
was skipped or abandoned takes no step. The bound holds for any choice of rounds that does not
depend on their own answers, and for an ending that comes later than R says.

Sources: e-processes, their mixtures and Ville's inequality, Ramdas, Grünwald, Vovk & Shafer 2023
(doi:10.1214/23-STS894, arXiv:2210.01948); the sum over the rounds of a possible change, with equal
weights and so with another promise, Shin, Ramdas & Rinaldo
(https://nejsds.nestat.org/journal/NEJSDS/article/59); the factor, see ``e_detector``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.e_detector import Bets, log_e_factor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.counts import Counts
    from monitor.stats.detection.half_space import Limit
    from monitor.stats.detection.scenario import Scenario


WRONGLY_ENDED = 0.05
"""Largest share of alerts that end by evidence although their metric stays beyond its limit."""

LOG_ENDS_AT = -math.log(WRONGLY_ENDED)
"""Log R at which an alert ends."""

ERRORS = 1.0
"""How far within the limit the alternative lies, in standard errors of one round's estimate.

A farther one ends more alerts within 4 rounds and fewer within a year, a nearer one the other way
round; a mixture of two, or a choice between two by R so far, gains too little for another number to
store (docs/benchmarks.md)."""


def opposite(limit: Limit) -> Limit:
    """Return the limit that the metric keeps while it is beyond this one, or exactly at it."""
    return replace(limit, side="at_most" if limit.side == "at_least" else "at_least")


def log_recovery_factor(
    limit: Limit, counts: Counts, rates: Floats | None, *, missing: Ints | None = None
) -> float:
    """Evidence of one round, log e, that the metric of an alert keeps its limit again.

    Finite; 0.0 without evidence. It is ``e_detector.log_e_factor`` for the opposite limit
    and the same guess, ``rates``, so missing answers count against a recovery.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.detection.half_space import Limit
    >>> limit = Limit("precision", 0.8, "at_least")
    >>> good = Counts.of_matrix(tp=90, fp=10, fn=0, tn=0, flagged_size=160, passed_size=4840)
    >>> round(log_recovery_factor(limit, good, np.array([0.74, 0.02])), 2)
    1.85
    """
    [log_e] = log_e_factor(opposite(limit), counts, rates, errors=(ERRORS,), missing=missing)
    return float(log_e)


def advance(log_r: ArrayLike, rounds: int, log_e: ArrayLike) -> Floats:
    r"""One more round, :math:`R \leftarrow (R + w_{t+1})\,e`, in logs, for one alert or many.

    ``rounds`` is how many, t, took a step before it; shapes broadcast.
    """
    log_weight = -math.log((rounds + 1) * (rounds + 2))
    return np.asarray(np.logaddexp(log_r, log_weight) + np.asarray(log_e, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Recovery:
    """Evidence since an alert fired that its metric keeps the limit again: what is to be stored.

    ``rounds`` since the firing took a step, and ``log_r`` is log R after them; minus infinity at
    the firing.

    Examples
    --------
    >>> recovery = Recovery().updated(2.2).updated(2.0)
    >>> recovery.rounds, round(recovery.log_r, 3), recovery.ends
    (2, 3.543, True)
    """

    rounds: int = 0
    log_r: float = -math.inf

    def __post_init__(self) -> None:
        is_new = self.rounds == 0 and self.log_r == -math.inf
        if not is_new and not (self.rounds > 0 and math.isfinite(self.log_r)):
            message = (
                "evidence of recovery is a number of rounds and a finite log R after them, or 0 "
                f"and -inf at the firing; got {self.rounds} and {self.log_r}"
            )
            raise ValueError(message)

    @property
    def ends(self) -> bool:
        """Whether R has reached 20."""
        return self.log_r >= LOG_ENDS_AT

    def updated(self, log_e: float) -> Recovery:
        """Evidence after one more round with this :func:`log_recovery_factor`."""
        return Recovery(self.rounds + 1, float(advance(self.log_r, self.rounds, log_e)))


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """What a simulation of open alerts found.

    ``ended_within`` is the share that has ended by each of the next rounds, shape ``(rounds,)``; a
    share s has the standard error sqrt(s (1 - s) / paths).
    """

    ended_within: Floats
    paths: int

    def rounds_for(self, share: float) -> int | None:
        """Count the rounds by which this share of the alerts has ended; None if fewer do."""
        reached = np.flatnonzero(self.ended_within >= share)
        return int(reached[0]) + 1 if reached.size else None


def ending(
    scenario: Scenario,
    limit: Limit,
    rates: Floats,
    *,
    recovery: Recovery | None = None,
    rounds: int = 52,
    paths: int = 1000,
    seed: int = 0,
) -> Ending:
    """Simulate the rounds to come of an open alert, the metric staying where the scenario has it.

    All rounds use the guess ``rates``, ``(H,)``; in service it goes on learning, which changes
    little. ``recovery`` is the alert's evidence so far; without it the alert has just fired.
    """
    start, labeled = recovery or Recovery(), scenario.labeled
    rng, without, per_positive = np.random.default_rng(seed), *_by_answer(scenario, limit, rates)
    log_r, ended = np.full(paths, start.log_r), np.full(paths, start.ends)
    shares = np.zeros(rounds)
    for index in range(rounds):
        positive = rng.binomial(labeled, scenario.rates, (paths, labeled.size))
        log_r = advance(log_r, start.rounds + index, without + positive @ per_positive)
        ended |= log_r >= LOG_ENDS_AT
        shares[index] = ended.mean()
    return Ending(shares, paths)


def _by_answer(scenario: Scenario, limit: Limit, rates: Floats) -> tuple[float, Floats]:
    """Log e of a round without a positive answer, and what each one adds, by stratum.

    With one guess for all rounds log e is linear in the answers, so one projection will do.
    """
    labeled, strata = scenario.labeled, scenario.labeled.size
    about = (opposite(limit), scenario.size, scenario.is_flagged, labeled)
    bets = Bets.on(*about, rates, (ERRORS,))
    if bets is None:
        return 0.0, np.zeros(strata)
    answers = np.vstack([np.zeros(strata, dtype=np.int64), np.eye(strata, dtype=np.int64)])
    [log_e] = bets.log_ratios(answers, np.broadcast_to(labeled, answers.shape))
    return float(log_e[0]), log_e[1:] - log_e[0]
