"""How often a round's intervals miss the margin that its plan was made for, round after round.

Every round is planned for +-.05 on precision and recall. Over 20+40 score cells `line` draws widths
to come at the line's rates, `cells` at those that the plan goes by; `seen` marks the cases that the
method was chosen on. `needed` are the labels with which a plan by the true rates keeps each margin
in .8 of the rounds.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.cells import CellDesign, class_laws, cut, interval_ends
from benchmarks.harness import Values, Whole
from benchmarks.strata import MARGIN, METRICS, population
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.detection.alternatives import DECAY

SEEN = ("Phi1 good", "Phi3 good", "Phi3 weak")
UNSEEN = ("Phi2 good", "Phi1 overconfident", "Phi3 overconfident")
ROUNDS = 6
MARGINS = dict.fromkeys(METRICS, MARGIN)
METHODS = ("line", "cells")

Played = list[tuple[float, ...]]
"""Labels and half-widths of each round of a history."""


def main(histories: int = 80, cases: tuple[str, ...] = (*SEEN, *UNSEEN)) -> None:
    """Print one table for each case."""
    for case in cases:
        show_cells(case, histories)


def show_cells(case: str, histories: int) -> None:
    """Print the table of a case over score cells."""
    design = cut(population(*case.split()))
    rates = PriorRates.of_rates(np.clip(design.rate, 1e-9, 1 - 1e-9))
    needed = needed_labels(
        lambda margins: design.allocated(rates, margins=margins, uniform=0.5),
        design.rate,
        lambda labels, positive: half_widths(design, labels, positive),
    )
    print(f"\n{case}{', seen' if case in SEEN else ''}; needed by the true rates: {needed}")
    print("       round  labels (sd)    half-widths    missed: precision     recall")
    for method in METHODS:
        played = np.array([history(design, method, seed) for seed in range(histories)])
        show(method, played, 7)
        _line(f"{'':<7} mean", played[:, 1:])


def history(design: CellDesign, method: str, seed: int) -> Played:
    """Play one history over cells."""
    rng, up = np.random.default_rng(seed), design.is_flagged
    known = PriorRates.of_scores(design.claim, up)
    n, y = np.zeros((2, len(up)))
    found = []
    for _ in range(ROUNDS):
        how: dict[str, Any] = {"margins": MARGINS, "assurance": ASSURANCE}
        labeled = design.allocated(known, **how, uniform=rng.random())
        positive = rng.binomial(labeled, design.rate)
        found.append((float(labeled.sum()), *half_widths(design, labeled, positive[np.newaxis])[0]))
        n, y = DECAY * n + labeled, DECAY * y + positive
        known = recalibrated_prior(design.size, up, n, y)
        if method == "cells":
            known = replace(known, joint=None)
    return found


def half_widths(design: CellDesign, labeled: Whole, positive: Whole) -> Values:
    """Half-widths of the interval of each round alone, shape ``(rounds, 2)``."""
    laws = class_laws(design, np.broadcast_to(labeled, positive.shape), positive)
    ends = interval_ends(design, *laws, len(positive))
    return np.asarray((ends[:, 1] - ends[:, 0]).T / 2)


def needed_labels(
    plan: Callable[[dict[str, float]], Whole],
    rate: Values,
    widths: Callable[[Whole, Whole], Values],
) -> int:
    """Labels of a plan by the true rates that keeps both margins in ``ASSURANCE`` of the rounds."""
    margins, labels = dict(MARGINS), np.zeros(0, dtype=np.int64)
    for _ in range(5):
        labels = plan(margins)
        positive = np.random.default_rng(9).binomial(labels, rate, (400, len(labels)))
        reached = np.quantile(widths(labels, positive), ASSURANCE, axis=0)
        for metric, width in zip(METRICS, reached, strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.01, 0.1))
    return int(labels.sum())


def show(text: str, played: Values, width: int) -> None:
    """Print one row for each round; ``played`` is (histories, rounds, numbers)."""
    for place in range(1, played.shape[1]):
        title = text if place == 1 else ""
        _line(f"{title:<{width}}{place + 1:5}", played[:, place : place + 1])


def _line(text: str, played: Values) -> None:
    labels, widths = played[..., 0], played[..., 1:]
    missed = (widths > MARGIN).mean(axis=1)  # of each history
    share, error = missed.mean(axis=0), missed.std(axis=0) / math.sqrt(len(played))
    width = widths.mean(axis=(0, 1))
    print(
        f"{text}{labels.mean():8.0f} ({labels.std():4.0f})   {width[0]:.4f} {width[1]:.4f}"
        f"     {share[0]:8.3f} ({error[0]:.3f})  {share[1]:.3f} ({error[1]:.3f})"
    )
