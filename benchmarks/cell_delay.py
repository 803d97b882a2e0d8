"""How soon the detector finds a drop with 20+40 score cells, with 4+10 bands, and otherwise.

Population, limits and promise as in `drift`, with the same labels of each class in every design.
`low` are misses among the lower half of the passed scores only. Found within 4 rounds, the median
and the mean of at most 12; `false` is the share of paths that fire in 26 rounds at the limits.
``--alternatives``: other sets of alternatives, in bands; every set keeps the promise.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.cells import CELLS, edges
from benchmarks.drift import DESIGNS, at_limits, drawn_from_population, limits_of
from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import cut_classes, drawn_scores
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.detection.alternatives import BEYOND, ERRORS, WEIGHTS
from monitor.stats.detection.scenario import Scenario
from monitor.stats.detection.simulated_paths import Paths, RoundStrata

LABELS = ((200, 1050), (60, 300))
DROPS = (
    ("precision", 0.05),
    ("precision", 0.10),
    ("recall", 0.10),
    ("recall", 0.15),
    ("low", 0.10),
)
SETS: dict[str, dict[str, Any]] = {
    "steps .15 .3 .6 1, equal": {"beyond": BEYOND, "weights": (0.25,) * 4},
    "steps .2 .4 .8, equal": {"beyond": (0.2, 0.4, 0.8), "weights": (1 / 3,) * 3},
    "step .3 alone": {"beyond": (0.3,), "weights": (1.0,)},
    "errors .75 1.5 3, equal": {"errors": ERRORS, "weights": (1 / 3,) * 3},
    "errors .75 1.5 3, .1 .8 .1": {"errors": ERRORS, "weights": WEIGHTS},
    "errors 1.5 alone": {"errors": (1.5,), "weights": (1.0,)},
    "the same, decay 1": {"errors": ERRORS, "weights": WEIGHTS, "decay": 1.0},
}
BANDED = ("3+5, 60+300", "3+5, 200+1050", "3+5, 641+4077")
PLAYED = [("precision", 0.05), ("precision", 0.10), ("recall", 0.10), ("recall", 0.15)]
REFERENCE, QUIET, AFTER, YEAR, AT_LIMIT = 2, 8, 12, 52, 26


@dataclass(frozen=True, eq=False)
class Watched:
    """A design in a quiet time: its strata, and its expected labels where they vary."""

    scenario: Scenario
    low: Whole
    expected: Values | None = None
    rule: dict[str, Any] = field(default_factory=dict)

    def window(self, rng: np.random.Generator) -> RoundStrata:
        """Strata of one more round."""
        s = self.scenario
        if self.expected is None:
            return s.window
        return RoundStrata(s.size, s.is_flagged, systematic_sizes(self.expected, rng.random()))

    def after(self, metric: str, drop: float) -> Values:
        """Rates after a drop."""
        s = self.scenario
        if metric != "low":
            return s.dropped(metric, drop).rates
        found = s.size * s.rates
        tp, recall = found[s.is_flagged].sum(), s.value("recall") or 0.0
        more = tp / (recall - drop) - found.sum()
        return s.rates + np.where(s.size > 0, more * self.low / self.low.sum() / s.size, 0.0)


def main(paths: int = 1000, alternatives: bool = False) -> None:
    """Print a line for each design."""
    if alternatives:
        show_alternatives(paths)
        return
    for labels in LABELS:
        head = "".join(f"{metric:>14} -{by:.2f}" for metric, by in DROPS)
        print(f"\n{f'{labels[0]}+{labels[1]} labels a round':<32}{head}   false")
        for name, design in designs_of(labels).items():
            told = "".join(f"{found_by(design, *drop, paths):>20}" for drop in DROPS)
            print(f"{name:<32}{told}   {false_alarms(design, paths):.3f}")


def show_alternatives(paths: int) -> None:
    """Print a line for each set of alternatives."""
    for name in BANDED:
        print(f"\n{name} labels: found within 4, median, mean of at most {AFTER} rounds")
        print(f"{'':<28}" + "".join(f"{m:>13} -{by:.2f}" for m, by in PLAYED))
        scenario = drawn_from_population(*DESIGNS[name])
        for text, rule in SETS.items():
            design = Watched(scenario, np.zeros(0, dtype=np.int64), rule=rule)
            told = "".join(f"{found_by(design, *drop, paths):>19}" for drop in PLAYED)
            print(f"{text:<28}{told}")


def designs_of(labels: tuple[int, int]) -> dict[str, Watched]:
    """Make bands, and cells with the same labels of each class."""
    bands = drawn_from_population((4, 10), labels)
    p, flagged = drawn_scores()
    middle = float(np.quantile(p[~flagged], 0.5))
    rising = np.cumsum(np.where(bands.is_flagged, 0, bands.size))
    of_bands = np.diff(np.minimum(rising, rising[-1] // 2), prepend=0)
    designs = {"4+10 bands": Watched(bands, of_bands)}
    for share in (0.1, 0.25):
        designs[f"20+40, {share} by size"] = Watched(*cut(p, flagged, middle, labels, share))
    return designs


def cut(
    p: Values, flagged: Flags, middle: float, labels: tuple[int, int], share: float
) -> tuple[Scenario, Whole, Values]:
    """Cut the window into cells and share each class's labels out."""
    is_up, size, (rates, low) = cut_classes(
        (p[of], edges(p[of], count), p[of], p[of] < middle)
        for of, count in zip((flagged, ~flagged), CELLS, strict=True)
    )
    expected = expected_sizes(size, is_up, rates, labels=sum(labels), share=share)
    for members, total in ((is_up, labels[0]), (~is_up, labels[1])):  # each class as with bands
        expected[members] *= total / expected[members].sum()
    scenario = Scenario.of(size, np.zeros(len(size)), is_up, rates)
    return scenario, np.rint(size * low).astype(np.int64), expected


def found_by(design: Watched, metric: str, drop: float, paths: int) -> str:
    """Simulate one drop."""
    watchers = watching(design, paths)
    rng, fired = np.random.default_rng(5), []
    after = design.after(metric, drop)
    for t in range(REFERENCE + QUIET + AFTER):
        rates = design.scenario.rates if t < REFERENCE + QUIET else after
        fired.append(step(watchers, design, rates, paths, rng, learn=t < REFERENCE))
    by = np.maximum.accumulate(np.array(fired[-AFTER:]), axis=0).mean(axis=1)
    median = int(np.argmax(by >= 0.5)) + 1 if by[-1] >= 0.5 else 0
    return f"{by[3]:.3f} {median or '>12':>3} {1 + (1 - by[:-1]).sum():5.2f}"


def false_alarms(design: Watched, paths: int) -> float:
    """Share of paths that fire with both metrics at their limits."""
    watchers = watching(design, paths)
    rng, rates = np.random.default_rng(6), at_limits(design.scenario).rates
    fired = [
        step(watchers, design, rates, paths, rng, learn=t < REFERENCE)
        for t in range(REFERENCE + AT_LIMIT)
    ]
    return float(np.any(fired, axis=0).mean())


def watching(design: Watched, paths: int) -> Paths:
    """Make the monitors."""
    return Paths(limits_of(design.scenario), YEAR, paths, **design.rule)


def step(
    watchers: Paths,
    design: Watched,
    rates: Values,
    paths: int,
    rng: np.random.Generator,
    *,
    learn: bool,
) -> Flags:
    """Play one round; which paths fired."""
    window = design.window(rng)
    positive = rng.binomial(window.labeled, rates, (paths, len(rates)))
    if learn:
        watchers.learn(window, positive)
        return np.zeros(paths, dtype=np.bool_)
    return np.asarray(watchers.close(window, positive).any(axis=0))
