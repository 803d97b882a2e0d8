"""How often a threshold with a guarantee breaks it, and the recall or precision that it costs.

A target is the value that one of the thresholds truly has plus a thousandth, so that a wrong
threshold is as hard to tell from a right one as can be. `loss` is what an oracle that knows every
rate gains more, `none` the share of rounds in which no threshold is allowed. Rows: the rule, the
normal law in its place, and taking the last threshold whose estimate keeps the target.
The rule was chosen on Phi1 with a good and a weak score at targets of .7, .8 and .9.

With `--data DIR` the windows of real predictions are drawn and labeled by the plan of first rounds
(benchmarks/real_data.py).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import special

from benchmarks.cells import CellDesign, after_history, cut
from benchmarks.harness import Values, Whole
from benchmarks.real_data import Window, drawn_round, windows
from benchmarks.real_data import cut as cut_window
from benchmarks.strata import population
from monitor.stats.curves.thresholds import (
    STARTS,
    ScoreStrata,
    allowed_p,
    last_allowed,
    precision_p,
    recall_p,
)

ERROR = 0.05
PLANS = 200
REAL_ROUNDS = 1000
SETTINGS = (
    ("Phi2", "good", 1250),
    ("Phi2", "weak", 360),
    ("Phi3", "good", 360),
    ("Phi3", "weak", 1250),
)


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds of a classifier, strata from the highest score to the lowest, and the truth."""

    strata: ScoreStrata
    rate: Values

    def truth(self, metric: str) -> Values:
        """Precision or recall that each threshold truly has."""
        found = np.cumsum(self.strata.size * self.rate)
        of_all = self.strata.flagged_items() if metric == "precision" else found[-1]
        return np.asarray(found[:-1] / of_all)


def main(
    rounds: int = 10_000, classifiers: tuple[str, ...] = ("Phi2", "Phi3"), data: Path | None = None
) -> None:
    """Print a row for each setting, target and method; or for the windows of real data."""
    if data is not None:
        real(data, min(rounds, REAL_ROUNDS))
        return
    print("classifier  score          labels  target           method     broken   none    loss")
    for seed, (name, score, labels) in enumerate(SETTINGS):
        if name not in classifiers:
            continue
        played = play(cut(population(name, score)), labels, rounds, seed)
        for metric, target, oracle in targets(played):
            for method, p_values in METHODS.items():
                chosen = choose(played.strata, metric, p_values(played, metric, target), method)
                row = f"{name:<10}  {score:<13} {labels:>7}  {metric:<9} {target:.3f}  {method:<9}"
                shares = _shares(played, metric, target, oracle, chosen)
                print(f"{row}  {_text(shares)}", flush=True)


def real(data: Path, rounds: int) -> None:
    """Print the target of the present threshold in each real window."""
    print("window             labels  target           broken   none    loss")
    for window in windows(data):
        for labels in (360, 1250):
            played = play_window(window, labels, rounds)
            present = [played.strata.current]
            aims = (
                aim
                for metric in ("precision", "recall")
                for aim in _reached(played, metric, present)
            )
            for metric, target, oracle in aims:
                chosen = choose(played.strata, metric, rule(played, metric, target), "rule")
                text = _text(_shares(played, metric, target, oracle, chosen))
                row = f"{window.name:<18} {labels:>6}  {metric:<9} {target:.3f}  {text}"
                print(row, flush=True)


def play_window(window: Window, labels: int, rounds: int) -> Rounds:
    """Label first rounds of a window, each 25 with one plan."""
    strata, rng = cut_window(window, labels), np.random.default_rng(labels)
    parts = [drawn_round(strata, labels, 25, rng) for _ in range(max(rounds // 25, 1))]
    labeled, positive = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((-strata.mean_score, ~strata.is_flagged))
    flagged = int(strata.is_flagged.sum())
    cells = ScoreStrata(strata.size[order], labeled[:, order], positive[:, order], flagged=flagged)
    return Rounds(cells, (strata.positive / strata.size)[order])


def play(design: CellDesign, labels: int, rounds: int, seed: int) -> Rounds:
    """Draw and label rounds, each with one of a number of plans that earlier rounds led to."""
    planned = after_history(design, 0.25, labels, min(rounds, PLANS), seed)
    expected = planned.expected[np.arange(rounds) % len(planned.expected)]
    labeled, positive = replace(planned, expected=expected).draw(
        rounds, np.random.default_rng(1000 + seed)
    )
    order = np.lexsort((-design.claim, ~design.is_flagged))
    strata = ScoreStrata(
        design.size[order],
        labeled[:, order],
        positive[:, order],
        flagged=int(design.is_flagged.sum()),
    )
    return Rounds(strata, design.rate[order])


def targets(played: Rounds) -> Iterator[tuple[str, float, int]]:
    """Name targets just over what three thresholds have, and the oracle's threshold for each."""
    flagged, every = played.strata.flagged, len(played.rate) - 1
    yield from _reached(played, "precision", [flagged * 3 // 4, flagged, flagged + 4])
    lower = flagged + (every - flagged) // 3
    yield from _reached(played, "recall", [flagged - 3, flagged, lower])


def _reached(played: Rounds, metric: str, at: Sequence[int]) -> Iterator[tuple[str, float, int]]:
    truth = played.truth(metric)
    for k in at:
        target = float(truth[k]) + 0.001
        good = np.flatnonzero(truth >= target)
        if len(good) and target < 1:
            yield metric, target, int(good.max() if metric == "precision" else good.min())


def choose(strata: ScoreStrata, metric: str, p: Values, method: str) -> Whole:
    """Test in the order of the rule; take the last estimate that keeps the target without."""
    thresholds = np.arange(p.shape[-1])
    if metric == "precision":
        starts = np.arange(1, STARTS + 1) * strata.flagged // STARTS - 1
    else:
        below = len(thresholds) - strata.flagged
        starts = strata.current + np.arange(STARTS) * below // STARTS
        thresholds = thresholds[::-1]
    if method == "estimate":
        keeps = p[:, thresholds] < ERROR
        last = keeps.shape[1] - 1 - keeps[:, ::-1].argmax(axis=1)
        return np.where(keeps.any(axis=1), thresholds[last], -1)
    return last_allowed(p, allowed_p(p, thresholds, starts, ERROR), thresholds)


def rule(rounds: Rounds, metric: str, target: float) -> Values:
    """p-values of the rule."""
    return (precision_p if metric == "precision" else recall_p)(rounds.strata, target)


def estimate(rounds: Rounds, metric: str, target: float) -> Values:
    """0 where the estimate keeps the target, else 1."""
    at = rounds.strata.precision() if metric == "precision" else rounds.strata.recall()
    return np.where(at >= target, 0.0, 1.0)


def normal(rounds: Rounds, metric: str, target: float) -> Values:
    """p-values of a normal law with each stratum's own spread."""
    strata = rounds.strata
    slope, constant = _functional(strata, metric, target)
    n = np.maximum(strata.labeled, 1)
    rate = strata.positive / n
    mean = strata.size * rate @ slope - constant
    variance = strata.size**2 * rate * (1 - rate) / n @ slope**2
    return np.asarray(special.ndtr(-mean / np.sqrt(np.maximum(variance, 1e-9))))


def _functional(strata: ScoreStrata, metric: str, target: float) -> tuple[Values, Values]:
    """Weights of the rates, and the value that their sum reaches where the target is kept."""
    if metric == "precision":
        return strata.over.astype(float), target * strata.flagged_items()
    return strata.over.astype(float) - target, np.zeros(len(strata.size) - 1)


METHODS: dict[str, Callable[[Rounds, str, float], Values]] = {
    "rule": rule,
    "normal": normal,
    "estimate": estimate,
}


def _text(shares: Values) -> str:
    broken, none, loss = shares
    return f"{broken:.4f}  {none:.3f}  {loss:+.3f}"


def _shares(rounds: Rounds, metric: str, target: float, oracle: int, chosen: Whole) -> Values:
    """Shares of rounds that break the target and that have no threshold, and the loss."""
    allowed = chosen >= 0
    broken = np.mean(allowed & (rounds.truth(metric)[chosen] < target))
    other = rounds.truth("recall" if metric == "precision" else "precision")
    loss = np.mean((other[oracle] - other[chosen])[allowed]) if allowed.any() else np.nan
    return np.array([broken, 1 - allowed.mean(), loss])
