"""Labels that come over days to months: provisional estimates, final ones, and false alarms.

Weekly windows, 200 flagged and 1,000 passed items labeled. Delays are gamma with shape 2, labels
mature after four times their mean. They come as before (`steady`), or take longer by the week until
it is half as long again (`slower`), or each label still to come takes three times as long from a
day on (`sudden`, an eighth of the time to maturity ago).
The second table has six strata, three of each class by score, with 60 to 400 labels each. Positives
far below the threshold take longest (`late`: 30, 20 and 8 days from far to near, 5 above it), or
are quickest (`soon`, the reverse below it), or all take 15 days (`alike`); `small` windows have a
quarter of the items and labels.
False alarms are of quiet years with both metrics at their limits; `late` says how many positive
labels come only after they should have matured.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from monitor.domain.model import Stratum
from monitor.presentation.estimates import OTHER_PACE
from monitor.rounds.early_estimates import EarlyLabels, early_row
from monitor.rounds.paces import DAY, FollowedRound
from monitor.stats.core.counts import Counts
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.half_space import Limit
from monitor.stats.estimation.posterior import estimate
from monitor.storage.labels.provisional_store import DatedScore, PositiveCount

SIZE, LABELED, RATES = np.array([600, 20_000]), np.array([200, 1000]), np.array([0.85, 0.015])
METRICS = ("precision", "recall")
MEANS = (5, 15, 30, 90)
MEAN = 5
MATURES, READINGS = 4, 50
AGES = (0.1, 0.25, 0.5)
PATTERNS = ("steady", "slower", "sudden")
SLOWED, SINCE = {"slower": 1.5, "sudden": 3.0}, 1 / 8
START = datetime(2025, 1, 1, tzinfo=UTC)
CLOSED, WEEK = 12, 7
YEAR, REFERENCE = 52, 8
LATE = (0.0, 0.003, 0.03)


class Setting(NamedTuple):
    """What windows are like, by stratum; ``delay`` is the mean as a multiple of that of the row."""

    frame: tuple[Stratum, ...]
    size: Whole
    labeled: Whole
    rates: Values
    delay: Values

    @property
    def up(self) -> Flags:
        """Which strata are flagged."""
        return np.array([one.flagged for one in self.frame])


def by_score(delay: Sequence[float], part: int = 1) -> Setting:
    """Six strata, from low to high scores in each class."""
    edges = [0.5, 0.7, 0.85, 1.0], [0.0, 0.05, 0.2, 0.5]
    frame = tuple(
        Stratum(f"{up} {low}", flagged=up, low=low, high=high)
        for up, cuts in zip((True, False), edges, strict=True)
        for low, high in pairwise(cuts)
    )
    size = np.array([150, 200, 250, 14_000, 4_500, 1_500]) // part
    labeled = np.array([60, 70, 70, 300, 300, 400]) // part
    return Setting(
        frame, size, labeled, np.array([0.7, 0.85, 0.95, 0.004, 0.02, 0.08]), np.array(delay)
    )


ONE = Setting(
    (Stratum("flagged", flagged=True), Stratum("passed", flagged=False)),
    SIZE,
    LABELED,
    RATES,
    np.ones(2),
)
LATER, SOONER, ALIKE = [1, 1, 1, 6, 4, 1.6], [3, 3, 3, 1, 2, 6], [3] * 6
BY_SCORE = {
    "late": by_score(LATER),
    "soon": by_score(SOONER),
    "alike": by_score(ALIKE),
    "late small": by_score(LATER, part=4),
    "alike small": by_score(ALIKE, part=4),
}


class Window(NamedTuple):
    """A window by the day it ended: true positives of each stratum, and when labels came."""

    setting: Setting
    end: float
    positive: Whole
    came: list[Values]

    def labels(self, day: float) -> EarlyLabels:
        """Labels by a day; an item without one counts as negative."""
        seen = [int((came <= day).sum()) for came in self.came]
        size, labeled, up = self.setting.size, self.setting.labeled, self.setting.up
        counts = Counts.of_arrays(size=size, labeled=labeled, positive=seen, is_flagged=up)
        return EarlyLabels(counts, self.setting.frame)

    @property
    def truth(self) -> Values:
        """Precision and recall of the window."""
        up = self.setting.up
        right = self.positive[up].sum()
        return np.array([right / self.setting.size[up].sum(), right / self.positive.sum()])


def windows(
    setting: Setting, mean: float, pattern: str, now: float, rng: np.random.Generator
) -> list[Window]:
    """Draw the windows up to a day, of which the last ended a share of the time before it."""
    factor, matures = SLOWED.get(pattern, 1.0), matures_after(setting, mean)
    turn = now - SINCE * matures
    first = now - matures - CLOSED * WEEK
    drawn = []
    for week in range(math.floor(first / WEEK), math.floor(now / WEEK) + 1):
        end = float(WEEK * week)
        positive = rng.binomial(setting.size, setting.rates)
        labeled = rng.hypergeometric(positive, setting.size - positive, setting.labeled)
        grown = 1 + (factor - 1) * min(1.0, max(0.0, 1 - (now - end) / matures))
        longer = mean * (grown if pattern == "slower" else 1.0)
        came = [
            end + rng.gamma(2, longer * times / 2, count)
            for times, count in zip(setting.delay, labeled, strict=True)
        ]
        if pattern == "sudden":
            came = [np.where(day > turn, turn + (day - turn) * factor, day) for day in came]
        drawn.append(Window(setting, end, positive, came))
    return drawn


def matures_after(setting: Setting, mean: float) -> float:
    """Days after which labels mature: four times the longest mean delay."""
    return float(MATURES * mean * setting.delay.max())


def followed(window: Window, now: float, matures: float) -> FollowedRound:
    """Read the labels of a window as they come, up to now or until they have matured."""
    last = min(now, window.end + matures)
    days = np.unique([*np.arange(window.end, last, matures / READINGS), last])
    of_class = [
        np.concatenate([came for came, one in parts if one.flagged is up])
        for parts in [[*zip(window.came, window.setting.frame, strict=True)]]
        for up in (True, False)
    ]
    readings = [
        PositiveCount(START + day * DAY, *(int((came <= day).sum()) for came in of_class))
        for day in days
    ]
    labels = [
        DatedScore("", one.flagged, one.low or 0.0, START + float(day) * DAY)
        for came, one in zip(window.came, window.setting.frame, strict=True)
        for day in came
    ]
    closed = bool(now >= window.end + matures)
    return FollowedRound(START + window.end * DAY, closed, readings, labels)


class Found(NamedTuple):
    """What a round showed early: share matured, ends, truth, whether it warned, final coverage."""

    matured: float
    ends: Values
    truth: Values
    warned: bool
    final: Flags

    @property
    def values(self) -> Values:
        """Coverage, half-width and error of the early estimate, then coverage of the final one."""
        low, point, high = self.ends.T
        covered = (low <= self.truth) & (self.truth <= high)
        return np.array([covered, (high - low) / 2, point - self.truth, self.final])


def played(
    setting: Setting, mean: float, pattern: str, age: float, rng: np.random.Generator
) -> Found | None:
    """Simulate the rounds up to a day, and read one early; None if it shows no number."""
    matures = matures_after(setting, mean)
    now, seed = matures * age, int(rng.integers(2**31))
    column = {"missing_means": "negative", "matures": f"{matures * 24:.0f}h"}
    drawn = windows(setting, mean, pattern, now, rng)
    own = next(one for one in drawn if one.end == 0)
    rounds = [followed(one, now, matures) for one in drawn if one is not own]
    rounds.append(followed(own, now, matures))
    labels, columns = own.labels(now), {True: column, False: column}
    row = early_row(labels, columns, rounds, seed)
    if warned := row.reason == OTHER_PACE:  # what it keeps to itself
        row = early_row(labels, columns, rounds, seed, least_fit=0.0)
    if row.matured is None or not row.metrics:
        return None
    ends = np.array([(one.low, one.point, one.high) for one in row.metrics], dtype=np.float64)
    later = estimate(own.labels(math.inf).counts, estimand="window", seed=seed)
    low, high = np.array([(later[name].low, later[name].high) for name in METRICS]).T
    final = (low <= own.truth) & (own.truth <= high)
    return Found(row.matured, ends, own.truth, warned, final)


def line_of(
    setting: Setting, mean: float, pattern: str, age: float, rounds: int, seeds: list[int]
) -> str:
    """Describe many rounds of a setting."""
    rng = np.random.default_rng([*seeds, round(100 * age)])
    tries = [played(setting, mean, pattern, age, rng) for _ in range(rounds)]
    found = [one for one in tries if one is not None]
    begin = f"{mean:>4.0f} {pattern:<11} {age:4.2f}"
    if not found:
        return f"{begin}   no number"
    values = np.mean([one.values for one in found], axis=0)
    texts = "  ".join(" ".join(f"{value:6.3f}" for value in row) for row in values)
    matured, warned = (
        np.mean([getattr(one, name) for one in found]) for name in ("matured", "warned")
    )
    return f"{begin} {matured:6.2f}   {texts}  {1 - len(found) / rounds:6.2f} {warned:6.2f}"


def alarms(late: float, paths: int) -> float:
    """Alarms in a year of monitors at their limits that read each round once it has matured."""
    flagged, missed = SIZE * RATES
    truth = {"precision": RATES[0], "recall": flagged / (flagged + missed)}
    limits = [Limit(metric, truth[metric], "at_least") for metric in METRICS]
    watchers, rng = Paths(limits, YEAR, paths), np.random.default_rng(7)
    is_flagged = np.array([True, False])
    fired = 0
    for week in range(REFERENCE + YEAR):
        positive = rng.binomial(LABELED, RATES * (1 - late), (paths, 2))
        counts = Counts(SIZE, LABELED, positive, is_flagged)
        if week < REFERENCE:
            watchers.history.append(counts)
        else:
            fired += int(watchers.close(counts).sum())
    return fired / paths


def main(
    means: tuple[float, ...] = MEANS, rounds: int = 40, paths: int = 1000, seed: int = 1
) -> None:
    """Print the tables."""
    print(
        f"{'mean':<17}age matured  {'covered P, R':<16}half-widths     errors          final   ",
        end="",
    )
    print("        silent  warns")
    for mean, pattern, age in product(means, PATTERNS, AGES):
        seeds = [seed, int(mean), PATTERNS.index(pattern)]
        print(line_of(ONE, mean, pattern, age, rounds, seeds))
    for name, age in product(BY_SCORE, AGES):
        print(line_of(BY_SCORE[name], MEAN, name, age, rounds, [seed, AGES.index(age)]))
    print(f"\nfalse alarms in 52 rounds, {paths} paths, one promised")
    for late in LATE:
        print(f"late {late:.1%}: {alarms(late, paths):.2f}")
