"""Pooling rounds that were labeled by score cells: width in quiet times, coverage after a change.

Each round's answers become the effective counts of one stratum per class and go through the
run-length mixture, with a share of .30 for the newest round alone. Coverage in the first, second
and fourth round after a change of precision (P) and recall (R); `width` is against the newest
round alone, `lag` is that of the pooled point in half-widths of the pooled interval.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.cells import CellDesign, cut, scored
from benchmarks.harness import Flags, Values, Whole
from benchmarks.strata import moved_to
from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.cell_sizes import expected_sizes
from monitor.stats.history.pooled_rates import pooled_rates
from monitor.stats.history.run_length import Run, RunLength, advance, begin

Answers = list[tuple[Values, Values]]
"""Effective positives and labels of each class."""
Round = tuple[Values, Whole, Whole]
"""Items, labels and positives of each cell, the last two with a row for each path."""


QUIET, LOOKED_AT = 12, (0, 1, 3)
OWN_SHARE = 0.30
POINTS = (np.arange(512) + 0.5) / 512
CHANGES = [(0.0, 0.0), (0.06, 0.06)] + [
    (p, r)
    for by in (-0.15, -0.10, -0.05, -0.03, 0.03, 0.05, 0.10, 0.15)
    for p, r in ((by, 0.0), (0.0, by))
]


def main(paths: int = 1000, labels: tuple[int, ...] = (1250, 360)) -> None:
    """Print a line for each change."""
    for each in labels:
        design = planned(cut(scored("Phi1", "good")), each)
        print(f"\n{each} labels a round, {paths} paths")
        for of_precision, of_recall in CHANGES:
            row = played(design, changed(design, of_precision, of_recall), paths)
            print(f"P {of_precision:+.2f}  R {of_recall:+.2f}   {row}")
        for sizes in ("present", "each"):
            row = played(design, moved(design), paths, present=sizes == "present")
            print(f"scores move, {sizes:<8} {row}")


def planned(design: CellDesign, labels: int) -> CellDesign:
    """Plan by the true rates."""
    inside = np.clip(design.rate, 1e-9, 1 - 1e-9)
    mu = expected_sizes(design.size, design.is_flagged, inside, labels=labels, share=0.25)
    return replace(design, expected=mu)


def changed(design: CellDesign, of_precision: float, of_recall: float) -> CellDesign:
    """Scale the wrong answers of each class so that precision and recall move by so much."""
    (precision, recall), known = design.truth, (design.size, design.is_flagged, design.rate)
    both = {"precision": precision + of_precision, "recall": recall + of_recall}
    return replace(design, rate=moved_to(*known, both, most=1.0))


def moved(design: CellDesign) -> CellDesign:
    """Put three times as many items into the upper half of the cells of each class."""
    upper = np.concatenate(
        [
            np.arange(part.sum()) >= part.sum() / 2
            for part in (design.is_flagged, ~design.is_flagged)
        ]
    )
    return replace(design, size=design.size * np.where(upper, 3, 1))


def played(quiet: CellDesign, after: CellDesign, paths: int, *, present: bool = True) -> str:
    """Play all paths through the change and say width and coverage."""
    rng = np.random.default_rng(7)
    rounds: list[Round] = []
    told, width, lag = [], "", np.zeros(2)
    for t in range(QUIET + max(LOOKED_AT) + 1):
        truth = quiet if t < QUIET else after
        rounds.append((truth.size, *truth.draw(paths, rng)))
        if t == QUIET - 1:
            width = relative_width(quiet, *pooled(rounds, quiet.is_flagged, present=present))
        if t - QUIET in LOOKED_AT:
            known = pooled(rounds, quiet.is_flagged, present=present)
            told.append(coverage(after, *known))
        if t == QUIET:
            lag = lags(after, pooled(rounds[:-1], quiet.is_flagged, present=present)[0], *known)
    said = "  ".join(f"{p:.3f}/{r:.3f}" for p, r in told)
    return f"width {width}   covered P/R {said}   lag {lag[0]:+.3f} {lag[1]:+.3f}"


def pooled(
    rounds: Sequence[Round], is_flagged: Flags, *, present: bool
) -> tuple[list[Run], Answers]:
    """Pool each class over all rounds; and what the newest one alone is worth."""
    runs, newest = [], []
    for part in (is_flagged, ~is_flagged):
        nothing = np.zeros((len(rounds[0][1]), 1))
        run, counts = begin(nothing, nothing), (nothing, nothing)
        for t, (own, labeled, positive) in enumerate(rounds, start=1):
            size = rounds[-1][0] if present else own
            worth = cell_counts(size[part], labeled[:, part], positive[:, part])
            counts = worth.positive, worth.labeled
            run, _ = advance(run, *counts, t, RunLength())
        runs.append(run)
        newest.append(counts)
    return runs, newest


def laws(runs: list[Run], parts: Answers, own: float) -> list[tuple[Values, Values, Values]]:
    """Weights and Beta parameters of each class, shape ``(paths, J)``."""
    found = []
    for run, (y, n) in zip(runs, parts, strict=True):
        a, b = prior_count(1) + y, prior_count(1) + n - y
        weight = np.concatenate([(1 - own) * run.weight, np.full((len(y), 1), own)], axis=1)
        alpha = np.concatenate([run.alpha[..., 0], a], axis=1)
        beta = np.concatenate([run.beta[..., 0], b], axis=1)
        found.append((weight, alpha, beta))
    return found


def draws(law: tuple[Values, Values, Values], rng: np.random.Generator) -> Values:
    """Draws of a class's rate, stratified within its components, shape ``(paths, points)``."""
    weight, alpha, beta = law
    chosen = (np.cumsum(weight, axis=1)[:, np.newaxis] < POINTS[:, np.newaxis]).sum(axis=2)
    chosen = np.minimum(chosen, weight.shape[1] - 1)
    a, b = (np.take_along_axis(each, chosen, axis=1) for each in (alpha, beta))
    return np.asarray(rng.permuted(rng.beta(a, b), axis=1))


def metrics_of(design: CellDesign, runs: list[Run], parts: Answers, own: float) -> Values:
    """Draws of precision and recall, shape ``(2, paths, points)``."""
    rng = np.random.default_rng(3)
    precision, omission = (draws(law, rng) for law in laws(runs, parts, own))
    tp, fn = design.classes[0] * precision, design.classes[1] * omission
    return np.stack([precision, tp / (tp + fn)])


def ends(values: Values) -> Values:
    """Find the ends of the 95 % intervals, shape ``(2, 2, paths)``: low and high first."""
    return np.asarray(np.quantile(values, [0.025, 0.975], axis=2))


def relative_width(design: CellDesign, runs: list[Run], parts: Answers) -> str:
    """Width of the pooled interval against that of the newest round alone."""
    pooled, alone = (
        np.diff(ends(metrics_of(design, runs, parts, own)), axis=0)[0].mean(axis=1)
        for own in (OWN_SHARE, 1.0)
    )
    return "/".join(f"{each:.2f}" for each in pooled / alone)


def lags(design: CellDesign, before: list[Run], runs: list[Run], parts: Answers) -> Values:
    """Mean distance of the pooled points from those of the round alone, in half-widths."""
    low, high = ends(metrics_of(design, runs, parts, OWN_SHARE))
    own = _values(design, *(y[:, 0] / n[:, 0] for y, n in parts))
    half = (high - low).mean(axis=1) / 2
    return np.asarray((np.clip(points(design, before, parts), low, high) - own).mean(axis=1) / half)


def points(design: CellDesign, before: list[Run], parts: Answers) -> Values:
    """Points of the pooled estimates, shape ``(2, paths)``."""
    rates = [
        pooled_rates((run.weight, run.alpha, run.beta), y, n, [size])[:, 0]
        for run, (y, n), size in zip(before, parts, design.classes, strict=True)
    ]
    return _values(design, *rates)


def _values(design: CellDesign, precision: Values, omission: Values) -> Values:
    tp, fn = design.classes[0] * precision, design.classes[1] * omission
    return np.stack([precision, tp / (tp + fn)])


def coverage(design: CellDesign, runs: list[Run], parts: Answers) -> tuple[float, float]:
    """Share of the pooled intervals that hold the truth."""
    low, high = ends(metrics_of(design, runs, parts, OWN_SHARE))
    truth = np.array(design.truth)[:, np.newaxis]
    held = ((low <= truth) & (truth <= high)).mean(axis=1)
    return float(held[0]), float(held[1])
