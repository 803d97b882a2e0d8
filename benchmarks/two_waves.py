"""A first round in two waves of a fixed total, beside the same labels in one wave.

Mean half-widths and coverage of precision and recall with the shares of truths below / above
(`hidden`: misses in the lowest band take ten points of recall), and labels for half-widths of .05.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from benchmarks.harness import Values, Whole
from benchmarks.label_cost import DEFAULT, MARGIN, Design, population
from benchmarks.strata import CLASSIFIERS
from monitor.stats.core.draws import round_posterior
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.score_bands import affordable_bands
from monitor.stats.design.two_waves import first_wave, second_wave

POINTS, CHUNK = 2000, 40
SCORES = ("good", "weak", "flat", "inverted", "hidden")
LABELS = {"Phi1": (1800, 600), "Phi2": (1800,), "Phi3": (450,)}


@dataclass(frozen=True, eq=False)
class FirstRound:
    """Strata with their true rates, what the scores say of them, and the labels to spend."""

    name: str
    design: Design
    claim: Values
    total: int

    @property
    def plan(self) -> Whole:
        """Labels of one wave: today's first round."""
        known = PriorRates.of_scores(self.claim, self.design.is_flagged)
        return self.design.allocated(known, max_labels=self.total)

    def one_wave(self, rounds: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Labels and positives of many rounds, shape ``(rounds, H)``."""
        labels = np.broadcast_to(self.plan, (rounds, len(self.design.size)))
        return labels, rng.binomial(labels, self.design.rate)

    def two_waves(self, rounds: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Labels and positives of many rounds over both waves, shape ``(rounds, H)``."""
        size, up, plan = self.design.size, self.design.is_flagged, self.plan
        first = first_wave(plan)
        found = rng.binomial(first, self.design.rate, (rounds, len(size)))
        waves: dict[str, Any] = {"plan": plan, "first": first, "labeled": first}
        more = second_wave(size, up, special.logit(self.claim), **waves, positive=found)
        return first + more, found + rng.binomial(more, self.design.rate)


def main(replicates: int = 1000) -> None:
    """Print both tables."""
    rounds = replicates
    error = np.sqrt(0.95 * 0.05 / rounds)
    print(f"One number of labels; {rounds} rounds, standard error of a coverage {error:.4f}")
    print(f"{'':31}waves  half-widths   coverage       truth below/above P    R")
    every = [
        cell_of(name, score, total) for name in LABELS for total in LABELS[name] for score in SCORES
    ]
    for cell in every:
        say(cell, rounds)
    print("\nLabels for half-widths of .05")
    for name in CLASSIFIERS:
        for score in SCORES[:4]:
            one, two = (labels_needed(cell_of(name, score, 1000), wave, rounds) for wave in (1, 2))
            print(f"{name} {score:<25}{one:6}{two:6}  x{two / one:.2f}")


def cell_of(name: str, score: str, total: int) -> FirstRound:
    """Make a cell of the three classifiers; see the module's text for the scores."""
    whole = population(name, "good" if score == "hidden" else score)
    design, claim = whole.strata(affordable_bands(*DEFAULT, total))
    if score == "hidden":
        design = with_hidden_misses(design, 0.10)
    return FirstRound(f"{name} {score} {total}", design, claim, total)


def with_hidden_misses(design: Design, by: float) -> Design:
    """Let recall fall by misses in the lowest band alone, which is the first of the passed."""
    tp = float(design.size[: design.flagged] @ design.rate[: design.flagged])
    recall, rate = design.truth[1], design.rate.copy()
    rate[design.flagged] += (tp / (recall - by) - tp / recall) / design.size[design.flagged]
    return replace(design, rate=rate)


def result(cell: FirstRound, waves: int, rounds: int) -> Values:
    """Mean half-width, share of truths below and above, for precision and recall, shape (3, 2)."""
    rng = np.random.default_rng(5)
    labels, positive = (cell.one_wave if waves == 1 else cell.two_waves)(rounds, rng)
    ends = np.concatenate(
        [
            intervals(cell.design, labels[at : at + CHUNK], positive[at : at + CHUNK], rng)
            for at in range(0, rounds, CHUNK)
        ]
    )
    low, high, truth = ends[..., 0], ends[..., 1], np.array(cell.design.truth)
    rows = [(high - low).mean(axis=0) / 2, (truth < low).mean(axis=0), (truth > high).mean(axis=0)]
    return np.array(rows)


def intervals(design: Design, labels: Whole, positive: Whole, rng: np.random.Generator) -> Values:
    """95 % intervals of precision and recall from random draws, shape ``(rounds, 2, 2)``."""
    prior, found = round_posterior(design.unlabeled()), []
    for part, mixture in zip(design.classes, (prior.flagged, prior.passed), strict=True):
        counts = mixture.alpha[rng.integers(len(mixture.weight), size=POINTS)]
        y, n = positive[:, np.newaxis, part], labels[:, np.newaxis, part]
        found.append(rng.beta(counts + y, counts + n - y) @ design.size[part].astype(np.float64))
    tp, fn = found
    values = np.stack([tp / design.size[: design.flagged].sum(), tp / (tp + fn)], axis=1)
    return np.moveaxis(np.quantile(values, [0.025, 0.975], axis=2), 0, -1)


def labels_needed(cell: FirstRound, waves: int, rounds: int) -> int:
    """Labels at which the wider of the two mean half-widths is .05, bands as in the cell."""
    total = float(cell.total)
    for some in (rounds // 8, rounds // 8, rounds // 4):
        widest = result(replace(cell, total=round(total)), waves, some)[0].max()
        total *= (widest / MARGIN) ** 2
    return round(total)


def say(cell: FirstRound, rounds: int) -> None:
    """Print a line for each number of waves."""
    for waves in (1, 2):
        width, below, above = result(cell, waves, rounds)
        cover = 1 - below - above
        print(
            f"{cell.name if waves == 1 else '':<31}{waves}   {width[0]:.4f} {width[1]:.4f}   "
            f"{cover[0]:.3f} {cover[1]:.3f}   {below[0]:.3f}/{above[0]:.3f} "
            f"{below[1]:.3f}/{above[1]:.3f}"
        )
