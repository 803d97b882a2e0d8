"""How well carried intervals cover after a drop, and how much narrower they are before it.

    python benchmarks/carry_coverage.py [--replicates 200] [--labels 200+1050 60+300]

Population: logit p ~ N(-8.898, 5.160^2), y ~ Bernoulli(p), predicted positive from .4768: the
first classifier of Shang et al. 2023, Table 4 (precision .79, recall .67), in 3 + 5 score bands.
A reference and 15 rounds; the drop is in round 12, by one factor on the wrong answers of the
class. `width` is against the round alone, in the round before the drop. Standard error of a
coverage of .9: .025 with the usual 150 replicates.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from monitor.stats.bands import band_edges, band_of
from monitor.stats.carryover import SHIFTS, UNSHIFTED, CarryStep, carry_steps
from monitor.stats.counts import Counts
from monitor.stats.draws import JointPosterior, draw, round_posterior
from monitor.stats.metrics import Matrix, metric
from monitor.stats.posterior import estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Sizes = NDArray[np.int64]

ROUNDS, DROP = 15, 12  # the first round after the drop, from 1
LOOKS = {"quiet": DROP - 2, "first": DROP - 1, "second": DROP, "fourth": DROP + 2}
POINTS = 2**10
SCHEMES: dict[str, dict[str, Any]] = {
    "one restart, hazard .35": {"hazard": 0.35, "shifts": UNSHIFTED},
    "shifted restarts, .35": {"hazard": 0.35, "shifts": SHIFTS},
    "shifted restarts, .5 (default)": {"hazard": 0.5, "shifts": SHIFTS},
}


@dataclass(frozen=True)
class Window:
    """Strata of the population: classes, sizes and true rates, shape ``(H,)``."""

    is_flagged: NDArray[np.bool_]
    size: Sizes
    rate: Values

    def value(self, name: str, rate: Values) -> float:
        """Compute a metric at these rates."""
        counts = self.size * rate, self.size * (1 - rate)
        up = self.is_flagged
        matrix = Matrix(
            counts[0][up].sum(), counts[1][up].sum(), counts[0][~up].sum(), counts[1][~up].sum()
        )
        return float(metric(name)(matrix))

    def dropped(self, name: str, by: float) -> Values:
        """Rates after a metric fell, the wrong answers of its class grown by one factor."""
        target, now, up = self.value(name, self.rate) - by, self.rate.copy(), self.is_flagged
        if name == "precision":
            wrong = (1 - target) / (1 - self.value(name, self.rate))
            now[up] = 1 - np.minimum(wrong * (1 - self.rate[up]), 0.999)
            return now
        found = (self.size * self.rate)[up].sum()
        missed = (self.size * self.rate)[~up].sum()
        now[~up] = np.minimum(self.rate[~up] * (found / target - found) / missed, 0.999)
        return now


def main() -> None:
    """Print one table per number of labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=150)
    parser.add_argument("--labels", nargs="+", default=["200+1050", "60+300"])
    asked = parser.parse_args()
    window = population()
    for text in asked.labels:
        flagged, passed = (int(part) for part in text.split("+"))
        labels = shared_out(window, flagged, passed)
        print(f"\n{text} labels a round: {labels.tolist()}")
        print(f"{'scheme':<32}{'drop':<16}{'width':>6}" + "".join(f"{at:>8}" for at in LOOKS))
        for name, scheme in SCHEMES.items():
            for which in ("precision", "recall"):
                for by in (0.03, 0.05, 0.10, 0.15):
                    width, covered = run(window, labels, which, by, scheme, asked.replicates)
                    row = "".join(f"{covered[at]:8.2f}" for at in LOOKS)
                    print(f"{name:<32}{which:<10} -{by:.2f}{width:6.2f}{row}", flush=True)


def population(items: int = 200_000) -> Window:
    """Draw the window once and cut it into bands."""
    rng = np.random.default_rng(2023)
    p = special.expit(rng.normal(-8.898, 5.160, items))
    classes, sizes, rates = [], [], []
    for up, bands in ((True, 3), (False, 5)):
        mine = p[(p >= 0.4768) == up]
        band = band_of(mine, band_edges(mine, bands))
        for index in range(bands):
            classes.append(up)
            sizes.append(int((band == index).sum()))
            rates.append(float(mine[band == index].mean()))
    return Window(np.array(classes), np.array(sizes), np.array(rates))


def shared_out(window: Window, flagged: int, passed: int) -> Sizes:
    """Share labels out within each class by size times the spread of a label."""
    spread = window.size * np.sqrt(window.rate * (1 - window.rate))
    labels = np.zeros(window.size.size, dtype=np.int64)
    for up, total in ((True, flagged), (False, passed)):
        mine = window.is_flagged == up
        share = np.maximum(10.0, total * spread[mine] / spread[mine].sum())
        labels[mine] = np.maximum(5, share * total / share.sum()).astype(np.int64)
    return labels


def run(
    window: Window, labels: Sizes, name: str, by: float, scheme: dict[str, Any], replicates: int
) -> tuple[float, dict[str, float]]:
    """Coverage at each look, and the width before the drop against the round alone."""
    rng = np.random.default_rng(1)
    after = window.dropped(name, by)
    covered = dict.fromkeys(LOOKS, 0)
    carried_width = alone_width = 0.0
    for replicate in range(replicates):
        reference = rng.binomial(labels, window.rate)
        rounds = [
            rng.binomial(labels, window.rate if t < DROP - 1 else after) for t in range(ROUNDS)
        ]
        steps = [carried(window, labels, reference, rounds, up, scheme) for up in (True, False)]
        for at, index in LOOKS.items():
            rate = window.rate if index < DROP - 1 else after
            counts = counted(window, labels, rounds[index])
            posterior = JointPosterior(steps[0][index].mixture, steps[1][index].mixture)
            low, high = interval(counts, posterior, name, replicate)
            covered[at] += low <= window.value(name, rate) <= high
            if at == "quiet":
                carried_width += high - low
                low, high = interval(counts, round_posterior(counts), name, replicate)
                alone_width += high - low
    return carried_width / alone_width, {at: n / replicates for at, n in covered.items()}


def carried(
    window: Window,
    labels: Sizes,
    reference: Sizes,
    rounds: Sequence[Sizes],
    up: bool,
    scheme: dict[str, Any],
) -> Sequence[CarryStep]:
    """Carry the rounds of one class."""
    mine = window.is_flagged == up
    pairs = [(found[mine], labels[mine]) for found in rounds]
    return carry_steps(pairs, reference=(reference[mine], labels[mine]), **scheme)


def counted(window: Window, labels: Sizes, positive: Sizes) -> Counts:
    """Make a round's counts."""
    return Counts.of_arrays(
        size=window.size, labeled=labels, positive=positive, is_flagged=window.is_flagged
    )


def interval(
    counts: Counts, posterior: JointPosterior, name: str, seed: int
) -> tuple[float, float]:
    """Compute the 95 % interval of a metric's rate."""
    draws = draw(posterior, seed=seed, points=POINTS, size=counts.size)
    [found] = estimates(
        counts,
        metrics=(name,),
        estimands=("rate",),
        posterior=posterior,
        basis="carried",
        draws=draws,
    )
    if found.low is None or found.high is None:
        message = f"{name} has no interval: {found.reason}"
        raise ValueError(message)
    return found.low, found.high


if __name__ == "__main__":
    main()
