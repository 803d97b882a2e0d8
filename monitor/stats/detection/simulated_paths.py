r"""The detector on many simulated histories at once, to predict its alarms and its delay.

The same rule as ``e_detector``, with arrays of paths in place of one monitor; the tests hold the
one against the other, round by round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.detection.alternatives import DECAY, ERRORS, WEIGHTS, alternatives, steps
from monitor.stats.detection.e_detector import log_mixed, log_threshold, update
from monitor.stats.detection.half_space import Limit, LimitCannotBeTested, half_space
from monitor.stats.detection.projection import inside, project_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints


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
    beyond: Sequence[float] | None = None,
) -> Floats:
    """Evidence of one round for each path: ``e_detector.log_e_factor`` for each of them.

    Answers and guesses have the shape ``(paths, H)``, log e ``(paths, alternatives)``; 0.0 where
    uninformative.
    """
    paths, strata = positive.shape
    nothing = np.zeros((paths, len(errors if beyond is None else beyond)))
    try:
        space = half_space(limit, window.size, window.is_flagged)
        if not np.any(space.c[window.labeled > 0]):
            return nothing
        about = (limit, window.size, window.is_flagged, rates)
        r = steps(*about, window.labeled, errors) if beyond is None else beyond
        rows = alternatives(*about, r, labeled=window.labeled)
        x = project_many(space, rows.reshape(-1, strata), window.labeled).reshape(rows.shape)
    except LimitCannotBeTested:
        return nothing
    seen = window.labeled > 0
    alt, x = inside(rows[..., seen]), inside(x[..., seen])
    y = positive[:, np.newaxis, seen]
    log_e = y * np.log(alt / x) + (window.labeled[seen] - y) * (np.log1p(-alt) - np.log1p(-x))
    return np.where(space.contains(rows), 0.0, log_e.sum(axis=-1))


@dataclass(slots=True, eq=False)
class Paths:
    """Many monitors with the same limits, each with its own labels, guess and evidence.

    The promise is one false alarm in ``every`` rounds, over all limits. Decay, errors, weights and
    fixed steps ``beyond`` are other than the default ones only to compare them.

    >>> window = RoundStrata(np.array([160, 4840]), np.array([True, False]), np.array([100, 100]))
    >>> watched = Paths([Limit("precision", 0.8, "at_least")], every=52, paths=2)
    >>> for found in (86, 86, 50):
    ...     fired = watched.close(window, np.array([[86, 2], [found, 2]]))
    >>> print(fired.ravel())
    [False  True]
    """

    limits: Sequence[Limit]
    every: float
    paths: int
    decay: float = DECAY
    errors: Sequence[float] = ERRORS
    weights: Sequence[float] = WEIGHTS
    beyond: Sequence[float] | None = None
    _positive: Floats | None = field(default=None, init=False)
    _labeled: Floats | None = field(default=None, init=False)
    _log_m: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._log_m = np.full((len(self.limits), self.paths, len(self.weights)), -np.inf)

    def learn(self, window: RoundStrata, positive: Ints) -> None:
        """Take in a reference, or a round that is not to be judged; ``positive`` is (paths, H)."""
        if self._positive is None or self._labeled is None:
            self._positive = positive.astype(np.float64)
            self._labeled = window.labeled.astype(np.float64)
            return
        self._positive = self.decay * self._positive + positive
        self._labeled = self.decay * self._labeled + window.labeled

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
        rates = self.guess(window)
        fired = np.zeros((len(self.limits), self.paths), dtype=np.bool_)
        if rates is not None:
            threshold = log_threshold(self.every, len(self.limits))
            for index, limit in enumerate(self.limits):
                log_e = log_e_many(
                    limit, window, positive, rates, errors=self.errors, beyond=self.beyond
                )
                fired[index] = self._step(index, log_e, threshold)
        self.learn(window, positive)
        return fired

    def _step(self, index: int, log_e: Floats, threshold: float) -> Bools:
        log_m = self._log_m[index]
        says = log_e.any(axis=1, keepdims=True)
        after = np.where(says, update(log_m, log_e), log_m)
        fires = np.asarray(log_mixed(after, self.weights) >= threshold)
        self._log_m[index] = np.where(fires[:, np.newaxis], -np.inf, after)
        return fires
