"""A first round in two waves of a fixed total, beside the same labels in one wave.

Mean half-widths and coverage of precision and recall with the shares of truths below / above
(`hidden`: misses in the lowest band take ten points of recall; `chosen`: cells that the method was
chosen on); bias of y/n in the worst band, beside a fit with its own answers (`naive`); labels for
half-widths of .05; and the same as first for cells of `coverage_grid` with a seed of their own.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from benchmarks.coverage_grid import NODES, Setting, class_probabilities, grid, weakened
from benchmarks.harness import Values, Whole
from benchmarks.label_cost import DEFAULT, MARGIN, SCALE, Design, population
from benchmarks.strata import CLASSIFIERS, cut_classes
from monitor.stats.core.draws import round_posterior
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.score_bands import affordable_bands, band_edges
from monitor.stats.design.two_waves import LEARNED_SHARE, first_wave, second_wave, towards_optimum

POINTS, CHUNK = 2000, 40
LONGER = 4  # times as many rounds for a bias, which needs no interval
CHOSEN = (
    *("Phi1 good 1800", "Phi1 weak 1800", "Phi1 inverted 1800", "Phi1 good 600"),
    *("Phi1 weak 600", "Phi1 inverted 600", "Phi1 hidden 600", "Phi3 good 450"),
)
MARGINS = {"precision": MARGIN, "recall": MARGIN}
SCORES = ("good", "weak", "flat", "inverted", "hidden")
LABELS = {"Phi1": (1800, 600), "Phi2": (1800,), "Phi3": (450,)}
GRID_SEED, LEAST_LABELS = 14, 250  # fewer are one stratum a class, or few labels altogether


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

    def two_waves(
        self, rounds: int, rng: np.random.Generator, *, naive: bool = False
    ) -> tuple[Whole, Whole]:
        """Labels and positives of many rounds over both waves, shape ``(rounds, H)``."""
        size, up, plan = self.design.size, self.design.is_flagged, self.plan
        first = first_wave(plan)
        found = rng.binomial(first, self.design.rate, (rounds, len(size)))
        if naive:
            own = (found + 0.5) / (first + 1)
            rates = np.repeat(own[:, np.newaxis, :], len(size), axis=1)
            all_of_it = np.full(found.shape, LEARNED_SHARE)
            more = towards_optimum(
                size, up, rates, all_of_it, plan=plan, first=first, margins=MARGINS
            )
        else:
            waves: dict[str, Any] = {"plan": plan, "first": first, "labeled": first}
            more = second_wave(size, up, special.logit(self.claim), **waves, positive=found)
        return first + more, found + rng.binomial(more, self.design.rate)


def main(replicates: int = 1000, cells: int = 24) -> None:
    """Print the four tables."""
    rounds = replicates
    error = np.sqrt(0.95 * 0.05 / rounds)
    print(f"One number of labels; {rounds} rounds, standard error of a coverage {error:.4f}")
    print(f"{'':31}waves  half-widths   coverage       truth below/above P    R")
    every = [
        cell_of(name, score, total) for name in LABELS for total in LABELS[name] for score in SCORES
    ]
    for cell in every:
        say(cell, rounds)
    error = 1 / np.sqrt(LONGER * rounds)
    print(f"\nLargest bias of a band's y/n, in its sd; standard error {error:.4f}")
    for cell in every:
        biases = [largest_bias(cell, LONGER * rounds, naive=naive) for naive in (False, True)]
        print(f"{cell.name:<30}{biases[0]:+8.3f}{biases[1]:+8.3f} naive")
    print("\nLabels for half-widths of .05")
    for name in CLASSIFIERS:
        for score in SCORES[:4]:
            one, two = (labels_needed(cell_of(name, score, 1000), wave, rounds) for wave in (1, 2))
            print(f"{name} {score:<25}{one:6}{two:6}  x{two / one:.2f}")
    say_grid(cells, rounds)


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
    recall, rate = design.values[1], design.rate.copy()
    rate[design.flagged] += (tp / (recall - by) - tp / recall) / design.size[design.flagged]
    return replace(design, rate=rate)


def drawn_cell(setting: Setting) -> FirstRound:
    """Make a cell of the grid: the default bands, an infinite window."""
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    is_good = setting.score == "good"
    is_flagged, nodes, (rate, claim) = cut_classes(
        (claimed, band_edges(claimed, bands), claimed if is_good else weakened(claimed), claimed)
        for claimed, bands in zip(claims, affordable_bands(*DEFAULT, setting.labels), strict=True)
    )
    weight = np.where(is_flagged, setting.k, 1.0)
    size = np.rint(SCALE * weight * 1e4 * (nodes / NODES)).astype(np.int64)
    text = f"{setting.k:<6g}{setting.precision:.2f} {setting.recall:.2f} {setting.score}"
    design = Design(size, rate, int(is_flagged.sum()), np.zeros_like(size))
    return FirstRound(f"{text} {setting.labels}", design, claim, setting.labels)


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
    low, high, truth = ends[..., 0], ends[..., 1], np.array(cell.design.values)
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


def largest_bias(cell: FirstRound, rounds: int, *, naive: bool) -> float:
    """Mean error of y/n in the worst band, in standard deviations of that y/n."""
    rng, design = np.random.default_rng(6), cell.design
    labels, positive = cell.two_waves(rounds, rng, naive=naive)
    told = np.minimum(design.rate, 1 - design.rate) * labels.mean(axis=0) >= 1
    share = (positive / labels)[:, told]
    bias = (share - design.rate[told]).mean(axis=0) / share.std(axis=0)
    return float(bias[np.argmax(np.abs(bias))])


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
        chosen = " chosen" if waves == 2 and cell.name in CHOSEN else ""
        print(
            f"{cell.name if waves == 1 else '':<31}{waves}   {width[0]:.4f} {width[1]:.4f}   "
            f"{cover[0]:.3f} {cover[1]:.3f}   {below[0]:.3f}/{above[0]:.3f} "
            f"{below[1]:.3f}/{above[1]:.3f}{chosen}"
        )


def say_grid(cells: int, rounds: int) -> None:
    """Print means over drawn cells, and each that two waves cover less by 3 standard errors."""
    settings = [each for each in grid(8 * cells, seed=GRID_SEED) if each.labels >= LEAST_LABELS]
    drawn = [drawn_cell(setting) for setting in settings[:cells]]
    found = np.array([[result(cell, waves, rounds) for waves in (1, 2)] for cell in drawn])
    width, below, above = np.moveaxis(found, 2, 0)  # each of shape (cells, waves, metrics)
    cover = 1 - below - above
    print(f"\n{len(drawn)} drawn cells; precision, recall")
    for i, text in enumerate(("one wave", "two waves")):
        print(
            f"{text:<10} mean coverage {_pair(cover[:, i].mean(axis=0))}, lowest "
            f"{_pair(cover[:, i].min(axis=0))}, truth below {_pair(below[:, i].mean(axis=0))}, "
            f"above {_pair(above[:, i].mean(axis=0))}"
        )
    ratio = np.log(width[:, 1] / width[:, 0])
    widest = width.max(axis=2)
    wider = widest[:, 1] / widest[:, 0]
    print(
        f"width of two over one: {_pair(np.exp(ratio.mean(axis=0)))}; of the wider metric "
        f"{np.exp(np.log(wider).mean()):.3f}, from {wider.min():.3f} to {wider.max():.3f}"
    )
    error = np.sqrt(2 * 0.05 * 0.95 / rounds)
    for cell, (one, two) in zip(drawn, cover, strict=True):
        if np.any(two < one - 3 * error):
            print(f"covers less: {cell.name:<28} one {_pair(one)}, two {_pair(two)}")


def _pair(values: Values) -> str:
    return " ".join(f"{each:.3f}" for each in values)
