"""Labels drawn uniformly and read by amount: coverage of three intervals.

Of `labels` items a tenth is flagged. Amounts have a lognormal law, and positives are rarer among
large ones (`--slope`, in log odds per standard deviation). `ours` is that of `monitor.evaluate`
with `amount`, `normal` that of the linearised ratio (Taylor), `bootstrap-t` studentises it
(Efron and Tibshirani 1993, section 12.5). Each has the coverage of precision and recall, and its
half-widths.

`--by-largest`: coverage of `ours` over all spreads, by the share of the largest item in the amount
of the flagged (precision) and of the positives (recall), and how many samples that are.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Values, Whole
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.four_cells import FourCells

Flags = NDArray[np.bool_]

METRICS = ("precision", "recall")
SHARE, LOG_ODDS = 0.1, (1.4, -3.5)  # of the flagged items; of a positive, flagged and passed
POINTS, RESAMPLED = 2**9, 400
ENDS = (0.025, 0.975)
LARGEST = (0.2, 0.4, 0.6, 0.8)  # shares that part the samples


def chance(z: Values, log_odds: Values | float, slope: float) -> Values:
    """Return the chance of a positive by the standardised log amount."""
    return np.asarray(1 / (1 + np.exp(slope * z - log_odds)))


def truth(spread: float, slope: float) -> Values:
    """Integrate precision and recall of the process by amount."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    # A lognormal amount moves the law of its own standardised log by its spread.
    up, down = (weight @ chance(z + spread, at, slope) / weight.sum() for at in LOG_ODDS)
    return np.array([up, SHARE * up / (SHARE * up + (1 - SHARE) * down)])


def drawn(
    labels: int, spread: float, slope: float, rng: np.random.Generator
) -> tuple[Flags, Flags, Values]:
    """Draw a labeled set: which items are flagged, which are positive, and their amounts."""
    flagged = rng.random(labels) < SHARE
    z = rng.standard_normal(labels)
    positive = rng.random(labels) < chance(z, np.where(flagged, *LOG_ODDS), slope)
    return flagged, positive, np.exp(spread * z)


def ours(flagged: Flags, positive: Flags, amount: Values) -> Values:
    """Find the ends of `monitor.evaluate`, shape (2, 2): low and high of each metric."""
    matrix = FourCells.of_items(flagged, positive, amount).draws(points=POINTS).of("rate")
    return np.quantile([metric(name)(matrix) for name in METRICS], ENDS, axis=1)


def linearised(top: Values, bottom: Values, times: Values | Whole) -> tuple[Values, Values]:
    """Return ratios of weighted sums and their standard errors, by how often each item counts."""
    sums = np.maximum(times @ bottom, 1e-12)
    ratio = times @ top / sums
    residual = (top - ratio[:, np.newaxis] * bottom) ** 2
    return ratio, np.sqrt((times * residual).sum(axis=1)) / sums


def by_ratio(top: Values, bottom: Values, rng: np.random.Generator) -> tuple[Values, Values]:
    """Find the ends of the normal interval and of the bootstrap-t interval."""
    items = len(top)
    [ratio], [error] = linearised(top, bottom, np.ones((1, items)))
    ratios, errors = linearised(
        top, bottom, rng.multinomial(items, np.full(items, 1 / items), RESAMPLED)
    )
    seen = errors > 0
    high, low = np.quantile((ratios[seen] - ratio) / errors[seen], ENDS)
    normal = ratio + 1.96 * error * np.array([-1, 1])
    return normal, np.clip(ratio - error * np.array([low, high]), 0, 1)


def main(
    replicates: int = 300,
    labels: int = 1000,
    spreads: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0),
    slope: float = 0.5,
    *,
    by_largest: bool = False,
) -> None:
    """Print a line for each spread of the amounts."""
    if by_largest:
        print_by_largest(replicates, labels, spreads, slope)
        return
    print("log amount's sd    ours                     normal                   bootstrap-t")
    for spread in spreads:
        rng, true = np.random.default_rng(1), truth(spread, slope)
        held, half = np.zeros((2, 3, 2))
        for _ in range(replicates):
            flagged, positive, amount = drawn(labels, spread, slope, rng)
            hit = amount * (flagged & positive)
            ratios = [by_ratio(hit, amount * of, rng) for of in (flagged, positive)]
            of_ratio = [np.array(ends).T for ends in zip(*ratios, strict=True)]
            for i, (low, high) in enumerate((ours(flagged, positive, amount), *of_ratio)):
                held[i] += (low <= true) & (true <= high)
                half[i] += (high - low) / 2
        texts = (
            " ".join(f"{each:.3f}" for each in (*of, *width))
            for of, width in zip(held / replicates, half / replicates, strict=True)
        )
        print(f"{spread:<17}  {'  '.join(texts)}", flush=True)


def print_by_largest(
    replicates: int, labels: int, spreads: tuple[float, ...], slope: float
) -> None:
    """Print a line for each metric: coverage, and samples, by the share of the largest item."""
    rng, held, samples = np.random.default_rng(1), *np.zeros((2, 2, len(LARGEST) + 1))
    for spread in np.repeat(spreads, replicates):
        flagged, positive, amount = drawn(labels, spread, slope, rng)
        low, high = ours(flagged, positive, amount)
        inside = (low <= truth(spread, slope)) & (truth(spread, slope) <= high)
        for i, of in enumerate((flagged, positive)):
            share = np.searchsorted(LARGEST, amount[of].max() / amount[of].sum())
            held[i, share] += inside[i]
            samples[i, share] += 1
    print("largest share up to     " + "  ".join(f"{each:10.1f}" for each in (*LARGEST, 1)))
    for name, *columns in zip(METRICS, held, samples, strict=True):
        cells = (f"{yes / max(n, 1):.3f} {n:4.0f}" for yes, n in zip(*columns, strict=True))
        print(f"{name:24}" + "  ".join(f"{cell:>10}" for cell in cells))
