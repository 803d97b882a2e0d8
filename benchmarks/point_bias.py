"""How far the points of precision and recall lie from the truth in the mean, and each time.

Four points: the scaled matrix's, the posterior's mean and median, and the scaled matrix's less its
bias to second order (for recall only).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage_grid import Setting, make_cell
from benchmarks.fast_rounds import CHUNK, METRICS, Design, FastRounds
from benchmarks.harness import Values, Whole
from monitor.stats import METRICS as FORMULAS
from monitor.stats import Matrix, scaled_matrix

ROUNDS = 1000
"""Rounds of a cell whose points are looked at, at most."""

POINTS = ("scaled", "mean", "median", "2nd order")
GROUPS = ((0.0, 3.0), (3.0, 5.0), (5.0, 10.0), (10.0, math.inf))
GOAL = 0.1
ENOUGH = 5.0
QUIET = 52


@dataclass(frozen=True)
class Bias:
    """Errors of the points of one cell: shape ``(POINTS, METRICS)``, in units of the metric.

    ``undefined`` and ``outside`` are shares of rounds in which the scaled matrix has no value and
    in which its value lies outside of the interval, shape ``(METRICS,)``.
    """

    bias: Values
    error: Values
    rmse: Values
    undefined: Values
    outside: Values


def bias_of(rounds: FastRounds, ends: Values) -> Bias:
    """Compare the points of simulated rounds with the truth; ``ends`` are of the first ones."""
    wanted = min(ROUNDS, rounds.replicates)
    points = points_of(rounds, wanted)
    scaled = points[0].copy()
    for point in (0, 3):
        points[point] = np.where(np.isnan(scaled), points[1], points[point])
    off = points - np.array(rounds.design.truths)[:, np.newaxis]
    seen = scaled[:, : ends.shape[2]]
    tiny = 1e-9  # sums in another order
    outside = (seen < ends[:, 0] - tiny) | (seen > ends[:, 1] + tiny)
    return Bias(
        bias=off.mean(axis=2),
        error=off.std(axis=2) / math.sqrt(wanted),
        rmse=np.sqrt((off**2).mean(axis=2)),
        undefined=np.isnan(scaled).mean(axis=1),
        outside=outside.mean(axis=1),
    )


def points_of(rounds: FastRounds, wanted: int) -> Values:
    """Points of the first rounds, shape ``(POINTS, METRICS, wanted)``."""
    design = rounds.design
    is_flagged = np.arange(len(design.size)) < design.flagged
    matrix = scaled_matrix(design.size, design.labeled, rounds.positive[:wanted], is_flagged)
    found = np.empty((len(POINTS), len(METRICS), wanted))
    found[0] = found[3] = [FORMULAS[name](matrix) for name in METRICS]
    found[3, 1] -= recall_bias(design, rounds.positive[:wanted], matrix)
    flagged = float(design.size[: design.flagged].sum())
    for first in range(0, wanted, CHUNK):
        some = slice(first, min(first + CHUNK, wanted))
        tp, fn = rounds.sums(some)
        with np.errstate(invalid="ignore"):
            for metric, values in enumerate((tp / flagged, tp / (tp + fn))):
                found[1, metric, some] = np.nanmean(values, axis=1)
                found[2, metric, some] = np.nanmedian(values, axis=1)
    return found


def recall_bias(design: Design, positive: Whole, matrix: Matrix) -> Values:
    """Bias of TP/(TP + FN) to second order, (TP V(FN) - FN V(TP)) / (TP + FN)^3, as found."""
    share = positive / np.maximum(design.labeled, 1)
    variance = (
        design.size.astype(np.float64) ** 2
        * design.open_items
        * share
        * (1 - share)
        / np.maximum(design.labeled - 1, 1)
    )
    of_tp, of_fn = (variance[:, part].sum(axis=1) for part in design.classes)
    with np.errstate(invalid="ignore"):
        return np.asarray((matrix.tp * of_fn - matrix.fn * of_tp) / matrix.positive**3)


@dataclass(frozen=True)
class CellBias:
    """The bias of a cell's points, and what it is held against."""

    name: str
    rarer: tuple[float, float]
    half: Values
    bias: Bias

    def off(self, metric: int) -> float:
        """Bias of the scaled point in half-widths."""
        return float(self.bias.bias[0, metric] / self.half[metric])


def say_bias(cells: Sequence[CellBias]) -> None:
    """Print bias in half-widths and errors by how many of the rarer answer are expected."""
    print("bias in half-widths of the interval, root mean square error beside the posterior mean's")
    print(
        "metric     expected  cells  point     |bias| mean  largest (se)   over .1   "
        "rmse: mean most  undefined  outside"
    )
    for metric, name in enumerate(METRICS):
        for low, high in GROUPS:
            group = [c for c in cells if low <= c.rarer[metric] < high and c.half[metric] > 0]
            for point in range(len(POINTS)) if group else ():
                print(f"{name:<10} {_range(low, high):>8} {_line(group, metric, point)}")
    say_goal(cells)


def say_goal(cells: Sequence[CellBias]) -> None:
    """Print the cells whose scaled point misses the goal though its labels should do."""
    for metric, name in enumerate(METRICS):
        asked = [c for c in cells if ENOUGH <= c.rarer[metric] < math.inf and c.half[metric] > 0]
        missed = [c for c in asked if abs(c.off(metric)) > GOAL]
        verdict = f"MISSED in {len(missed)} of {len(asked)} cells" if missed else "met"
        print(f"{name}: |bias| at most {GOAL} where {ENOUGH:g} or more are expected: {verdict}")
        for cell in missed:
            error = cell.bias.error[0, metric] / cell.half[metric]
            rarer = cell.rarer[metric]
            print(f"    {cell.name}  {rarer:6.1f} {cell.off(metric):+.3f} ({error:.3f})")


def _range(low: float, high: float) -> str:
    return f"{low:g}-{high:g}" if high < math.inf else f"{low:g}+"


def _line(group: Sequence[CellBias], metric: int, point: int) -> str:
    half = np.array([c.half[metric] for c in group])
    off = np.abs([c.bias.bias[point, metric] for c in group]) / half
    worst = int(np.argmax(off))
    error = group[worst].bias.error[point, metric] / half[worst]
    ratio = np.array([c.bias.rmse[point, metric] / c.bias.rmse[1, metric] for c in group])
    said = (
        f" {len(group):5d}  {POINTS[point]:<9} {off.mean():.3f}       "
        f"{off[worst]:.3f} ({error:.3f})   {np.mean(off > GOAL):.2f}      "
        f"{ratio.mean():.2f} {ratio.max():.2f}"
    )
    if point:
        return said
    undefined, outside = (
        max(getattr(c.bias, part)[metric] for c in group) for part in ("undefined", "outside")
    )
    return f"{said}       {undefined:.3f}      {outside:.3f}"


QUIET_SETTINGS = tuple(
    Setting(*phi, labels, (4, 10), score=score)
    for phi in ((0.046, 0.79, 0.67), (0.033, 0.86, 0.56), (0.458, 0.90, 0.66))
    for score in ("good", "weak")
    for labels in (450, 1250)
)


def say_quiet(histories: int) -> None:
    """Print the mean error over a year of quiet rounds of one classifier, 4+10 bands."""
    print(f"\nmean bias over {QUIET} quiet rounds, {histories} histories: {', '.join(POINTS)} (se)")
    for seed, setting in enumerate(QUIET_SETTINGS):
        design = make_cell(setting).design
        positive = design.simulate(QUIET * histories, np.random.default_rng(seed))
        off = points_of(FastRounds(design, positive, points=2**10), len(positive))
        off -= np.array(design.truths)[:, np.newaxis]
        for metric, name in enumerate(METRICS):
            errors = off[:, metric].std(axis=1) / math.sqrt(len(positive))
            said = "  ".join(
                f"{bias:+.4f} ({error:.4f})"
                for bias, error in zip(off[:, metric].mean(axis=1), errors, strict=True)
            )
            print(
                f"k {setting.k:<5g} {setting.score} {setting.labels:>5} labels  {name:<9} "
                f"{design.truths[metric]:.3f}  {said}"
            )
