"""A first round in two waves over score cells, beside one wave and beside bands.

Populations as in `two_waves`, cells as in `cells`. `naive` fits each cell's second size with its
own answers. Mean half-widths and coverage of precision and recall, the shares of rounds in which
the truth lies below / above, and the bias of the weighted ratio.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import two_waves
from benchmarks.cells import CellDesign, cut, judged, scored
from benchmarks.harness import Values, Whole
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import recalibrated_rates
from monitor.stats.design.score_bands import LABELS_PER_CELL, affordable_bands
from monitor.stats.design.two_waves import LEARNED_SHARE, first_wave, towards_optimum

SCORES = ("good", "weak", "flat", "inverted", "hidden")
LABELS = {"Phi1": (450, 1250, 1800), "Phi2": (1800,), "Phi3": (450,)}
CELLS = (20, 40)
SAME_PLAN = 25  # rounds with one plan: its chance is drawn anew after as many
HIDDEN = 0.10  # points of recall that misses in the lowest tenth of the passed cells take
WIDTHS = 400
WAYS = {"bands, 2": None, "cells, 1": "one", "cells, 2": "two", "naive": "naive"}


@dataclass(frozen=True, eq=False)
class FirstRound(CellDesign):
    """Cells of a history's first round, the labels to spend, and how they are spent."""

    total: int
    waves: str

    def draw(self, replicates: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Labels and positives of rounds, shape ``(replicates, H)``."""
        some = [min(SAME_PLAN, replicates - at) for at in range(0, replicates, SAME_PLAN)]
        labeled, positive = zip(*(self._of_one_plan(rounds, rng) for rounds in some), strict=True)
        return np.concatenate(labeled), np.concatenate(positive)

    def _of_one_plan(self, rounds: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
        u = rng.random()
        plan = self.plan(u)
        if self.waves == "one":
            labels = np.broadcast_to(plan, (rounds, len(plan)))
            return labels, rng.binomial(labels, self.rate)
        first = first_wave(plan, u)
        found = rng.binomial(first, self.rate, (rounds, len(plan)))
        more = self.rest(plan, first, found, rng.random(rounds))
        return first + more, found + rng.binomial(more, self.rate)

    def plan(self, u: float) -> Whole:
        """Labels of one wave: a first round's, by the scores."""
        known = PriorRates.of_scores(self.claim, self.is_flagged)
        return self.allocated(known, max_labels=self.total, uniform=u)

    def rest(self, plan: Whole, first: Whole, found: Whole, u: Values) -> Whole:
        """Labels of wave 2 in many rounds."""
        if self.waves != "naive":
            return self.second(plan, first, found, u)
        size, up = self.size.astype(np.int64), self.is_flagged
        rates = recalibrated_rates(size, up, first, found)
        return towards_optimum(
            size,
            up,
            np.repeat(rates[:, np.newaxis, :], len(size), axis=1),
            np.full(found.shape, LEARNED_SHARE),
            plan=plan,
            first=first,
            margins=two_waves.MARGINS,
            uniform=u,
        )


def main(replicates: int = 1000, classifiers: tuple[str, ...] = tuple(LABELS)) -> None:
    """Print the tables."""
    print(f"{'':35}half-widths   covered     truth below/above P    R        bias")
    covered: dict[str, list[Values]] = {text: [] for text in WAYS}
    for name in classifiers:
        for total in LABELS[name]:
            for score in SCORES:
                cell = two_waves.cell_of(name, score, total)
                for text, waves in WAYS.items():
                    title = f"{cell.name if waves is None else '':<24}{text}"
                    if waves is None:
                        cover = say_bands(cell, title, replicates)
                    else:
                        cover = say(first_round(name, score, total, waves), title, replicates)
                    covered[text].append(cover)
    print()
    for text, covers in covered.items():
        precision, recall = np.mean(covers, axis=0)
        print(f"{text:<9} mean coverage {precision:.3f} {recall:.3f}")
    print(f"wave 2 of one round over 60 cells: {seconds():.3f} s")


def first_round(name: str, score: str, total: int, waves: str) -> FirstRound:
    """Cut a classifier into as many cells as the labels afford."""
    whole = scored(name, "good" if score == "hidden" else score)
    design = cut(whole, affordable_bands(*CELLS, total, LABELS_PER_CELL))
    if score == "hidden":
        design = with_hidden_misses(design)
    parts = (design.size, design.rate, design.claim, design.is_flagged, design.expected)
    return FirstRound(*parts, total, waves)


def with_hidden_misses(design: CellDesign) -> CellDesign:
    """Let recall fall by misses in the lowest tenth of the passed cells alone."""
    passed = np.flatnonzero(~design.is_flagged)
    low = passed[: max(1, len(passed) // 10)]
    tp = float((design.size * design.rate)[design.is_flagged].sum())
    recall, rate = design.truth[1], design.rate.copy()
    rate[low] += (tp / (recall - HIDDEN) - tp / recall) / design.size[low].sum()
    return replace(design, rate=rate)


def say_bands(cell: two_waves.FirstRound, title: str, rounds: int) -> Values:
    """Print the line of two waves by bands; its coverage."""
    width, below, above = two_waves.result(cell, 2, rounds)
    return _line(title, width, below, above, None)


def say(round_: FirstRound, title: str, rounds: int) -> Values:
    """Print the line of a way to spend the labels over cells; its coverage."""
    found = judged(round_, rounds, seed=5, widths=min(rounds, WIDTHS))
    return _line(title, found.half_width, found.below, found.above, found.bias)


def _line(title: str, width: Values, below: Values, above: Values, bias: Values | None) -> Values:
    cover = 1 - below - above
    told = "" if bias is None else f"   {bias[0]:+.4f} {bias[1]:+.4f}"
    print(
        f"{title:<35}{width[0]:.4f} {width[1]:.4f}  {cover[0]:.3f} {cover[1]:.3f}   "
        f"{below[0]:.3f}/{above[0]:.3f} {below[1]:.3f}/{above[1]:.3f}{told}"
    )
    return np.asarray(cover)


def seconds() -> float:
    """Time of wave 2 of one round."""
    round_, rng = first_round("Phi1", "good", 1800, "two"), np.random.default_rng(1)
    plan = round_.plan(0.5)
    first = first_wave(plan, 0.5)
    found = rng.binomial(first, round_.rate)
    start = time.perf_counter()
    round_.rest(plan, first, found, np.array(rng.random()))
    return time.perf_counter() - start
