"""False alarms in a year without drift, and how soon a drop is found: our rule and those in use.

Population: logit p ~ N(-8.898, 5.160^2), y ~ Bernoulli(p), flagged from .4768 (Shang et al. 2023,
Table 4). Limits lie 3 points under precision and 5 under recall; the promise is one false alarm a
year over both. Others: the predictive range of Algorithm 2 of that paper, mean +- 3 standard
deviations, and "5 points under the mean".
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import drawn_strata, moved_to, shared_out
from monitor.stats.core.counts import Counts
from monitor.stats.detection.delay import Paths
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.scenario import Scenario

DESIGNS = {  # bands and labels per class
    "1+1, 307+4408": ((1, 1), (307, 4408)),
    "3+5, 200+1050": ((3, 5), (200, 1050)),
    "3+5, 641+4077": ((3, 5), (641, 4077)),
    "3+5, 60+300": ((3, 5), (60, 300)),
    "4+10, 200+1050": ((4, 10), (200, 1050)),
    "4+10, 60+300": ((4, 10), (60, 300)),
}
METRICS = ("precision", "recall")
ROOM = {"precision": 0.03, "recall": 0.05}
REFERENCE, YEAR, QUIET, DROPPED = 12, 52, 8, 26
RULES = ("ours", "predictive 95 %", "mean +- 3 sd", "baseline - .05")
HEADS = "".join(f"{name:>20}" for name in RULES)
DROPS = [(metric, by) for metric in METRICS for by in (0.03, 0.05, 0.10, 0.15)]


def main(paths: int = 2000, designs: tuple[str, ...] = tuple(DESIGNS)) -> None:
    """Print one table of false alarms and one of drops per design."""
    for name in designs:
        scenario = drawn_from_population(*DESIGNS[name])
        print(f"\n{name} labels a round, {paths} paths: {scenario.labeled.tolist()}")
        show_quiet(scenario, paths)
        show_drops(scenario, paths)


def drawn_from_population(bands: tuple[int, int], labels: tuple[int, int]) -> Scenario:
    """Draw the window once, cut it into bands, and share labels out by size times spread."""
    is_flagged, size, rates = drawn_strata("Phi1", bands)
    return Scenario.of(size, shared_out(size, rates, is_flagged, labels), is_flagged, rates)


def limits_of(scenario: Scenario, room: Mapping[str, float] = ROOM) -> list[Limit]:
    """Limits a stated room under the true levels."""
    return [Limit(m, level(scenario, m) - room[m], "at_least") for m in METRICS]


def level(scenario: Scenario, metric: str) -> float:
    """Return the true value of a metric that is defined."""
    value = scenario.value(metric)
    if value is None:
        message = f"{metric} is undefined"
        raise ValueError(message)
    return value


def at_limits(scenario: Scenario, room: Mapping[str, float] = ROOM) -> Scenario:
    """Both metrics exactly at their limits."""
    for limit in limits_of(scenario, room):
        scenario = scenario.moved(limit)
    return scenario


def rates_at(scenario: Scenario, precision: Values, recall: Values) -> Values:
    """Rates of paths whose metrics have these values, shape ``(paths, H)``."""
    known = (scenario.size, scenario.is_flagged, scenario.rates)
    return moved_to(*known, {"precision": precision, "recall": recall}, most=1.0)


class Rule(Protocol):
    """A rule that watches all paths at once."""

    def close(self, counts: Counts) -> Flags:
        """Judge one more round; which paths raise an alarm, shape ``(paths,)``."""


class Ours:
    """The detector of this package."""

    def __init__(self, scenario: Scenario, reference: Whole) -> None:
        self._paths = Paths(limits_of(scenario), YEAR, reference.shape[1])
        self._paths.history.extend(scenario.counted(positive) for positive in reference)

    def close(self, counts: Counts) -> Flags:
        """Judge one more round."""
        return np.asarray(self._paths.close(counts).any(axis=0))


class Ranges:
    """Alarm when the estimate of either metric leaves a range fixed before launch."""

    def __init__(self, low: Values, high: Values) -> None:
        self._low, self._high = low, high  # (paths, 2)

    def close(self, counts: Counts) -> Flags:
        """Judge one more round."""
        found = estimates(counts)
        return np.asarray(((found < self._low) | (found > self._high)).any(axis=-1))


def rules(scenario: Scenario, reference: Whole) -> dict[str, Rule]:
    """Make every rule from the same reference, shape ``(rounds, paths, H)``."""
    chunks = estimates(scenario.counted(reference))  # (rounds, paths, 2)
    mean, spread = chunks.mean(axis=0), chunks.std(axis=0, ddof=1)
    open_end = np.full_like(mean, np.inf)
    made = (
        Ours(scenario, reference),
        Ranges(*predicted(scenario, reference)),
        Ranges(mean - 3 * spread, mean + 3 * spread),
        Ranges(mean - 0.05, open_end),
    )
    return dict(zip(RULES, made, strict=True))


def estimates(counts: Counts) -> Values:
    """Precision and recall, shape ``(..., 2)``, from positives of shape ``(..., H)``."""
    weighted, is_flagged = counts.size * counts.positive / counts.labeled, counts.is_flagged
    found, missed = weighted[..., is_flagged], weighted[..., ~is_flagged]
    tp, fn = found.sum(axis=-1), missed.sum(axis=-1)
    flagged = counts.size[is_flagged].sum()
    return np.stack([tp / flagged, tp / np.maximum(tp + fn, 1e-9)], axis=-1)


def predicted(scenario: Scenario, reference: Whole, draws: int = 400) -> tuple[Values, Values]:
    """Range of the next round's estimates at 95 % (Algorithm 2), two arrays ``(paths, 2)``."""
    rng = np.random.default_rng(3)
    positive = reference.sum(axis=0)
    negative = len(reference) * scenario.labeled - positive
    rates = rng.beta(0.5 + positive, 0.5 + negative, (draws, *positive.shape))
    found = estimates(scenario.counted(rng.binomial(scenario.labeled, rates)))
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return low, high


@dataclass
class Tally:
    """Alarms of one rule: shape ``(rounds, paths)``."""

    fired: Flags

    def a_year(self) -> tuple[float, float, float]:
        """Mean number of alarms a path, its standard error, and the share with any."""
        counts = self.fired.sum(axis=0)
        return counts.mean(), counts.std() / math.sqrt(counts.size), (counts > 0).mean()

    def found(self, within: int) -> tuple[float, float]:
        """Share of paths with an alarm in the first rounds, and its standard error."""
        share = self.fired[:within].any(axis=0).mean()
        return share, math.sqrt(share * (1 - share) / self.fired.shape[1])

    def median(self) -> str:
        """Round of the first alarm in the median path."""
        first = np.where(self.fired.any(axis=0), self.fired.argmax(axis=0) + 1, math.inf)
        middle = float(np.quantile(first, 0.5, method="inverted_cdf"))
        return f"{middle:.0f}" if math.isfinite(middle) else f">{len(self.fired)}"


def play(
    scenario: Scenario, stretches: Sequence[tuple[Scenario, int]], paths: int
) -> dict[str, Tally]:
    """Run every rule over the rounds of all stretches; the last stretch is what is returned."""
    rng = np.random.default_rng(2024)
    shape = (REFERENCE, paths, scenario.size.size)
    reference = rng.binomial(scenario.labeled, scenario.rates, shape)
    watching = rules(scenario, reference)
    fired: dict[str, list[Flags]] = {name: [] for name in watching}
    for counts in answers(stretches, paths, rng):
        for name, rule in watching.items():
            fired[name].append(rule.close(counts))
    last = stretches[-1][1]
    return {name: Tally(np.array(rounds[-last:])) for name, rounds in fired.items()}


def answers(
    stretches: Sequence[tuple[Scenario, int]], paths: int, rng: np.random.Generator
) -> Iterator[Counts]:
    """Draw the labels of every round."""
    for s, rounds in stretches:
        for _ in range(rounds):
            yield s.drawn(rng, paths)


def show_quiet(scenario: Scenario, paths: int) -> None:
    """Print the alarms of years in which every limit is kept."""
    truths = {
        "no drift": scenario,
        "prevalence doubled": scenario.with_prevalence(2),
        "both at the limit": at_limits(scenario),
    }
    print(f"{'alarms in a year (s.e.), any':<28}" + HEADS)
    for name, truth in truths.items():
        tallies = play(scenario, [(truth, YEAR)], paths)
        cells = [f"{m:6.2f} ({e:.2f}) {a:4.0%}" for m, e, a in map(Tally.a_year, tallies.values())]
        print(f"{name:<28}" + "".join(f"{cell:>20}" for cell in cells))


def show_drops(scenario: Scenario, paths: int) -> None:
    """Print how many drops were found within 4 rounds, and the median."""
    print(f"{'found in 4 (s.e.), median':<28}" + HEADS)
    for metric, by in DROPS:
        after = scenario.dropped(metric, by)
        stretches = [(scenario, QUIET), (after, DROPPED)]
        tallies = play(scenario, stretches, paths)
        cells = [
            f"{share:5.3f} ({error:.3f}) {median:>4}"
            for (share, error), median in ((t.found(4), t.median()) for t in tallies.values())
        ]
        print(f"{metric:<12}-{by:<15.2f}" + "".join(f"{c:>20}" for c in cells))
