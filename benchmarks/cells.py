"""Labels for +-.05 by score cells, beside random sampling and the least that any design needs.

`random` is a plain random sample by Wilson's interval at the expected counts; `two strata` are the
predicted classes, as in Shang et al. 2023. `bound` are the labels of Neyman's allocation item by
item, given the score. `known` plans by each cell's rate, `learned` after six rounds of its own.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.stats import qmc

from benchmarks.harness import Values, Whole
from benchmarks.strata import MARGIN, METRICS, SCALE, Population, Strata, population
from monitor.stats.core.levels import normal_quantile
from monitor.stats.design.cell_counts import cell_counts, cells_by_class
from monitor.stats.design.cell_sizes import expected_sizes, systematic_sizes
from monitor.stats.design.recalibration import recalibrated_rates
from monitor.stats.design.restratify import EffectiveCounts
from monitor.stats.detection.alternatives import DECAY

CELLS = (20, 40)
HISTORY = 6
Z = normal_quantile(0.95)
WIDTHS = 400  # replicates whose intervals' ends are worked out, not only whether they hold
MIDDLE = (np.arange(64) + 0.5) / 64
SHARES = (0.1, 0.25)
SCORES = ("good", "weak", "overconfident", "inverted")


@dataclass(frozen=True, eq=False)
class CellDesign(Strata):
    """Cells of a classifier with claims and expected labels, shape ``(H,)``.

    ``expected`` has one row per replicate where each has its own plan.
    """

    claim: Values
    expected: Values

    @property
    def classes(self) -> tuple[Values, Values]:
        """Items of the two classes."""
        up = self.is_flagged
        return self.size[up].sum(), self.size[~up].sum()

    @property
    def cell(self) -> Whole | None:
        """Score cell that verdicts cut each stratum from, where they cut cells."""
        return None

    def recalibrated(self, labeled: Values, positive: Values) -> Values:
        """Rates of the cells by labels of earlier rounds."""
        return recalibrated_rates(self.size, self.is_flagged, labeled, positive)

    def draw(self, replicates: int, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Labels and positives of rounds, shape ``(replicates, H)``."""
        labeled = systematic_sizes(self.expected, rng.random(replicates))
        return labeled, rng.binomial(labeled, self.rate)


@dataclass(frozen=True, eq=False)
class Found:
    """What many rounds of a design gave: one entry for precision and one for recall."""

    labels: float
    flagged: float
    half_width: Values
    below: Values
    above: Values
    bias: Values


def main(
    replicates: int = 4000,
    classifiers: tuple[str, ...] = ("Phi1", "Phi2", "Phi3"),
    scores: tuple[str, ...] = SCORES,
    shares: tuple[float, ...] = SHARES,
) -> None:
    """Print the tables."""
    print(f"{'':34}bound labels ratio flagged  half-widths   covered (truth below / above), bias")
    for name in classifiers:
        good = population(name, "good")
        print(f"{name} random{random_sampling(good):30,}")
        for share in shares:
            two, least = known(cut(good, (1, 1)), share, replicates), bound(good, share)
            say(f"{name} two strata {share:.2f}", two, least)
        for score in scores:
            for share in shares:
                whole = population(name, score)
                least, design = bound(whole, share), cut(whole)
                say(f"{name} {score} {share:.2f} known", known(design, share, replicates), least)
                found = learned(design, share, max(20, replicates // 4), labels=least)
                say(f"{name} {score} {share:.2f} learned", found, least)


def cut(whole: Population, cells: tuple[int, int] = CELLS) -> CellDesign:
    """Cut a population into cells."""
    is_flagged, size, rate, claim = whole.cut(edges, cells)
    return CellDesign(size.astype(np.float64) * SCALE, rate, is_flagged, claim, np.zeros(len(size)))


def planned(design: CellDesign, labels: int) -> CellDesign:
    """Plan by the true rates."""
    inside = np.clip(design.rate, 1e-9, 1 - 1e-9)
    mu = expected_sizes(design.size, design.is_flagged, inside, labels=labels, share=0.25)
    return replace(design, expected=mu)


def edges(score: Values, count: int) -> list[float]:
    """Inner edges at equal parts of the running sum of sqrt(p(1-p))."""
    ordered = np.sort(score)
    running = np.cumsum(np.sqrt(ordered * (1 - ordered)))
    at = np.searchsorted(running, running[-1] * np.arange(1, count) / count)
    return [float(edge) for edge in np.unique(ordered[at[at > 0]])]


def random_sampling(whole: Population) -> int:
    """Labels of a plain random sample for the margin of either metric."""
    up, found = whole.score >= whole.threshold, whole.rate.sum()
    share_flagged = float(whole.rate[up].sum())
    shares = [(share_flagged / up.sum(), up.mean()), (share_flagged / found, whole.rate.mean())]
    needed = 0.0
    for share, kept in shares:
        n = np.arange(50, 5000)
        spread = share * (1 - share) / n + Z**2 / (4 * n**2)
        width = Z * np.sqrt(spread) / (1 + Z**2 / n)
        needed = max(needed, float(n[np.argmax(width <= MARGIN)] / kept))
    return math.ceil(needed)


def bound(whole: Population, share: float) -> float:
    """Labels of Neyman's allocation item by item, by the delta method."""
    up = whole.score >= whole.threshold
    inside = np.clip(whole.rate, 1e-12, 1 - 1e-12)
    margins = dict.fromkeys(METRICS, MARGIN)
    every = np.ones(len(up))
    return float(
        expected_sizes(every * SCALE, up, inside, margins=margins, share=share, floor=0.0).sum()
    )


def known(design: CellDesign, share: float, replicates: int) -> Found:
    """Plan by the true rates; the labels at which the wider mean half-width is .05."""
    inside = np.clip(design.rate, 1e-9, 1 - 1e-9)

    def at(margins: dict[str, float]) -> CellDesign:
        plan = expected_sizes(design.size, design.is_flagged, inside, margins=margins, share=share)
        return replace(design, expected=plan)

    margins = dict.fromkeys(METRICS, MARGIN)
    for _ in range(3):
        widths = simulated(at(margins), max(20, replicates // 2), seed=1).half_width
        for metric, width in zip(METRICS, widths, strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.005, 0.12))
    return simulated(at(margins), replicates, seed=2)


def learned(design: CellDesign, share: float, replicates: int, *, labels: float) -> Found:
    """Plan by the rates of earlier rounds; each replicate has its own.

    ``labels`` is where the search for the margin begins.
    """
    for _ in range(3):
        planned = after_history(design, share, labels, max(20, replicates // 4), seed=1)
        widths = simulated(planned, len(planned.expected), seed=3).half_width
        labels *= (float(widths.max()) / MARGIN) ** 2
    planned = after_history(design, share, labels, replicates, seed=2)
    return simulated(planned, replicates, seed=4)


def after_history(
    design: CellDesign, share: float, labels: float, replicates: int, seed: int
) -> CellDesign:
    """Plan as after six rounds, of which the first goes by size within each class."""
    rng = np.random.default_rng(seed)
    up = design.is_flagged
    claimed = design.size * design.claim
    mean = np.where(up, *(claimed[of].sum() / design.size[of].sum() for of in (up, ~up)))
    planned = replace(design, expected=_plan(design, mean, share, labels))
    n, y = np.zeros((2, replicates, len(up)))
    for _ in range(HISTORY):
        labeled, positive = planned.draw(replicates, rng)
        n, y = DECAY * n + labeled, DECAY * y + positive
        rates = design.recalibrated(n, y)
        plans = [_plan(design, row, share, labels) for row in rates]
        planned = replace(design, expected=np.stack(plans))
    return planned


def _plan(design: CellDesign, rates: Values, share: float, labels: float) -> Values:
    return expected_sizes(design.size, design.is_flagged, rates, labels=labels, share=share)


def simulated(design: CellDesign, replicates: int, seed: int) -> Found:
    """Tails and bias over many rounds, and the half-widths of ``WIDTHS`` of them.

    Where no label of a class has one of the two answers, an interval reaches to a class without
    any (`monitor.stats.estimation.posterior`).
    """
    labeled, positive = design.draw(replicates, np.random.default_rng(seed))
    up = design.is_flagged
    laws = class_laws(design, labeled, positive)
    shares = [(a - 0.5) / (a + b - 1) for a, b in laws]
    tp, fn = (size * share for size, share in zip(design.classes, shares, strict=True))
    points = np.stack([shares[0], tp / np.maximum(tp + fn, 1e-300)])
    under = probability_under(design, *laws)
    found, every = (
        [each[:, members].sum(axis=1) for members in (up, ~up)] for each in (positive, labeled)
    )
    none, all_ = ([f == e for f, e in zip(found, end, strict=True)] for end in ([0, 0], every))
    low_is_open = np.stack([none[0], none[0] | all_[1]])
    high_is_open = np.stack([all_[0], all_[0] | none[1]])
    ends = interval_ends(design, *laws, WIDTHS)
    return Found(
        labels=float(labeled.sum(axis=1).mean()),
        flagged=float(labeled[:, up].sum(axis=1).mean()),
        half_width=(ends[:, 1] - ends[:, 0]).mean(axis=1) / 2,
        below=((under < 0.025) & ~low_is_open).mean(axis=1),
        above=((under > 0.975) & ~high_is_open).mean(axis=1),
        bias=points.mean(axis=1) - np.array(design.truth),
    )


def class_laws(
    design: CellDesign, labeled: Whole, positive: Whole
) -> tuple[tuple[Values, Values], tuple[Values, Values]]:
    """Beta laws of the rates of flagged and passed items, by answers of ``(replicates, H)``."""
    up = design.is_flagged
    flagged, passed = (
        cell_counts(design.size[of], labeled[:, of], positive[:, of], cell=of_class)
        for of, of_class in zip((up, ~up), cells_by_class(design.cell, up), strict=True)
    )
    return _law(flagged), _law(passed)


def _law(worth: EffectiveCounts) -> tuple[Values, Values]:
    return 0.5 + worth.positive[:, 0], 0.5 + (worth.labeled - worth.positive)[:, 0]


def probability_under(
    design: CellDesign, flagged: tuple[Values, Values], passed: tuple[Values, Values]
) -> Values:
    """Posterior probability below the true precision and recall, shape ``(2, replicates)``."""
    precision, recall = design.truth
    of_up, of_down = design.classes
    a, b = (each[:, np.newaxis] for each in flagged)
    tp = of_up * special.betaincinv(a, b, MIDDLE)
    missed = np.minimum(tp * (1 - recall) / recall / of_down, 1.0)
    under = special.betaincc(passed[0][:, np.newaxis], passed[1][:, np.newaxis], missed)
    return np.stack([special.betainc(*flagged, precision), under.mean(axis=1)])


def interval_ends(
    design: CellDesign, flagged: tuple[Values, Values], passed: tuple[Values, Values], rounds: int
) -> Values:
    """Find the first rounds' intervals, shape ``(2, 2, rounds)``: metric, then low and high."""
    points = qmc.Sobol(2, scramble=True, rng=3).random(1024) + 2.0**-31
    of_up, of_down = design.classes
    tp, fn = (
        size * special.betaincinv(a[:rounds, np.newaxis], b[:rounds, np.newaxis], points[:, i])
        for i, (size, (a, b)) in enumerate(zip((of_up, of_down), (flagged, passed), strict=True))
    )
    draws = np.stack([tp / of_up, tp / (tp + fn)])
    return np.moveaxis(np.quantile(draws, [0.025, 0.975], axis=2), 0, 1)


def say(text: str, found: Found, least: float) -> None:
    """Print one line."""
    ratio = found.labels / least
    covered = "  ".join(
        f"{1 - low - high:.3f} ({low:.3f}/{high:.3f}) {bias:+.4f}"
        for low, high, bias in zip(found.below, found.above, found.bias, strict=True)
    )
    width = " ".join(f"{each:.4f}" for each in found.half_width)
    labels = f"{least:6.0f}{found.labels:7.0f}{ratio:6.3f}{found.flagged:8.0f}"
    print(f"{text:<34}{labels}  {width}   {covered}")
