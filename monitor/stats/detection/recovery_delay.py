"""How long an open alert may stay open, by simulation of its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.recovery import ERRORS, LOG_ENDS_AT, Recovery, advance, opposite
from monitor.stats.detection.simulated_paths import log_e_many

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats
    from monitor.stats.detection.half_space import Limit
    from monitor.stats.detection.scenario import Scenario


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """What a simulation of so many open alerts found.

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
    window, strata = scenario.window, scenario.labeled.size
    positive = np.vstack([np.zeros(strata, dtype=np.int64), np.eye(strata, dtype=np.int64)])
    guesses = np.broadcast_to(rates, positive.shape)
    log_e = log_e_many(opposite(limit), window, positive, guesses, errors=(ERRORS,))[:, 0]
    return float(log_e[0]), log_e[1:] - log_e[0]
