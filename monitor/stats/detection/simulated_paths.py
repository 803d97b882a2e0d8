r"""The detector on many simulated histories at once, to predict its alarms and its delay.

The same rule as ``e_detector``, with arrays of paths in place of one monitor; the tests hold the
one against the other, round by round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.detection.alternatives import DECAY, ERRORS, WEIGHTS
from monitor.stats.detection.blocks import BLOCKS, prefix_sizes
from monitor.stats.detection.e_detector import Bets, log_mixed, log_threshold, update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.detection.half_space import Limit


@dataclass(frozen=True, slots=True, eq=False)
class RoundStrata:
    """Strata of one round: sizes, classes and labels, shape ``(H,)``."""

    size: Ints
    is_flagged: Bools
    labeled: Ints


def log_e_many(
    limit: Limit,
    window: RoundStrata,
    positive: Ints,
    rates: Floats,
    *,
    errors: Sequence[float] = ERRORS,
) -> Floats:
    """Evidence of one round for each path: ``e_detector.log_e_factor`` for each of them.

    Answers and guesses have the shape ``(paths, H)``, log e ``(paths, alternatives)``; 0.0 where
    uninformative.
    """
    bets = Bets.on(limit, window.size, window.is_flagged, window.labeled, rates, errors)
    if bets is None:
        return np.zeros((len(positive), len(errors)))
    return bets.log_ratios(positive[:, np.newaxis], window.labeled[np.newaxis])[..., 0]


def split_many(positive: Ints, labeled: Ints, rng: np.random.Generator) -> Ints:
    """Distribute positives, ``(paths, H)``, over the blocks of a round in a random order.

    ``labeled`` are the items up to each block, ``(blocks, H)``; likewise positives are returned,
    ``(paths, blocks, H)``.
    """
    result = np.empty((len(positive), *labeled.shape), dtype=np.int64)
    result[:, -1] = positive
    for k in range(len(labeled) - 1, 0, -1):
        up, down = result[:, k], labeled[k] - result[:, k]
        result[:, k - 1] = rng.hypergeometric(up, down, labeled[k - 1])
    return result


@dataclass(slots=True, eq=False)
class Paths:
    """Many monitors with the same limits, each with its own labels, guess and evidence.

    The promise is one false alarm in ``every`` rounds, over all limits. A round is read in
    ``blocks``, with its answers in a random order drawn with ``seed``.
    """

    limits: Sequence[Limit]
    every: float
    paths: int
    blocks: int = BLOCKS
    seed: int = 0
    fired_after: Ints = field(init=False)
    """Blocks of the last round after which each limit fired on each path; 0 where it did not."""
    _positive: Floats | None = field(default=None, init=False)
    _labeled: Floats | None = field(default=None, init=False)
    _log_m: Floats = field(init=False)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._log_m = np.full((len(self.limits), self.paths, len(WEIGHTS)), -np.inf)
        self._rng = np.random.default_rng(self.seed)

    def learn(self, window: RoundStrata, positive: Ints) -> None:
        """Take in a reference, or a round that is not to be judged; ``positive`` is (paths, H)."""
        if self._positive is None or self._labeled is None:
            self._positive = positive.astype(np.float64)
            self._labeled = window.labeled.astype(np.float64)
            return
        self._positive = DECAY * self._positive + positive
        self._labeled = DECAY * self._labeled + window.labeled

    def guess(self, window: RoundStrata) -> Floats | None:
        """Rates to expect, shape ``(paths, H)``, as by ``e_detector.guess``."""
        if self._positive is None or self._labeled is None:
            return None
        flagged = int(window.is_flagged.sum())
        passed = window.is_flagged.size - flagged
        prior = np.where(window.is_flagged, prior_count(flagged), prior_count(passed))
        return np.asarray((prior + self._positive) / (2 * prior + self._labeled))

    def close(self, window: RoundStrata, positive: Ints) -> Bools:
        """Judge one round of all paths, then learn from it.

        Returns which limit fires on which path, ``(limits, paths)``. Evidence that fires starts
        over at once, as if a person had ended the alert.
        """
        self.fired_after = np.zeros((len(self.limits), self.paths), dtype=np.int64)
        if self._positive is not None:
            labeled = prefix_sizes(window.labeled, self.blocks)
            self.judge(window, split_many(positive, labeled, self._rng))
        self.learn(window, positive)
        return self.fired_after > 0

    def judge(self, window: RoundStrata, answers: Ints) -> Bools:
        """Judge one round by its positives up to each block, ``(paths, blocks, H)``; as above."""
        rates = self.guess(window)
        self.fired_after = np.zeros((len(self.limits), self.paths), dtype=np.int64)
        if rates is not None:
            threshold = log_threshold(self.every, len(self.limits))
            labeled = prefix_sizes(window.labeled, self.blocks)
            for index, limit in enumerate(self.limits):
                bets = Bets.on(limit, window.size, window.is_flagged, window.labeled, rates)
                if bets is not None:
                    self.fired_after[index] = self._step(index, bets, answers, labeled, threshold)
        return self.fired_after > 0

    def _step(
        self, index: int, bets: Bets, positive: Ints, labeled: Ints, threshold: float
    ) -> Ints:
        log_m, log_s = self._log_m[index], bets.log_ratios(positive, labeled)
        says: Bools = np.asarray(log_s[..., -1].any(axis=1))
        reaches: Bools = np.asarray(says & (_mixed(log_m, log_s) >= threshold).any(axis=1))
        # The correction takes time, and can only turn those back that reach it without.
        less = bets.correction(labeled, reaches)
        blocks = _mixed(log_m[reaches], log_s[reaches] - less) >= threshold
        fired_after = np.zeros(len(log_m), dtype=np.int64)
        fired_after[reaches] = np.where(blocks.any(axis=1), blocks.argmax(axis=1) + 1, 0)
        after = np.where(says[:, np.newaxis], update(log_m, log_s[..., -1]), log_m)
        self._log_m[index] = np.where(fired_after[:, np.newaxis] > 0, -np.inf, after)
        return fired_after


def _mixed(log_m: Floats, log_e: Floats) -> Floats:
    """Log M after each block, ``(paths, blocks)``."""
    return log_mixed(np.swapaxes(update(log_m[..., np.newaxis], log_e), 1, 2))
