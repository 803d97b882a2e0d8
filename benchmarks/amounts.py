"""Intervals by amount: items drawn in proportion to it, from fresh windows of a process.

Each window has `items`, of which one in 50 is flagged, and amounts with a lognormal law. Positives
are rarer among large amounts (`--slope`, in log odds per standard deviation). Labels are drawn from
score cells by md5/amount as `source.columns.weight` draws them, 400 a window, or as many as the
largest items of the cells leave room for. `window` is about the amounts of its own items, `rate`
about the process. In brackets what a uniform draw that counts items says of the amounts: how often
its interval of the window holds them. Then amounts have a Pareto law with `--tail` and do not
depend on the truth, without and with one flagged item that holds a fifth of the window.

`--sets`: as many labels are drawn uniformly, a tenth of them flagged, and read by amount as
`monitor.evaluate` does with `amount`. A line for each spread has the coverage of precision and
recall and the half-widths.
"""

import numpy as np

from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.estimation.cell_matrix import matrix_draws
from monitor.stats.estimation.four_cells import FourCells

METRICS = ("precision", "recall")
SHARE, CELLS = 0.02, (8, 16)
POINTS = 2**9
LARGE = 2_000_000  # items by which the process is known
SET_SHARE, SET_LOG_ODDS = 0.1, (1.4, -3.5)  # flagged of a set; of a positive, flagged and passed


class Process:
    """Items with a score cell, an amount and the chance of a positive."""

    def __init__(self, spread: float, slope: float, tail: float = 0, single: float = 0) -> None:
        self.spread, self.slope, self.tail, self.single = spread, slope, tail, single
        self.is_flagged = np.arange(sum(CELLS)) < CELLS[0]
        rates = np.r_[np.linspace(0.6, 0.97, CELLS[0]), np.geomspace(0.0005, 0.03, CELLS[1])]
        self.log_odds = np.log(rates / (1 - rates))
        share = np.where(self.is_flagged, SHARE / CELLS[0], (1 - SHARE) / CELLS[1])
        self.share = share / share.sum()

    def items(self, count: int, rng: np.random.Generator) -> tuple[Whole, Values, Whole]:
        """Draw the cell, the amount and the truth of some items."""
        cell = rng.choice(len(self.share), count, p=self.share)
        z = rng.standard_normal(count)
        chance = 1 / (1 + np.exp(-self.log_odds[cell] + self.slope * z))
        truth = (rng.random(count) < chance).astype(np.int64)
        amount = np.exp(self.spread * z) if not self.tail else rng.pareto(self.tail, count) + 1
        if self.single:
            one = np.flatnonzero(self.is_flagged[cell])[0]
            amount[one] = self.single / (1 - self.single) * (amount.sum() - amount[one])
        return cell, 100 * amount, truth

    def truth(self, rng: np.random.Generator) -> Values:
        """Return precision and recall of the process."""
        cell, amount, truth = self.items(LARGE, rng)
        if self.tail:  # the amounts of a class are in proportion to its items, and the single one
            up = self.is_flagged[cell]
            share = self.single / (1 - self.single)
            amount = 1 + up * share * len(up) / up.sum()
        return self.metrics(cell, amount, truth)

    def metrics(self, cell: Whole, amount: Values, truth: Whole) -> Values:
        """Return precision and recall of items by amount."""
        up = self.is_flagged[cell]
        tp, fp, fn, tn = (
            amount[of & (truth == positive)].sum() for of in (up, ~up) for positive in (1, 0)
        )
        return np.array([float(metric(name)(Matrix(tp, fp, fn, tn))) for name in METRICS])


def main(
    replicates: int = 400,
    items: int = 20_000,
    labels: int = 400,
    spreads: tuple[float, ...] = (0.5, 1.0, 1.5),
    slope: float = 0.5,
    tail: float = 1.2,
    *,
    sets: bool = False,
) -> None:
    """Print a line for each law of the amounts."""
    if sets:
        print_sets(replicates, labels, spreads, slope)
        return
    print("amounts              window      rate        half-widths  (uniform draw)  labels")
    laws = {f"log's sd {spread}": Process(spread, slope) for spread in spreads}
    laws[f"Pareto {tail}"] = Process(0, 0, tail)
    laws["and an item of 20 %"] = Process(0, 0, tail, single=0.2)
    for law, process in laws.items():
        rng = np.random.default_rng(1)
        truth = process.truth(rng)
        held, half, drawn = np.zeros((3, 2)), np.zeros(2), 0
        for _ in range(replicates):
            window = process.items(items, rng)
            own = process.metrics(*window)
            by_amount, plain = (labeled(process, *window, labels, rng, each) for each in (1, 0))
            drawn += int(by_amount.labeled.sum())
            for i, (counts, estimand, value) in enumerate(
                ((by_amount, "window", own), (by_amount, "rate", truth), (plain, "window", own))
            ):
                low, high = ends(counts, estimand)
                held[i] += (low <= value) & (value <= high)
                half += (i == 0) * (high - low) / 2
        of_window, of_rate, of_plain, widths = (
            " ".join(f"{each:.3f}" for each in row / replicates) for row in (*held, half)
        )
        line = f"{law:<21}{of_window} {of_rate} {widths}  ({of_plain})   {drawn / replicates:.0f}"
        print(line, flush=True)


def labeled(
    process: Process,
    cell: Whole,
    amount: Values,
    truth: Whole,
    labels: int,
    rng: np.random.Generator,
    power: int,
) -> Counts:
    """Draw labels in proportion to a power of the amount, and count them."""
    weight, cells = amount**power, len(process.share)
    size, squares = (np.bincount(cell, weight**of, cells) for of in (1, 2))
    rates = 1 / (1 + np.exp(-process.log_odds))
    expected = expected_sizes(np.rint(size), process.is_flagged, rates, labels=labels, share=0.25)
    largest = np.zeros(cells)
    np.maximum.at(largest, cell, weight)
    most = np.floor(size / np.maximum(largest, 1e-9)).astype(np.int64)
    wanted = np.minimum(systematic_sizes(expected, rng.random()), most)
    order = np.lexsort((rng.random(len(cell)) / weight, cell))
    first = np.searchsorted(cell[order], np.arange(cells))
    chosen = np.concatenate([order[f : f + n] for f, n in zip(first, wanted, strict=True)])
    positive = np.bincount(cell[chosen], truth[chosen], cells)
    rows = -np.rint(size**2 / np.maximum(squares, 1e-9)) if power else None
    return Counts.of_arrays(
        size=np.rint(size),
        labeled=wanted,
        positive=positive,
        is_flagged=process.is_flagged,
        rows=rows,
    )


def ends(counts: Counts, estimand: str) -> tuple[Values, Values]:
    """Find the ends of the 95 % intervals of precision and recall."""
    drawn = matrix_draws(counts, seed=1, points=POINTS, cells=True)
    matrix = with_size_noise(drawn.of("window" if estimand == "window" else "rate"), counts, seed=1)
    values = np.stack([metric(name)(matrix) for name in METRICS])
    low, high = np.quantile(values, [0.025, 0.975], axis=1)
    return low, high


def chance(z: Values, log_odds: Values | float, slope: float) -> Values:
    """Return the chance of a positive by the standardised log amount."""
    return np.asarray(1 / (1 + np.exp(slope * z - log_odds)))


def set_truth(spread: float, slope: float) -> Values:
    """Integrate precision and recall of the process by amount."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    # A lognormal amount moves the law of its own standardised log by its spread.
    up, down = (weight @ chance(z + spread, at, slope) / weight.sum() for at in SET_LOG_ODDS)
    return np.array([up, SET_SHARE * up / (SET_SHARE * up + (1 - SET_SHARE) * down)])


def drawn_set(
    labels: int, spread: float, slope: float, rng: np.random.Generator
) -> tuple[Flags, Flags, Values]:
    """Draw a labeled set: which items are flagged, which are positive, and their amounts."""
    flagged = rng.random(labels) < SET_SHARE
    z = rng.standard_normal(labels)
    positive = rng.random(labels) < chance(z, np.where(flagged, *SET_LOG_ODDS), slope)
    return flagged, positive, np.exp(spread * z)


def set_ends(flagged: Flags, positive: Flags, amount: Values) -> Values:
    """Find the ends of `monitor.evaluate`, shape (2, 2): low and high of each metric."""
    matrix = FourCells.of_items(flagged, positive, amount).draws(points=POINTS).of("rate")
    return np.quantile([metric(name)(matrix) for name in METRICS], [0.025, 0.975], axis=1)


def print_sets(replicates: int, labels: int, spreads: tuple[float, ...], slope: float) -> None:
    """Print coverage and half-widths by spread."""
    print("log amount's sd    covered      half-widths")
    for spread in spreads:
        rng, true, found = np.random.default_rng(1), set_truth(spread, slope), np.zeros((2, 2))
        for _ in range(replicates):
            low, high = set_ends(*drawn_set(labels, spread, slope, rng))
            found += [(low <= true) & (true <= high), (high - low) / 2]
        covered, half = found / replicates
        print(f"{spread:<19}{covered[0]:.3f} {covered[1]:.3f}  {half[0]:.3f} {half[1]:.3f}")
