"""Intervals where a judge was asked about a sample of each score cell, and its shares estimated.

Windows of 100,000 items of the classifiers of Shang et al. 2023, Table 4; labels for +-.05 by the
true rates, as if all had been judged. `window` is the round alone about its own items, `rate` about
the rates behind them, `pooled` the last of six rounds. `known` takes the estimated shares for
counted ones: what coverage would be without the variance of the first phase.
"""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks import cells
from benchmarks.harness import Flags, Values, Whole
from benchmarks.judge import HALF, JUDGES, judged
from monitor.domain.settings import Pooling
from monitor.rounds.estimation.history import history_states
from monitor.rounds.estimation.tally import Completed
from monitor.stats.core.counts import Counts, FirstPhase
from monitor.stats.core.draws import JointPosterior, draw
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.estimation.cell_matrix import cell_matrix
from monitor.stats.history.robust_mixture import with_robust_weight

ITEMS = 100_000
ROUNDS = 6
POINTS = 2**9
METRICS = ("precision", "recall")
ASKED = ("TPR .8, FPR .02", "TPR .9, FPR .01", "useless")
MARGINS = {"precision": 0.05, "recall": 0.05}


@dataclass(frozen=True, eq=False)
class Asked:
    """A judge that is asked: items of each score cell, true shares, rates and labels, shape (H,).

    ``parent`` is the cell of each stratum, ``pairs`` the strata of a no and of a yes in each cell.
    """

    items: Whole
    parent: Whole
    pairs: tuple[Whole, Whole]
    share: Values
    rate: Values
    is_flagged: Flags
    expected: Values

    @classmethod
    def of(cls, classifier: str, score: str, judge: str) -> "Asked":
        """Cut a classifier's cells by a judge."""
        design = judged(cells.cut(cells.scored(classifier, score), HALF), JUDGES[judge])
        up, says = design.is_flagged, design.cut.terms[:, 0]
        parent = design.cut.position + np.where(up, 0, int(up.sum()) // 2)
        size = design.size / design.size.sum() * ITEMS
        items = np.rint(np.bincount(parent, size)).astype(np.int64)
        pairs = [np.flatnonzero(says == sign)[np.argsort(parent[says == sign])] for sign in (-1, 1)]
        inside = np.clip(design.rate, 1e-9, 1 - 1e-9)
        expected = expected_sizes(size, up, inside, margins=MARGINS, share=0.25)
        share = size / np.bincount(parent, size)[parent]
        return cls(
            items, parent, (pairs[0], pairs[1]), share, design.rate, design.is_flagged, expected
        )

    @property
    def truth(self) -> Values:
        """Precision and recall of the rates."""
        size = self.items[self.parent] * self.share
        return _metrics(size * self.rate, size, self.is_flagged)

    def drawn(self, most: int, rng: np.random.Generator) -> tuple[Counts, Values]:
        """Draw a window, judge and label it; and the window's own precision and recall."""
        no, yes = self.pairs
        size, first, estimate = np.zeros((3, len(self.parent)), dtype=np.int64)
        size[yes] = rng.binomial(self.items, self.share[yes])
        size[no] = self.items - size[yes]
        of_cell = np.minimum(most, self.items)
        first[yes] = rng.hypergeometric(size[yes], size[no], of_cell)
        first[no] = of_cell - first[yes]
        estimate[yes] = np.rint(self.items * first[yes] / of_cell)
        estimate[no] = self.items - estimate[yes]
        positive = rng.binomial(size, self.rate)
        labeled = np.minimum(systematic_sizes(self.expected, rng.random()), first)
        counts = Counts.of_arrays(
            size=estimate,
            labeled=labeled,
            positive=rng.hypergeometric(positive, size - positive, labeled),
            is_flagged=self.is_flagged,
            first_phase=FirstPhase(first, self.parent),
        )
        return counts, _metrics(positive, size, self.is_flagged)


def without(counts: Counts) -> Counts:
    """Take the sizes for counted ones."""
    return replace(counts, first_phase=None)


def main(
    replicates: int = 1000,
    classifiers: tuple[str, ...] = ("Phi1", "Phi2", "Phi3"),
    scores: tuple[str, ...] = ("weak", "good"),
    judges: tuple[str, ...] = ASKED,
    asked: tuple[int, ...] = (300, 1000, 5000),
    pooled: bool = False,
) -> None:
    """Print a line for each judge and size of the first phase."""
    kinds = "pooled      known" if pooled else "window      rate        known"
    print(f"{'':32} labels items of a cell  covered P/R: {kinds}")
    for classifier in classifiers:
        for score in scores:
            for judge in judges:
                design = Asked.of(classifier, score, judge)
                for most in asked:
                    of = of_rounds if pooled else of_round
                    held, half = of(design, most, replicates, seed=most)
                    told = "  ".join(f"{p:.3f}/{r:.3f}" for p, r in held)
                    name = f"{classifier} {score} {judge}"
                    print(
                        f"{name:<32}{design.expected.sum():7.0f}{most:6}  {told}"
                        f"   +-{half[0]:.3f} {half[1]:.3f}",
                        flush=True,
                    )


def of_round(design: Asked, most: int, replicates: int, *, seed: int) -> tuple[Values, Values]:
    """Cover precision and recall by the round alone: of the window, the rate, and `known`.

    With them come the mean half-widths of the first.
    """
    rng = np.random.default_rng(seed)
    held, half = np.zeros((3, 2)), np.zeros(2)
    for _ in range(replicates):
        counts, own = design.drawn(most, rng)
        kinds = (counts, "window", own), (counts, "rate", design.truth)
        for i, (each, estimand, truth) in enumerate((*kinds, (without(counts), "window", own))):
            low, high = ends(cell_matrix(each, estimand, seed=1, points=POINTS))  # type: ignore[arg-type]
            held[i] += (low <= truth) & (truth <= high)
            half += (i == 0) * (high - low) / 2
    return held / replicates, half / replicates


def of_rounds(design: Asked, most: int, replicates: int, *, seed: int) -> tuple[Values, Values]:
    """Cover them by the last of six rounds, pooled, and where shares are taken for counted ones."""
    rng = np.random.default_rng(seed)
    held, half = np.zeros((2, 2)), np.zeros(2)
    for _ in range(replicates):
        rounds = [design.drawn(most, rng)[0] for _ in range(ROUNDS)]
        for i, played in enumerate((rounds, [without(each) for each in rounds])):
            low, high = ends(pooled_matrix(played))
            held[i] += (low <= design.truth) & (design.truth <= high)
            half += (i == 0) * (high - low) / 2
    return held / replicates, half / replicates


def pooled_matrix(rounds: list[Counts], cells: Whole | None = None) -> Matrix:
    """Draw the matrix of the last of some rounds, as the monitor pools them.

    ``cells`` are the score cells of the strata, those of the first phase if not given.
    """
    nothing = np.zeros(len(rounds[0].size), dtype=np.int64)
    settings = Pooling()
    counted = [Completed(each, nothing) for each in rounds]
    phase = rounds[0].first_phase
    if cells is None:
        cells = np.arange(len(nothing)) if phase is None else phase.parent
    [state] = history_states(counted, None, settings, cells=cells, since=len(rounds) - 1)
    laws = (
        with_robust_weight(
            getattr(state.after, name),
            *state.now.of_class(flagged=name == "flagged"),
            share=settings.robust_weight,
        )
        for name in ("flagged", "passed")
    )
    drawn = draw(JointPosterior(*laws), seed=1, points=POINTS, size=state.now.size)
    return drawn.rate_matrix(state.now.size)


def ends(matrix: Matrix) -> tuple[Values, Values]:
    """Find the ends of the 95 % intervals of precision and recall."""
    values = np.stack([metric(name)(matrix) for name in METRICS])
    low, high = np.quantile(values, [0.025, 0.975], axis=1)
    return low, high


def _metrics(positive: Values | Whole, size: Values | Whole, is_flagged: Flags) -> Values:
    hits = positive[is_flagged].sum()
    return np.array([hits / size[is_flagged].sum(), hits / positive.sum()])
