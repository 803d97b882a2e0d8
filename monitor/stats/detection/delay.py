r"""How soon the detector finds a drop, and how often it fires without one, by simulation.

The detector runs on many simulated histories of a scenario at once, as arrays of paths: some quiet
rounds, from which it learns its guess as in service, then rounds with the drop.
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.alternatives import WEIGHTS, guess
from monitor.stats.detection.blocks import BLOCKS, prefix_sizes
from monitor.stats.detection.e_detector import Bets, log_threshold, mixed_after, update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Counts
    from monitor.stats.detection.half_space import Limit
    from monitor.stats.detection.scenario import Misses, Scenario


QUIET = 8
"""Rounds before the drop, in which the guess is learned."""

_FINEST = 0.0025  # how closely smallest_drop looks


@dataclass(slots=True, eq=False)
class Paths:
    """Many monitors with the same limits, each with its own labels, guess and evidence.

    The counts of a round have positives of the shape ``(paths, H)``. The promise is one false alarm
    in ``every`` rounds, over all limits. A round is read in ``blocks``, with its answers in an
    order drawn with ``seed``.
    """

    limits: Sequence[Limit]
    every: float
    paths: int
    blocks: int = BLOCKS
    seed: int = 0
    history: list[Counts] = field(default_factory=list, init=False)
    """Rounds to learn from; one that is appended to it was not judged."""
    fired_after: Ints = field(init=False)
    """Blocks of the last round after which each limit fired on each path; 0 where it did not."""
    _log_m: Floats = field(init=False)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._log_m = np.full((len(self.limits), self.paths, len(WEIGHTS)), -np.inf)
        self._rng = np.random.default_rng(self.seed)

    def close(self, counts: Counts) -> Bools:
        """Judge one round of all paths, then learn from it.

        Returns which limit fires on which path, ``(limits, paths)``. Evidence that fires starts
        over at once, as if a person had ended the alert.
        """
        if self.history:
            labeled = prefix_sizes(counts.labeled, self.blocks)
            self.judge(counts, split_many(counts.positive, labeled, self._rng))
        else:  # without a guess no evidence
            self.fired_after = np.zeros((len(self.limits), self.paths), dtype=np.int64)
        self.history.append(counts)
        return self.fired_after > 0

    def judge(self, counts: Counts, answers: Ints) -> Bools:
        """Judge one round by its positives up to each block, ``(paths, blocks, H)``; as above."""
        rates = guess(self.history)
        self.fired_after = np.zeros((len(self.limits), self.paths), dtype=np.int64)
        if rates is not None:
            about = (counts.size, counts.is_flagged, counts.labeled, rates)
            for index, limit in enumerate(self.limits):
                bets = Bets.on(limit, *about)
                if bets is not None:
                    self.fired_after[index] = self._step(index, bets, counts, answers)
        return self.fired_after > 0

    def _step(self, index: int, bets: Bets, counts: Counts, answers: Ints) -> Ints:
        threshold = log_threshold(self.every, len(self.limits))
        labeled, log_m = prefix_sizes(counts.labeled, self.blocks), self._log_m[index]
        path = np.swapaxes(bets.log_ratios(answers, labeled), 1, 2)
        has_evidence: Bools = np.asarray(path[:, -1].any(axis=1))
        # The correction takes time, and can only turn those back that reach it without.
        near = np.asarray(has_evidence & (mixed_after(log_m, path) >= threshold).any(axis=1))
        less = np.swapaxes(bets.correction(labeled, near), 1, 2)
        blocks = mixed_after(log_m[near], path[near] - less) >= threshold
        fired_after = np.zeros(len(log_m), dtype=np.int64)
        fired_after[near] = np.where(blocks.any(axis=1), blocks.argmax(axis=1) + 1, 0)
        after = np.where(has_evidence[:, np.newaxis], update(log_m, path[:, -1]), log_m)
        self._log_m[index] = np.where(fired_after[:, np.newaxis] > 0, -np.inf, after)
        return fired_after


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


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """What a simulation of paths found, with these labels in a round.

    ``detected_within`` is the share of paths on which a broken limit fired by the k-th round of the
    drop, shape ``(rounds,)``; a share s has the standard error sqrt(s (1 - s) / paths).
    ``false_alarms`` is the mean number of alarms per round before the drop.
    """

    detected_within: Floats
    false_alarms: float
    labels: int
    paths: int

    @property
    def median(self) -> int | None:
        """Rounds after which half of the paths have found the drop; None if they never do."""
        reached = np.flatnonzero(self.detected_within >= 0.5)  # noqa: PLR2004
        return int(reached[0]) + 1 if reached.size else None

    @property
    def mean_delay(self) -> float:
        """Mean rounds until found, paths that never find it counted with all their rounds."""
        return 1.0 + float((1 - self.detected_within[:-1]).sum())

    def share_within(self, rounds: int) -> float:
        """Share found within ``rounds`` rounds; at most as many as were simulated."""
        return float(self.detected_within[rounds - 1])


def detection(
    before: Scenario,
    after: Scenario,
    limits: Sequence[Limit],
    *,
    every: float = 52,
    seed: int = 0,
    paths: int = 1000,
    rounds: int = 26,
    quiet: int = QUIET,
) -> Detection:
    """Simulate a change from one scenario to another: how soon the limits that it breaks fire.

    Alarms on limits that were broken before find no change.
    ``before`` and ``after`` are the window before and after the change (``Scenario.dropped``),
    ``limits`` all that the monitor watches, ``every`` the promise, at most one false alarm per so
    many rounds; ``rounds`` follow the change, and ``quiet`` ones come before it.

    Examples
    --------
    >>> from monitor.stats.detection.half_space import Limit
    >>> from monitor.stats.detection.scenario import Scenario
    >>> before = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
    >>> limits = [Limit("precision", 0.8, "at_least")]
    >>> detection(before, before.dropped("precision", 0.2), limits, paths=200).median
    1
    """
    watchers, fired, rng = _quiet(before, tuple(limits), every, seed, paths, quiet)
    return Detection(
        detected_within=_detected(
            watchers, _newly_broken(before, after, limits), after, copy.deepcopy(rng), rounds
        ),
        false_alarms=sum(fired) / max(quiet, 1),
        labels=before.labels,
        paths=paths,
    )


def alarms(
    scenario: Scenario,
    limits: Sequence[Limit],
    *,
    every: float = 52,
    seed: int = 0,
    paths: int = 1000,
    rounds: int = 52,
) -> tuple[float, ...]:
    """Mean number of alarms on each limit in some rounds in which nothing changes.

    On a limit that the scenario breaks they are true. After an alarm the evidence starts again at
    once. ``limits`` and ``every`` are as for :func:`detection`.

    Examples
    --------
    >>> from monitor.stats.detection.half_space import Limit
    >>> from monitor.stats.detection.scenario import Scenario
    >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
    >>> limits = [Limit("precision", 0.8, "at_least"), Limit("recall", 0.8, "at_least")]
    >>> kept, broken = alarms(scenario, limits, paths=200)
    >>> kept < 0.05, broken > 10
    (True, True)
    """
    return _quiet(scenario, tuple(limits), every, seed, paths, rounds)[1]


def smallest_drop(
    scenario: Scenario,
    limits: Sequence[Limit],
    *,
    metric: str,
    every: float = 52,
    within: int = 4,
    probability: float = 0.8,
    seed: int = 0,
    paths: int = 1000,
    quiet: int = QUIET,
    misses: Misses = "in_proportion",
) -> float | None:
    """Find the smallest drop of a ``metric`` found ``within`` some rounds with a ``probability``.

    By bisection to 0.0025, on one simulated past; 0.10 is ten points. None if not even the loss of
    nearly all of the metric is found so soon. ``scenario`` is the window before the drop,
    ``misses`` where they appear when recall falls; ``limits``, ``every`` and ``quiet`` are as for
    :func:`detection`.

    Examples
    --------
    >>> from monitor.stats.detection.half_space import Limit
    >>> from monitor.stats.detection.scenario import Scenario
    >>> scenario = Scenario.of([160, 4840], [100, 400], [True, False], [0.86, 0.02])
    >>> limits = [Limit("precision", 0.8, "at_least")]
    >>> round(smallest_drop(scenario, limits, metric="precision", paths=200), 2)
    0.13
    """
    level = scenario.value(metric)
    if level is None:
        return None
    watched, _, _ = _quiet(scenario, tuple(limits), every, seed, paths, quiet)

    def is_detected(drop: float) -> bool:
        rng = np.random.default_rng([seed, 1])
        after = scenario.dropped(metric, drop, misses)
        broken = _newly_broken(scenario, after, limits)
        return float(_detected(watched, broken, after, rng, within, probability)[-1]) >= probability

    low, high = 0.0, _largest_drop(scenario, metric, level, misses)
    if high <= 0 or not is_detected(high):
        return None
    while high - low > _FINEST:
        middle = (low + high) / 2
        low, high = (low, middle) if is_detected(middle) else (middle, high)
    return high


def _largest_drop(scenario: Scenario, metric: str, level: float, misses: Misses) -> float:
    """Drop to nearly nothing, or as far as wrong answers of the class can bring the metric."""

    def possible(drop: float) -> bool:
        try:
            scenario.dropped(metric, drop, misses)
        except ValueError:
            return False
        return True

    low, high = 0.0, level - _FINEST
    if high <= 0 or possible(high):
        return high
    while high - low > _FINEST:
        middle = (low + high) / 2
        low, high = (middle, high) if possible(middle) else (low, middle)
    return low


@functools.lru_cache(maxsize=1)
def _quiet(
    scenario: Scenario, limits: tuple[Limit, ...], every: float, seed: int, paths: int, rounds: int
) -> tuple[Paths, tuple[float, ...], np.random.Generator]:
    """Watchers after quiet rounds, one more round learned before, alarms by limit, draws.

    A plan asks for the drops that each limit finds, all of them after the same rounds, so the
    last result is reused. Who draws or judges on takes a copy.
    """
    rng = np.random.default_rng(seed)
    watchers = Paths(limits, every, paths)
    watchers.history.append(scenario.drawn(rng, paths))
    fired = np.zeros(len(limits))
    for _ in range(rounds):
        fired += watchers.close(scenario.drawn(rng, paths)).mean(axis=1)
    return watchers, tuple(fired.tolist()), rng


def _newly_broken(before: Scenario, after: Scenario, limits: Sequence[Limit]) -> Bools:
    return np.array([after.breaks(limit) and not before.breaks(limit) for limit in limits])


def _detected(
    before: Paths,
    broken: Bools,
    after: Scenario,
    rng: np.random.Generator,
    rounds: int,
    enough: float = math.inf,
) -> Floats:
    """Share of paths on which a broken limit has fired, after each round until it is enough."""
    watchers = copy.deepcopy(before)
    detected = np.zeros(watchers.paths, dtype=np.bool_)
    shares = np.zeros(rounds)
    for index in range(rounds):
        fired = watchers.close(after.drawn(rng, watchers.paths))
        detected |= fired[broken].any(axis=0)
        shares[index:] = detected.mean()
        if shares[index] >= enough:
            break
    return shares
