"""How soon the detector finds a drop with other sets of alternatives; every set keeps the promise.

Population, limits, promise and bands as in `drift`. Found within 4 rounds, the median and the mean
of at most 12.
"""

from typing import Any

import numpy as np

from benchmarks.drift import DESIGNS, drawn_from_population, limits_of
from monitor.stats.detection.alternatives import BEYOND, ERRORS, WEIGHTS
from monitor.stats.detection.scenario import Scenario
from monitor.stats.detection.simulated_paths import Paths

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
DROPS = (("precision", 0.05), ("precision", 0.10), ("recall", 0.10), ("recall", 0.15))
REFERENCE, QUIET, AFTER, YEAR = 2, 8, 12, 52


def main(paths: int = 1000) -> None:
    """Print a line for each set of alternatives."""
    for name in BANDED:
        print(f"\n{name} labels: found within 4, median, mean of at most {AFTER} rounds")
        print(f"{'':<28}" + "".join(f"{m:>13} -{by:.2f}" for m, by in DROPS))
        scenario = drawn_from_population(*DESIGNS[name])
        for text, rule in SETS.items():
            told = "".join(f"{found_by(scenario, rule, *drop, paths):>19}" for drop in DROPS)
            print(f"{text:<28}{told}")


def found_by(scenario: Scenario, rule: dict[str, Any], metric: str, drop: float, paths: int) -> str:
    """Simulate one drop."""
    watchers = Paths(limits_of(scenario), YEAR, paths, **rule)
    rng, window, fired = np.random.default_rng(5), scenario.window, []
    after = scenario.dropped(metric, drop).rates
    for t in range(REFERENCE + QUIET + AFTER):
        rates = scenario.rates if t < REFERENCE + QUIET else after
        positive = rng.binomial(window.labeled, rates, (paths, len(rates)))
        if t < REFERENCE:
            watchers.learn(window, positive)
        else:
            fired.append(np.asarray(watchers.close(window, positive).any(axis=0)))
    by = np.maximum.accumulate(np.array(fired[-AFTER:]), axis=0).mean(axis=1)
    median = int(np.argmax(by >= 0.5)) + 1 if by[-1] >= 0.5 else 0
    return f"{by[3]:.3f} {median or '>12':>3} {1 + (1 - by[:-1]).sum():5.2f}"
