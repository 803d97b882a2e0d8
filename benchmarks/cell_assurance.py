"""How often a round by score cells misses the margin that its plan was made for, round by round.

    python -m benchmarks cell_assurance [--histories 80] [--cases "Phi1 good" ...]

As benchmarks/assurance.py, over 20+40 score cells: every round is planned for +-.05 on precision
and recall with probability .8 and has as many labels as that asks for. The first is planned by the
scores and goes out in two waves, each one after it by the rates of the rounds before, smoothed
along the score. A margin is missed where half of the 95 % interval of the round alone, by
`monitor.stats.design.cell_counts`, is more than .05. `seen` marks the cases that the method was
chosen on.

    line     widths to come are drawn at the line's rates, its coefficients from their law
    cells    they are drawn at the rates that the plan goes by, each cell's from its own Beta

`needed` are the labels with which a plan by the true rates keeps each margin in .8 of the rounds.
Standard errors of shares in brackets.
"""

import math
from dataclasses import replace

import numpy as np
from scipy import special

from benchmarks.cell_waves import first_round
from benchmarks.cells import CellDesign, interval_ends
from benchmarks.harness import Values, Whole
from benchmarks.label_cost import MARGIN, METRICS
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.two_waves import first_wave, second_wave
from monitor.stats.detection.alternatives import DECAY

SEEN = ("Phi1 good", "Phi3 good", "Phi3 weak")
UNSEEN = ("Phi2 good", "Phi1 overconfident", "Phi3 overconfident")
ROUNDS = 6
MARGINS = dict.fromkeys(METRICS, MARGIN)
METHODS = ("line", "cells")
MANY = 10_000  # labels that afford all cells


def main(histories: int = 80, cases: tuple[str, ...] = (*SEEN, *UNSEEN)) -> None:
    """Print one table for each case."""
    for case in cases:
        name, score = case.split()
        design = first_round(name, score, MANY, "two")
        seen = ", seen" if case in SEEN else ""
        print(f"\n{case}{seen}; needed by the true rates: {needed_labels(design)}")
        print("       round  labels (sd)    half-widths    missed: precision     recall")
        for method in METHODS:
            played = [history(design, method, seed) for seed in range(histories)]
            show(method, np.array(played))


def history(
    design: CellDesign, method: str, seed: int, rounds: int | None = None
) -> list[tuple[float, ...]]:
    """Play one history: labels and half-widths of each round."""
    rng, up = np.random.default_rng(seed), design.is_flagged
    known = PriorRates.of_scores(design.claim, up)
    n, y = np.zeros((2, len(up)))
    found = []
    for number in range(rounds or ROUNDS):
        u = rng.random()
        labeled = planned(design, known, u)
        if number == 0:
            labeled, positive = in_two_waves(design, labeled, u, rng)
        else:
            positive = rng.binomial(labeled, design.rate)
        found.append((float(labeled.sum()), *half_widths(design, labeled, positive[np.newaxis])[0]))
        n, y = DECAY * n + labeled, DECAY * y + positive
        known = recalibrated_prior(design.size, up, n, y)
        if method == "cells":
            known = replace(known, joint=None)
    return found


def planned(design: CellDesign, known: PriorRates, u: float) -> Whole:
    """Labels that keep the margins with the assurance by what is known."""
    return allocate(
        design.size.astype(np.int64),
        design.is_flagged,
        known,
        margins=MARGINS,
        estimand="rate",
        assurance=ASSURANCE,
        uniform=u,
    ).labels


def in_two_waves(
    design: CellDesign, plan: Whole, u: float, rng: np.random.Generator
) -> tuple[Whole, Whole]:
    """Labels and positives of a history's first round."""
    first = first_wave(plan, u)
    found = rng.binomial(first, design.rate)
    more = second_wave(
        design.size.astype(np.int64),
        design.is_flagged,
        special.logit(design.claim),
        plan=plan,
        first=first,
        labeled=first,
        positive=found,
        uniform=rng.random(),
    )
    return first + more, found + rng.binomial(more, design.rate)


def half_widths(design: CellDesign, labeled: Whole, positive: Whole) -> Values:
    """Half-widths of the interval of each round alone, shape ``(rounds, 2)``."""
    up = design.is_flagged
    laws = []
    for members in (up, ~up):
        worth = cell_counts(design.size[members], labeled[members], positive[:, members])
        laws.append((0.5 + worth.positive[:, 0], 0.5 + (worth.labeled - worth.positive)[:, 0]))
    ends = interval_ends(design, laws[0], laws[1], len(positive))
    return np.asarray((ends[:, 1] - ends[:, 0]).T / 2)


def needed_labels(design: CellDesign) -> int:
    """Labels of a plan by the true rates that keeps both margins in ``ASSURANCE`` of the rounds."""
    margins = dict(MARGINS)
    labels = np.zeros(0, dtype=np.int64)
    for _ in range(5):
        labels = allocate(
            design.size.astype(np.int64),
            design.is_flagged,
            PriorRates.of_rates(np.clip(design.rate, 1e-9, 1 - 1e-9)),
            margins=margins,
            estimand="rate",
            uniform=0.5,
        ).labels
        positive = np.random.default_rng(9).binomial(labels, design.rate, (400, len(labels)))
        reached = np.quantile(half_widths(design, labels, positive), ASSURANCE, axis=0)
        for metric, width in zip(METRICS, reached, strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.01, 0.1))
    return int(labels.sum())


def show(text: str, played: Values) -> None:
    """Print one row for each round, and the mean; ``played`` is (histories, rounds, numbers)."""
    for place in range(1, played.shape[1]):
        _line(f"{text if place == 1 else '':<7}{place + 1:5}", played[:, place : place + 1])
    _line(f"{'':<7} mean", played[:, 1:])


def _line(text: str, played: Values) -> None:
    labels, widths = played[..., 0], played[..., 1:]
    missed = (widths > MARGIN).mean(axis=1)  # of each history
    share, error = missed.mean(axis=0), missed.std(axis=0) / math.sqrt(len(played))
    width = widths.mean(axis=(0, 1))
    print(
        f"{text}{labels.mean():8.0f} ({labels.std():4.0f})   {width[0]:.4f} {width[1]:.4f}"
        f"     {share[0]:8.3f} ({error[0]:.3f})  {share[1]:.3f} ({error[1]:.3f})",
        flush=True,
    )
