"""Windows of Phi1 and Phi2 in strata, and what may happen to a metric over rounds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.harness import Values
from benchmarks.label_cost import CLASSIFIERS
from monitor.stats.core.metrics import METRICS
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.design.score_bands import band_edges, band_of

UP, DOWN = True, False  # the predicted positives, the predicted negatives
STEPS = (-15, -10, -5, -3, 3, 5, 10, 15)
SEASON, HIGHEST = 52, 0.99


@dataclass(frozen=True, eq=False)
class Window:
    """Strata of the population: classes, sizes and true rates, shape ``(H,)``."""

    is_flagged: NDArray[np.bool_]
    size: Values
    rate: Values

    def of_class(self, up: bool) -> NDArray[np.bool_]:
        """Which strata are of a class."""
        return np.asarray(self.is_flagged == up)

    def value(self, name: str, rate: Values) -> Values:
        """Compute a metric at rates of shape ``(..., H)``."""
        ones = np.ones_like(self.size)
        return METRICS[name](scaled_matrix(self.size, ones, rate, self.is_flagged))

    def moved(self, name: str, by: float) -> Values:
        """Rates after a metric moved by so much: one factor on the wrong answers of its class."""
        before = float(self.value(name, self.rate))
        target, now, up = before + by, self.rate.copy(), self.is_flagged
        if name == "precision":
            now[up] = 1 - np.minimum((1 - target) / (1 - before) * (1 - self.rate[up]), 0.999)
            return now
        found = (self.size * self.rate)[up].sum()
        missed = (self.size * self.rate)[~up].sum()
        now[~up] = np.minimum(self.rate[~up] * (found / target - found) / missed, 0.999)
        return now


@dataclass(frozen=True)
class Story:
    """What happens to a metric after the quiet rounds, and the rounds to look at."""

    name: str
    metric: str
    gained: tuple[float, ...]
    looks: tuple[int, ...]

    @property
    def is_step(self) -> bool:
        """Whether everything happens at once."""
        return len(set(self.gained)) == 1


def stories(window: Window, metric: str) -> list[Story]:
    """Tell all stories of a metric that leave it below 1."""
    now = float(window.value(metric, window.rate))
    wave = tuple(0.03 * float(np.sin(2 * np.pi * t / SEASON)) for t in range(1, SEASON + 1))
    steps = [Story(f"{metric} {by:+d}", metric, (by / 100,) * 4, (1, 2, 4)) for by in STEPS]
    drifts = [
        Story(
            f"{metric} {sign:+d} a round",
            metric,
            tuple(sign * t / 100 for t in range(1, 11)),
            (1, 2, 4, 10),
        )
        for sign in (-1, 1)
    ]
    season = Story(f"{metric}, a season of 3", metric, wave, tuple(range(4, SEASON + 1, 4)))
    return [each for each in (*steps, *drifts, season) if now + max(each.gained) < HIGHEST]


def design(classifier: str, text: str) -> tuple[Window, Values]:
    """Window and labels per stratum of a design such as ``3+5:200+1050``."""
    bands, labels = ([int(part) for part in each.split("+")] for each in text.split(":"))
    window = _population(classifier, bands)
    return window, _shared_out(window, *labels)


def _population(classifier: str, bands: list[int], items: int = 200_000) -> Window:
    """Draw the window once and cut it into bands."""
    mean, deviation, threshold = CLASSIFIERS[classifier]
    p = special.expit(np.random.default_rng(2023).normal(mean, deviation, items))
    classes, sizes, rates = [], [], []
    for up, count in zip((UP, DOWN), bands, strict=True):
        mine = p[(p >= threshold) == up]
        band = band_of(mine, band_edges(mine, count))
        for index in range(count):
            classes.append(up)
            sizes.append(float((band == index).sum()))
            rates.append(float(mine[band == index].mean()))
    return Window(np.array(classes), np.array(sizes), np.array(rates))


def _shared_out(window: Window, flagged: int, passed: int) -> Values:
    """Share labels out within each class by size times the spread of a label."""
    spread = window.size * np.sqrt(window.rate * (1 - window.rate))
    labels = np.zeros(window.size.size)
    for up, total in ((UP, flagged), (DOWN, passed)):
        mine = window.of_class(up)
        share = np.maximum(10.0, total * spread[mine] / spread[mine].sum())
        labels[mine] = np.maximum(5, share * total / share.sum()).astype(np.int64)
    return labels
