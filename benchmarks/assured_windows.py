"""How often rounds of a finite window keep the margins that their plan was made for.

As `assurance`, but for a window's own items, and for populations in which a line along the
score fits badly: `hidden` spreads a tenth of the misses evenly over all passed items, `beta` has
Beta laws, and in `bumps` the score is in order in part only. The method was chosen on the cases
marked `seen`. `said` is the plan's probability of the margin, `kept` the share of rounds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.stats import qmc

from benchmarks.cells import shift_to
from benchmarks.coverage_grid import NODES, class_probabilities, false_omission_rate
from benchmarks.fast_rounds import beta_quantiles, binomial_quantiles
from benchmarks.harness import Flags, Values, Whole
from benchmarks.label_cost import MARGIN, METRICS
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.cell_counts import counts_of_the_rest
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import recalibrated_prior
from monitor.stats.design.score_bands import band_of, cell_edges
from monitor.stats.design.two_waves import first_wave, second_wave
from monitor.stats.detection.alternatives import DECAY

CELLS = (20, 40)
MARGINS = dict.fromkeys(METRICS, MARGIN)
ROUNDS = 4
HIDDEN = 0.1
CASES = {  # law, precision, recall, flagged share, items, shift and slope of the scores, seen
    "normal": ("normal", 0.85, 0.75, 0.021, 60_000, 0.0, 1.0, True),
    "hidden": ("hidden", 0.85, 0.75, 0.021, 60_000, 0.0, 1.0, True),
    "beta": ("beta", 0.85, 0.75, 0.021, 60_000, 0.0, 1.0, True),
    "normal down": ("normal", 0.85, 0.75, 0.021, 60_000, -1.5, 1.0, False),
    "hidden up": ("hidden", 0.85, 0.75, 0.021, 60_000, 1.5, 1.0, False),
    "hidden common": ("hidden", 0.75, 0.65, 0.06, 40_000, 0.0, 1.0, False),
    "beta over-confident": ("beta", 0.9, 0.6, 0.03, 80_000, 0.0, 2.0, False),
    "bumps": ("bumps", 0.8, 0.7, 0.04, 50_000, 0.0, 1.0, False),
}
_POINTS = qmc.Sobol(4, scramble=True, rng=0).random(1024) + 2.0**-31
_INSIDE = (1e-9, 1 - 1e-9)


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of a window, flagged first: sizes, true rates and claims, shape ``(H,)``."""

    size: Whole
    rate: Values
    claim: Values
    is_flagged: Flags


def main(histories: int = 60, cases: tuple[str, ...] = tuple(CASES)) -> None:
    """Print one table for each case."""
    for case in cases:
        window = cells_of(case)
        print(f"\n{case}{', seen' if CASES[case][-1] else ''}")
        print("round  labels (sd)    half-widths    kept: P, R     said: P, R")
        played = np.array([history(window, seed) for seed in range(histories)])
        for number in range(ROUNDS):
            _line(f"{number + 1:5}", played[:, number])
        _line(" 2 on", played[:, 1:].reshape(-1, played.shape[-1]))


def cells_of(case: str) -> Cells:
    """Cut the window of a case into cells."""
    law, precision, recall, share, items, shift, slope, _ = CASES[case]
    parts = []
    classes = _probabilities(law, share / (1 - share), precision, recall)
    for true, part, count in zip(classes, (share, 1 - share), CELLS, strict=True):
        claim = special.expit(slope * special.logit(np.clip(true, *_INSIDE)) + shift)
        cell = band_of(claim, cell_edges(claim, count))
        size = np.bincount(cell)
        means = [np.bincount(cell, weights=each) / size for each in (true, claim)]
        parts.append((items * part * size / size.sum(), *means))
    size, rate, claim = (np.concatenate(each) for each in zip(*parts, strict=True))
    is_flagged = np.arange(len(size)) < len(parts[0][0])
    return Cells(np.maximum(np.rint(size), 1).astype(np.int64), rate, claim, is_flagged)


def _probabilities(law: str, k: float, precision: float, recall: float) -> tuple[Values, Values]:
    """Make the true probabilities of the flagged and of the passed items, in rising order."""
    omission = false_omission_rate(k, precision, recall)
    if law == "beta":
        middle = (np.arange(NODES) + 0.5) / NODES
        flagged = stats.beta.ppf(middle, 2 * precision, 2 * (1 - precision))
        return flagged, stats.beta.ppf(middle, 0.1, 0.1 * (1 - omission) / omission)
    if law == "hidden":
        seen = 1 / (1 + (1 / recall - 1) * (1 - HIDDEN))
        flagged, passed = class_probabilities(k, precision, seen)
        return flagged, passed + HIDDEN * omission * (1 - passed)
    flagged, passed = class_probabilities(k, precision, recall)
    return (_wound(flagged), _wound(passed)) if law == "bumps" else (flagged, passed)


def _wound(true: Values) -> Values:
    logit = special.logit(np.clip(true, *_INSIDE))
    bent = logit + 0.9 * np.sin(1.1 * logit)
    return np.sort(special.expit(shift_to(float(true.mean()), bent) + bent))


def history(window: Cells, seed: int) -> list[tuple[float, ...]]:
    """Labels, half-widths and the plan's probabilities of each round of one history."""
    rng, up = np.random.default_rng(seed), window.is_flagged
    known = PriorRates.of_scores(np.clip(window.claim, *_INSIDE), up)
    n, y = np.zeros((2, len(up)))
    found = []
    for number in range(ROUNDS):
        u, positive = rng.random(), rng.binomial(window.size, window.rate)
        plan = allocate(
            Prospect.of(window.size, up, known, uniform=u), margins=MARGINS, assurance=ASSURANCE
        )
        labeled = first_wave(plan.labels, u) if number == 0 else plan.labels
        seen = rng.hypergeometric(positive, window.size - positive, labeled)
        if number == 0:
            more = _second(window, plan.labels, labeled, seen, rng.random())
            rest = window.size - positive - (labeled - seen)
            seen = seen + rng.hypergeometric(positive - seen, rest, more)
            labeled = labeled + more
        said = [plan.assured[name] for name in METRICS]
        found.append((float(labeled.sum()), *half_widths(window, labeled, seen), *said))
        n, y = DECAY * n + labeled, DECAY * y + seen
        known = recalibrated_prior(window.size, up, n, y)
    return found


def _second(window: Cells, plan: Whole, first: Whole, found: Whole, u: float) -> Whole:
    place = special.logit(np.clip(window.claim, *_INSIDE))
    waves: dict[str, Any] = {"plan": plan, "first": first, "labeled": first}
    more = second_wave(window.size, window.is_flagged, place, **waves, positive=found, uniform=u)
    return np.asarray(np.minimum(more, window.size - first))


def half_widths(window: Cells, labeled: Whole, positive: Whole) -> list[float]:
    """Half-widths of the window's precision and recall in one round alone."""
    up, drawn = window.is_flagged, []
    for i, of in enumerate((up, ~up)):
        left = window.size[of] - labeled[of]
        worth = counts_of_the_rest(left, labeled[of], positive[of])
        alpha = 0.5 + worth.positive
        rates = beta_quantiles(alpha, 0.5 + worth.labeled - worth.positive, _POINTS[:, i])
        rest = binomial_quantiles(_POINTS[np.newaxis, :, 2 + i], int(left.sum()), rates)
        drawn.append(positive[of].sum() + rest[0])
    found, missed = drawn
    widths = [np.ptp(np.quantile(each, [0.025, 0.975])) / 2 for each in
              (found / window.size[up].sum(), found / (found + missed))]  # fmt: skip
    return [float(width) for width in widths]


def _line(text: str, played: Values) -> None:
    labels, widths, said = played[:, 0], played[:, 1:3], played[:, 3:].mean(axis=0)
    kept, mean = (widths <= MARGIN).mean(axis=0), widths.mean(axis=0)
    print(
        f"{text}{labels.mean():8.0f} ({labels.std():4.0f})   {mean[0]:.4f} {mean[1]:.4f}"
        f"   {kept[0]:.2f} {kept[1]:.2f}      {said[0]:.2f} {said[1]:.2f}"
    )
