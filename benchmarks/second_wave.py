"""A second wave of labels inside a round: what it saves, and what it costs in coverage.

    PYTHONPATH=. python benchmarks/second_wave.py [--replicates 1000]     (about 3 minutes)

A round labels a first block, a share of its plan in the plan's proportions. What the block found
is added to what was known; then each stratum gets the labels that the margins of .05 still lack,
or none if they hold. The interval pools both blocks as if their sizes had been fixed. Beside it
one wave by the same first knowledge, both at a mean half-width of .05 on the wider metric.
`x2nd` is the labels of two waves over those of one, `stops` the share of rounds with no second
block. Coverage has a standard error of .007 with 1,000 replicates.

Population: the first and third classifier of Shang et al. 2023, Table 4, in the default bands;
see `benchmarks/label_cost.py` for the scores. `known` is worth 200 labels in each stratum and
right; `after a drop` it is worth as much but recall fell by ten points since; `scores` is a first
round. Last: the mean of the detector's factor e over both blocks, on rates exactly at a limit;
it must not exceed 1. A small design is enumerated whole.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special, stats

from benchmarks.known_rates import after_labels
from benchmarks.label_cost import DEFAULT, MARGIN, METRICS, Design, fitted, planner, population
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import round_posterior
from monitor.stats.design.allocation import PRIOR_PART, allocate
from monitor.stats.design.neyman import AllocationProblem, coefficients_of, optimum
from monitor.stats.design.prior import PriorRates
from monitor.stats.detection.e_detector import log_e_factor
from monitor.stats.detection.half_space import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

POINTS = 2000
KNOWN_WORTH = 200.0  # labels a stratum that earlier rounds are worth
CASES = ("known", "after a drop", "scores, good", "scores, weak", "scores, inverted")


@dataclass(frozen=True, eq=False)
class Case:
    """A design with its true rates, what is known before the round, and what of it is kept."""

    design: Design
    known: PriorRates
    kept: tuple[Values, Values]


def main() -> None:
    """Print one row for each classifier, case and share of the first block."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    print(f"{'':27}first   one   two  x2nd stops   half-widths   coverage")
    for name in ("Phi1", "Phi3"):
        for text in CASES:
            case = case_of(name, text)
            one = int(fitted(planner(case.design, case.known), case.design, replicates).sum())
            for share in (0.5, 0.8):
                row = waves(case, share, replicates)
                print(
                    f"{name} {text:<22}{share:5.1f}{one:6}{row[0]:6.0f}{row[0] / one:6.2f}"
                    f"{row[1]:6.2f}   {row[2]:.4f} {row[3]:.4f}   {row[4]:.3f} {row[5]:.3f}",
                    flush=True,
                )
    product, pooled = exact_mean_e()
    print(f"largest mean e, enumerated: product of the blocks {product:.4f}; pooled {pooled:.4f}")
    for text in ("known", "scores, good"):
        print(f"mean e, Phi1 {text}: {'; '.join(mean_e(case_of('Phi1', text), 5 * replicates))}")


def case_of(name: str, text: str) -> Case:
    """Make a case; see the module's text."""
    score = text.removeprefix("scores, ") if text.startswith("scores") else "good"
    design, mean = population(name, score).strata(DEFAULT)
    up = design.is_flagged
    if text.startswith("scores"):
        prior = 1 / (2 * np.where(up, up.sum(), (~up).sum()))
        return Case(design, PriorRates.of_scores(mean, up), (prior, prior))
    known = after_labels(KNOWN_WORTH * design.rate, np.full(len(up), KNOWN_WORTH), up)
    if text == "after a drop":
        design = dropped(design, 0.10)
    return Case(design, known, (known.alpha, known.beta))


def dropped(design: Design, by: float) -> Design:
    """Let recall fall: the missed positives grow by one factor."""
    recall = design.values[1]
    factor = (1 / (recall - by) - 1) / (1 / recall - 1)
    missed = np.minimum(design.rate * factor, 0.99)
    return replace(design, rate=np.where(design.is_flagged, design.rate, missed))


def waves(case: Case, share: float, replicates: int) -> tuple[float, ...]:
    """Move the margins until the mean half-width is .05, and tell that design."""
    margins = dict.fromkeys(METRICS, MARGIN)
    row: tuple[float, ...] = ()
    for some in (replicates // 8, replicates // 4, replicates):
        row = simulated(case, share, margins, some)
        for metric, width in zip(METRICS, row[2:4], strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.005, 0.12))
    return row


def simulated(
    case: Case, share: float, margins: Mapping[str, float], replicates: int
) -> tuple[float, ...]:
    """Labels, stops, mean half-widths and coverage of many rounds with two waves."""
    rng, design = np.random.default_rng(3), case.design
    plan = allocate(
        design.size, design.is_flagged, case.known, margins=margins, estimand="rate"
    ).labels
    first = np.maximum(1, np.round(share * plan)).astype(np.int64)
    rows = []
    for _ in range(replicates):
        positive = rng.binomial(first, design.rate)
        more = second_block(case, first, positive, margins)
        positive = positive + rng.binomial(more, design.rate)
        ends = interval(design, first + more, positive, rng)
        truth = np.array(design.values)
        covered = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
        widths = (ends[:, 1] - ends[:, 0]) / 2
        rows.append([(first + more).sum(), more.sum() == 0, *widths, *covered])
    return tuple(float(each) for each in np.mean(rows, axis=0))


def second_block(case: Case, first: Whole, positive: Whole, margins: Mapping[str, float]) -> Whole:
    """Labels that the margins still lack, by what was known and the first block."""
    design = case.design
    known = PriorRates(case.kept[0] + positive, case.kept[1] + first - positive, "rounds")
    coefficients, _ = coefficients_of(design.size, design.is_flagged, known)
    prior = np.where(design.is_flagged, *(part.mean() for part in _priors(design)))
    problem = AllocationProblem(
        size=design.size.astype(np.float64),
        is_flagged=design.is_flagged,
        low=first.astype(np.float64),
        coefficients=coefficients,
        doubt=PRIOR_PART * prior / known.label_variance,
        cost=np.ones(len(first)),
        z=float(special.ndtri(0.975)),
        in_window=False,
    )
    return np.ceil(optimum(problem, margins) - first - 1e-6).astype(np.int64)


def _priors(design: Design) -> tuple[Values, Values]:
    before = round_posterior(design.unlabeled())
    return before.flagged.alpha[:, 0], before.passed.alpha[:, 0]


def interval(design: Design, labeled: Whole, positive: Whole, rng: np.random.Generator) -> Values:
    """95 % intervals of precision and recall from random draws, shape ``(2, 2)``."""
    found = []
    for part, prior in zip(design.classes, _priors(design), strict=True):
        mind = prior[rng.integers(len(prior), size=POINTS)][:, np.newaxis]
        y, n = positive[part], labeled[part]
        found.append(rng.beta(mind + y, mind + n - y) @ design.size[part].astype(np.float64))
    tp, fn = found
    values = np.stack([tp / design.size[: design.flagged].sum(), tp / (tp + fn)])
    return np.asarray(np.quantile(values, [0.025, 0.975], axis=1).T)


def mean_e(case: Case, replicates: int) -> list[str]:
    """Mean e of two blocks on rates at a limit: as a product, and pooled as if one block."""
    rng, design, margins = np.random.default_rng(4), case.design, dict.fromkeys(METRICS, MARGIN)
    limit = Limit("recall", design.values[1], "at_least")
    plan = allocate(
        design.size, design.is_flagged, case.known, margins=margins, estimand="rate"
    ).labels
    first, rows = np.maximum(1, plan // 2), []
    for _ in range(replicates):
        found = rng.binomial(first, design.rate)
        more = second_block(case, first, found, margins)
        rest = rng.binomial(more, design.rate)
        blocks = [log_e(case, limit, first, found), log_e(case, limit, more, rest)]
        pooled = log_e(case, limit, first + more, found + rest)
        rows.append([np.exp(sum(blocks)).mean(), np.exp(pooled).mean()])
    both = np.array(rows)
    spread = both.std(axis=0) / np.sqrt(replicates)
    return [
        f"{text} {mean:.3f} +- {error:.3f}"
        for text, mean, error in zip(
            ("product of the blocks", "pooled"), both.mean(axis=0), spread, strict=True
        )
    ]


def exact_mean_e() -> tuple[float, float]:
    """Largest mean e by enumeration, over precisions from a limit of .8 up: product and pooled.

    One class of 200 flagged items; 10 labels, then 20 more if at most 2 of them are negative.
    """
    limit, guess = Limit("precision", 0.8, "at_least"), np.array([0.9, 0.02])
    size, up = np.array([200, 4000]), np.array([True, False])

    def e(labeled: int, found: int) -> Values:
        counts = Counts.of_arrays(
            size=size,
            labeled=np.array([labeled, 0]),
            positive=np.array([found, 0]),
            is_flagged=up,
        )
        return np.exp(log_e_factor(limit, counts, guess))

    means = np.zeros((2, 21))
    precisions = np.linspace(0.8, 0.99, 21)
    for first in range(11):
        more = 20 if first >= 8 else 0
        for second in range(more + 1):
            chance = stats.binom.pmf(first, 10, precisions) * stats.binom.pmf(
                second, more, precisions
            )
            product = float((e(10, first) * e(more, second)).mean())
            pooled = float(e(10 + more, first + second).mean())
            means += chance * np.array([[product], [pooled]])
    product_mean, pooled_mean = means.max(axis=1)
    return float(product_mean), float(pooled_mean)


def log_e(case: Case, limit: Limit, labeled: Whole, positive: Whole) -> Values:
    """Evidence of one block against a limit."""
    design = case.design
    counts = Counts.of_arrays(
        size=design.size, labeled=labeled, positive=positive, is_flagged=design.is_flagged
    )
    return log_e_factor(limit, counts, case.known.rate)


if __name__ == "__main__":
    main()
