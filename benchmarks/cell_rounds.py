"""Simulated rounds of score cells, planned and estimated as the monitor does, many at once.

`tests/stats/test_benchmarks.py` compares whole intervals with `estimates(..., cells=True)`.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from benchmarks.coverage_grid import (
    Setting,
    class_probabilities,
    grid,
    second_populations,
    strata_of,
    weakened,
)
from benchmarks.fast_rounds import Design, beta_quantiles, binomial_quantiles, expected_rarer
from benchmarks.harness import Flags, Values, Whole
from monitor.stats.core.draws import Estimand
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.design.allocation import allocate
from monitor.stats.design.cell_counts import cell_counts, rest_of_class
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands, cell_edges
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

Population = Sequence[tuple[Values, Values]]


CELLS = (20, 40)
PLANS = 8
POINTS = 2**10


@dataclass(frozen=True, eq=False)
class CellRounds:
    """Cells of a setting, flagged first, and plans of its rounds, shape ``(PLANS, H)``.

    ``positive`` are the actual positives of a finite window; None where the rates are what is
    looked for.
    """

    setting: Setting
    size: Whole
    rate: Values
    is_flagged: Flags
    positive: Whole | None
    plans: Whole

    @property
    def classes(self) -> tuple[Flags, Flags]:
        """Which cells are flagged, and which passed."""
        return self.is_flagged, ~self.is_flagged

    @property
    def truth(self) -> Matrix:
        """The matrix that estimates should find."""
        found = self.size * self.rate if self.positive is None else self.positive
        every = [self.size[of].sum() for of in self.classes]
        tp, fn = (float(found[of].sum()) for of in self.classes)
        return Matrix(tp=tp, fp=every[0] - tp, fn=fn, tn=every[1] - fn)

    @property
    def estimand(self) -> Estimand:
        """What the rounds estimate."""
        return "rate" if self.positive is None else "window"

    @property
    def rarer(self) -> tuple[float, float]:
        """Labels of the rarer answer that can be expected for precision and for recall."""
        labeled = np.clip(np.rint(self.plans.mean(axis=0)).astype(np.int64), 1, self.size)
        truth = {"rate": self.rate} if self.positive is None else {"positive": self.positive}
        return expected_rarer(Design(self.size, labeled, int(self.is_flagged.sum()), **truth))

    @property
    def name(self) -> str:
        """The setting in a few words."""
        s = self.setting
        window = "rates" if s.times is None else f"x{s.times}"
        return (
            f"k {s.k:.3g}, P {s.precision:.2f}, R {s.recall:.2f}, {s.labels} labels, {s.score}, "
            f"{s.plan}, {window}"
        )

    def answers(self, plan: int, rounds: int, rng: np.random.Generator) -> Whole:
        """Labeled positives of some rounds of one plan, shape ``(rounds, H)``."""
        labeled, shape = self.plans[plan], (rounds, len(self.size))
        if self.positive is None:
            return rng.binomial(labeled, self.rate, shape)
        return rng.hypergeometric(self.positive, self.size - self.positive, labeled, shape)


@dataclass(frozen=True, eq=False)
class Judged:
    """Rounds against the truth: shape ``(metrics, rounds)``; NaN where there is no interval."""

    below: Values
    above: Values
    low: Values
    high: Values
    point: Values


def first_rounds(settings: int, seed: int) -> list[CellRounds]:
    """Cut the settings of the coverage grid into cells."""
    made = []
    for setting in grid(settings, seed):
        claims = class_probabilities(setting.k, setting.precision, setting.recall)
        is_good = setting.score == "good"
        made.append(cut_into_cells(setting, [(c, c if is_good else weakened(c)) for c in claims]))
    return made


def second_rounds(settings: int, seed: int) -> list[CellRounds]:
    """Cut the populations of the second grid into cells."""
    return [cut_into_cells(*each) for each in second_populations(settings, seed)]


def cut_into_cells(setting: Setting, classes: Population) -> CellRounds:
    """Cut a population by what its score claims, and plan its labels as the monitor does."""
    counts = affordable_bands(*CELLS, setting.labels, LABELS_PER_CELL)
    up, size, rate, claim = strata_of(setting, classes, counts, cell_edges)
    positive = None if setting.times is None else whole_positives(size, rate, up)
    return CellRounds(setting, size, rate, up, positive, _plans(setting, size, up, rate, claim))


def judged(
    design: CellRounds, names: Sequence[str], plan: int, positive: Whole, *, points: int = POINTS
) -> Judged:
    """Estimate rounds of one plan, and compare their intervals with the truth."""
    labeled = design.plans[plan]
    drawn = _drawn(design, labeled, positive, points)
    matrices = _with_edges(design, labeled, positive, drawn)
    scaled = scaled_matrix(design.size, labeled, positive, design.is_flagged)
    found = [_one_metric(name, design.truth, matrices, scaled) for name in names]
    return Judged(*(np.array(each) for each in zip(*found, strict=True)))


def _one_metric(
    name: str, truth: Matrix, matrices: list[tuple[Flags, Matrix]], scaled: Matrix
) -> tuple[Values, Values, Values, Values, Values]:
    """Give misses below and above, ends and point of one metric for each round."""
    of = metric(name)
    true = float(of(truth))
    values = of(matrices[0][1])
    low, high = _ends(values)
    for mine, edge in matrices[1:]:
        ends = _ends(of(edge))
        there = mine & ~np.isnan(ends[0])
        low = np.where(there, np.minimum(low, ends[0]), low)
        high = np.where(there, np.maximum(high, ends[1]), high)
    point = of(scaled)
    with np.errstate(invalid="ignore"):
        point = np.clip(np.where(np.isnan(point), np.nanmean(values, axis=1), point), low, high)
    said = np.isnan(values).mean(axis=1) <= UNDEFINED_LIMIT
    tiny = 1e-9  # sums in another order
    rows = (true < low - tiny, true > high + tiny, low, high, point)
    return tuple(np.where(said, row, np.nan) for row in rows)  # type: ignore[return-value]


def _ends(values: Values) -> tuple[Values, Values]:
    """Equal-tailed 95 % interval of each row's draws; some may have no value."""
    if not np.isnan(values).any():
        low, high = np.quantile(values, [0.025, 0.975], axis=1, method="inverted_cdf")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a row without any value
            low, high = np.nanquantile(values, [0.025, 0.975], axis=1, method="inverted_cdf")
    return low, high


def _drawn(design: CellRounds, labeled: Whole, positive: Whole, points: int) -> tuple[Values, ...]:
    """Draw the positives of each class, shape ``(rounds, points)``, as `cell_matrix` does."""
    sobol = qmc.Sobol(6, scramble=True, rng=0).random(points) + 2.0**-31
    found = []
    for i, of in enumerate(design.classes):
        size, n, y = design.size[of], labeled[of], positive[:, of]
        if design.positive is None:
            worth, items = cell_counts(size, n, y), int(size.sum())
        else:
            worth, items = rest_of_class(size - n, n, y).counts, int((size - n).sum())
        more = (worth.labeled - worth.positive)[:, 0]
        rates = beta_quantiles(0.5 + worth.positive[:, 0], 0.5 + more, sobol[:, i])
        if design.positive is None:
            found.append(items * rates)
        else:
            chance = np.broadcast_to(sobol[:, 2 + i], rates.shape)
            rest = binomial_quantiles(chance, items, rates) if items else 0.0 * rates
            found.append(y.sum(axis=1)[:, np.newaxis] + rest)
    return tuple(found)


def _with_edges(
    design: CellRounds, labeled: Whole, positive: Whole, drawn: tuple[Values, ...]
) -> list[tuple[Flags, Matrix]]:
    """Matrices of draws, the plain ones first, and of which rounds each is.

    The others are those of `matrices_at_the_edge`: without the answer that no label of a class had.
    """
    sizes = [float(design.size[of].sum()) for of in design.classes]
    edges, is_edge = [], []
    for size, of, found in zip(sizes, design.classes, drawn, strict=True):
        seen, every = positive[:, of].sum(axis=1), int(labeled[of].sum())
        edge = np.where((seen == 0)[:, np.newaxis], 0.0, size)
        edges.append(np.broadcast_to(edge, found.shape))
        is_edge.append((seen == 0) | (seen == every))
    made = [(np.ones(len(positive), dtype=np.bool_), _matrix(sizes, *drawn))]
    for up, down in ((True, False), (False, True), (True, True)):
        mine = (is_edge[0] | (not up)) & (is_edge[1] | (not down))
        if mine.any():
            chosen = (edges[0] if up else drawn[0], edges[1] if down else drawn[1])
            made.append((mine, _matrix(sizes, *chosen)))
    return made


def _matrix(sizes: list[float], tp: Values, fn: Values) -> Matrix:
    return Matrix(tp=tp, fp=sizes[0] - tp, fn=fn, tn=sizes[1] - fn)


def whole_positives(size: Whole, rate: Values, is_flagged: Flags) -> Whole:
    """Make positives whole cell by cell, and nearly right class by class."""
    positive = np.zeros(len(size), dtype=np.int64)
    for of in (is_flagged, ~is_flagged):
        ends = np.rint(np.concatenate([[0.0], np.cumsum(size[of] * rate[of])]))
        positive[of] = np.clip(np.diff(ends), 0, size[of])
    return positive


def _plans(setting: Setting, size: Whole, is_flagged: Flags, rate: Values, claim: Values) -> Whole:
    """Plan rounds by the scores, or by about what three rounds of this size have found."""
    if setting.plan == "scores":
        known = PriorRates.of_scores(np.clip(claim, 1e-12, 1 - 1e-12), is_flagged)
    else:
        found = np.full(len(size), 3 * setting.labels / len(size))
        known = recalibrated_prior(size, is_flagged, found, found * rate)
    uniforms = (np.arange(PLANS) + 0.5) / PLANS
    budget = setting.labels
    return np.array(
        [
            allocate(Prospect.of(size, is_flagged, known, uniform=u), max_labels=budget).labels
            for u in uniforms
        ]
    )
