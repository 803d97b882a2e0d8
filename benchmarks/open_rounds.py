"""False alarms in rounds that are read while they are open, before their answers are settled.

Alarms a year with precision and recall exactly at their limits, one promised, in 3 + 5 bands. First
a round is read once with first answers and once at its end. `late` labels come after the closing,
in the next round, half of them never. In `disputes` three tenths of the answers against the limits,
and as many of the others, were the opposite until an adjudicator decided, which open rounds wait
for; `not waited for` reads the first answers, `one way` if only good ones were bad.

Then answers are put right before the closing. A round is open for 5 days. Its first answers come at
an even pace within 2; of the positive flagged items a share is first called negative, and put right
half a day to a day and a half later. Evidence is read once a day. `at once` reads all answers as
they are, `waiting` only those older than earlier rounds' corrections usually were
(``monitor.rounds.parts.corrections``). Beside the alarms stands the share of paths on which a drop
of precision by 10 points fires within 4 rounds, and before the closing of one.
"""

from collections import deque
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np

from benchmarks.drift import QUIET, YEAR, at_limits, limits_of
from benchmarks.drops import LABELS, ROOM, WITHIN, bands
from benchmarks.harness import Flags, Values, Whole
from monitor.domain.model import Answer
from monitor.rounds.parts.corrections import ROUNDS, answer_kind, expected_corrections
from monitor.stats.core.counts import Counts
from monitor.stats.detection.blocks import prefix_sizes
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.scenario import Scenario

UNSETTLED = {
    "late .02": (0.02, 0.0, 0.0),
    "late .1": (0.1, 0.0, 0.0),
    "disputes": (0.0, 0.3, 0.0),
    "both, late .02": (0.02, 0.3, 0.0),
    "not waited for": (0.0, 0.3, 0.3),
    "one way": (0.0, 0.0, 0.3),
}
"""Shares of labels that are late, and of answers against the limits: of those that are read as for
them before a decision, and of as many for them that are read as against them."""
SHARES = (0.0, 0.03, 0.06, 0.10)
OPEN, ANSWERED, CORRECTED = 5.0, 2.0, (0.5, 1.5)  # days
PATHS = 200
KIND = answer_kind(flagged=True, answer=Answer.NEGATIVE)


class OpenRounds(Paths):
    """Monitors whose rounds are read before their end too, and have labels after it."""

    def read(self, window: Counts, answers: Whole) -> Flags:
        """Tell what fires in an open round; the evidence stays as it is."""
        before = self._log_m.copy()
        fired, self._log_m = self.judge(window, answers), before
        return fired

    def end(self, window: Counts, answers: Whole, early: Flags) -> int:
        """Close a round, and count what fired, early or now; that starts anew."""
        fired = self.judge(window, answers) | early
        self._log_m[fired] = -np.inf
        return int(fired.sum())

    def learn_late(self, positive: Whole, labeled: Whole) -> None:
        """Take in labels of the last round."""
        last = self.history[-1]
        self.history[-1] = replace(
            last, positive=last.positive + positive, labeled=last.labeled + labeled
        )


def alarms_while_open(
    design: Scenario, years: int, late: float, was_good: float, was_bad: float
) -> float:
    """Mean number of alarms a year at the limits; shares are those of ``UNSETTLED``."""
    s, rng, size, fired = at_limits(design, ROOM), np.random.default_rng(4), 1000, 0
    up, items = s.is_flagged, np.diff(prefix_sizes(s.labeled), axis=0, prepend=0)
    wrong = np.where(up, 1 - s.rates, s.rates)
    for seed in range(max(years // size, 1)):
        watchers = OpenRounds(limits_of(design, ROOM), YEAR, size, seed=seed)
        watchers.history.append(s.drawn(rng, size))
        came = np.zeros((2, size, len(up)), dtype=np.int64)
        for _ in range(YEAR):
            bad = rng.binomial(items, wrong, (size, *items.shape))  # answers against the limits
            bad, good = (each - rng.binomial(each, late) for each in (bad, items - bad))
            first = bad - rng.binomial(bad, was_good)
            first += rng.binomial(good, was_bad * wrong / (1 - wrong))
            first, last = (  # positives up to each block, what is missing in favor of the limits
                np.where(up, items - each, each).cumsum(axis=1) for each in (first, bad)
            )
            window = s.counted(last[:, -1])
            early = watchers.read(window, first)
            watchers.learn_late(*came)
            fired += watchers.end(window, last, early)
            labeled, positive = (bad + good).sum(axis=1), np.where(up, good, bad).sum(axis=1)
            watchers.history.append(replace(window, labeled=labeled, positive=positive))
            extra = rng.binomial(s.labeled - labeled, 0.5)
            came = np.stack([rng.binomial(extra, s.rates), extra])
    return fired / (max(years // size, 1) * size)


@dataclass(frozen=True)
class Answers:
    """Answers to the items of a round on many paths, ``(paths, items)``; times in days."""

    is_bad: Flags
    is_slip: Flags
    came: Values
    right: Values

    @classmethod
    def drawn(cls, wrong: Values, up: Flags, share: float, rng: np.random.Generator) -> "Answers":
        """Draw answers to items with these probabilities of being against the limit."""
        shape = (PATHS, len(wrong))
        is_bad = rng.random(shape) < wrong
        is_slip = up & ~is_bad & (rng.random(shape) < share)
        came = ANSWERED * rng.random(shape)
        return cls(is_bad, is_slip, came, came + rng.uniform(*CORRECTED, shape))

    def against(self, day: float, age: Values, up: Flags) -> Flags:
        """Return which answers count against the limits, if flagged ones must have an age."""
        is_old = self.came <= day - np.where(up, age[:, np.newaxis], 0.0)
        return is_old & (self.is_bad | (self.is_slip & (self.right > day)))

    def counted(self, path: int, up: Flags) -> list[object]:
        """Count a path's answers and corrections as the store does."""
        slips = self.is_slip[path]
        ages = 86400 * (self.right[path] - self.came[path])[slips]
        return [int((slips | (self.is_bad[path] & up)).sum()), ages.tolist()]


@dataclass(eq=False)
class Reading:
    """Monitors of which a share of the answers is put right, read at once or after waiting."""

    design: Scenario
    share: float
    waits: bool
    seed: int

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        s = self.design
        self.watchers = OpenRounds(limits_of(s, ROOM), YEAR, PATHS, seed=self.seed)
        self.watchers.history.append(s.drawn(self.rng, PATHS))
        self.items = np.diff(prefix_sizes(s.labeled), axis=0, prepend=0)
        self.block, self.stratum = (
            np.repeat(each.ravel(), self.items.ravel()) for each in np.indices(self.items.shape)
        )
        self.up = s.is_flagged[self.stratum]
        self.past: deque[list[list[object]]] = deque(maxlen=ROUNDS - 1)
        self.learn(self.answers(s))

    def answers(self, now: Scenario) -> Answers:
        """Draw the answers of a round."""
        wrong = np.where(now.is_flagged, 1 - now.rates, now.rates)
        return Answers.drawn(wrong[self.stratum], self.up, self.share, self.rng)

    def learn(self, answers: Answers) -> None:
        """Store what was put right."""
        self.past.append([answers.counted(path, self.up) for path in range(PATHS)])

    def age(self) -> Values:
        """Age in days that answers must have on each path."""
        if not self.waits:
            return np.zeros(PATHS)
        learned = [
            expected_corrections([{KIND: of[path]} for of in self.past]) for path in range(PATHS)
        ]
        none = timedelta(0)
        ages = [of[KIND].age if KIND in of else none for of in learned]
        return np.array([age / timedelta(days=1) for age in ages])

    def positives(self, against: Flags) -> Whole:
        """Count positive answers up to each block; those that are missing are for the limits."""
        place = self.block * self.items.shape[1] + self.stratum
        place = np.arange(PATHS)[:, np.newaxis] * self.items.size + place
        counted = np.bincount(place[against], minlength=PATHS * self.items.size)
        counts = counted.reshape(PATHS, *self.items.shape)
        up = self.design.is_flagged
        return np.where(up, self.items - counts, counts).cumsum(axis=1)

    def play(self, now: Scenario) -> tuple[int, Flags, Flags]:
        """Play a round: its alarms, the paths that fire, and that do before the closing."""
        answers, age, watchers = self.answers(now), self.age(), self.watchers
        last = self.positives(answers.is_bad)
        window = now.counted(last[:, -1])
        early = watchers.read(window, self.positives(answers.against(1.0, age, self.up)))
        for day in np.arange(2.0, OPEN):
            early |= watchers.read(window, self.positives(answers.against(day, age, self.up)))
        before = np.asarray(early.any(axis=0))
        fires = np.asarray(before | watchers.read(window, last).any(axis=0))
        count = watchers.end(window, last, early)
        watchers.history.append(window)
        self.learn(answers)
        return count, fires, before


def alarms(design: Scenario, share: float, waits: bool, years: int) -> float:
    """Mean number of alarms a year with both metrics at their limits."""
    now, total, batches = at_limits(design, ROOM), 0, max(years // PATHS, 1)
    for seed in range(batches):
        reading = Reading(design, share, waits, seed)
        total += sum(reading.play(now)[0] for _ in range(YEAR))
    return total / (batches * PATHS)


def drops(design: Scenario, share: float, waits: bool) -> tuple[float, float]:
    """Share of paths on which a drop fires in time, and before the closing of a round."""
    reading = Reading(design, share, waits, 9)
    for _ in range(QUIET):
        reading.play(design)
    after = design.dropped("precision", 0.1)
    rounds = [reading.play(after)[1:] for _ in range(WITHIN)]
    fires, before = (np.any(each, axis=0).mean() for each in zip(*rounds, strict=True))
    return float(fires), float(before)


def main(years: int = 10_000, corrected: int = 400) -> None:
    """Print false alarms of so many years each; ``corrected`` are those of the second table."""
    print(f"false alarms a year, {years} years")
    print(f"{'labels':<12}" + "".join(f"{name:>16}" for name in UNSETTLED))
    for labels in LABELS:
        row = "".join(
            f"{alarms_while_open(bands(labels), years, *shares):16.3f}"
            for shares in UNSETTLED.values()
        )
        print(f"{sum(labels):>6,}{'':<6}{row}", flush=True)
    show_corrected(corrected)


def show_corrected(years: int) -> None:
    """Print false alarms and drops found, by the share of positive items first called negative."""
    ways = f"{'at once     waiting':<24}"
    print(f"\n{'':<16}{'alarms a year':<24}{'drop found':<24}before the closing")
    print(f"labels  share   {ways * 3}")
    for labels in LABELS[::-1]:
        design = bands(labels)
        for share in SHARES:
            quiet = [alarms(design, share, waits, years) for waits in (False, True)]
            found, before = zip(
                *(drops(design, share, waits) for waits in (False, True)), strict=True
            )
            cells = "".join(
                f"{one:7.2f}{other:12.2f}{'':<5}" for one, other in (quiet, found, before)
            )
            print(f"{sum(labels):>6,}{share:7.2f}   {cells.rstrip()}", flush=True)
