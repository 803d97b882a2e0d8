"""How often a round's intervals miss the margin that its plan was made for, round after round.

    python -m benchmarks assurance [--histories 120]     (about 5 minutes)

Population: classifiers of Shang et al. 2023, Table 4, in the default bands, nothing changing; see
`benchmarks/label_cost.py` for the scores. Every round is planned for +-.05 on precision and
recall and has as many labels as that asks for: the first by the scores, each one after it by the
rates pooled from all rounds before. The half-width is half of the 95 % interval of the round alone;
a margin is missed where that is more than .05.

`expected` plans by the expected half-width, `assured` for the margin with probability .8; `by size`
is the share of the passed labels that is spread by size. `needed` are the labels with which a plan
by the true rates keeps each margin in .8 of the rounds. Standard errors of shares in brackets.
"""

import math

import numpy as np

from benchmarks.fast_rounds import Design as SimulatedDesign
from benchmarks.fast_rounds import FastRounds
from benchmarks.harness import Values, Whole
from benchmarks.label_cost import DEFAULT, METRICS, Design, population
from monitor.stats.core.draws import JointPosterior
from monitor.stats.design.allocation import allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.share_by_size import SHARE_BY_SIZE
from monitor.stats.history.change_point import pool

Round = tuple[Whole, Whole]


MARGIN = 0.05
CASES = ("Phi1 good", "Phi1 weak", "Phi3 good")
ROUNDS = 6
POINTS = 2**10
VARIANTS = {
    "expected, by size 0": (None, 0.0),
    f"expected, by size {SHARE_BY_SIZE:g}": (None, SHARE_BY_SIZE),
    f"assured, by size {SHARE_BY_SIZE:g}": (ASSURANCE, SHARE_BY_SIZE),
}


def main(histories: int = 120, cases: tuple[str, ...] = tuple(CASES)) -> None:
    """Print one table for each case."""
    for case in cases:
        design, mean = population(*case.split()).strata(DEFAULT)
        print(f"\n{case}, {histories} histories")
        print(f"{'':26}round  labels (sd)    half-widths     missed: precision     recall")
        for text, (assurance, share) in VARIANTS.items():
            played = [history(design, mean, assurance, share, seed) for seed in range(histories)]
            show(text, np.array(played))
            needed = needed_labels(design, share)
        print(f"needed by the true rates, assured, by size {SHARE_BY_SIZE:g}: {needed}")


def history(
    design: Design,
    mean: Values,
    assurance: float | None,
    share: float,
    seed: int,
) -> list[tuple[float, ...]]:
    """Play one history: labels and half-widths of each round."""
    rng, up = np.random.default_rng(seed), design.is_flagged
    known = PriorRates.of_scores(mean, up)
    rounds: list[Round] = []
    found = []
    for _ in range(ROUNDS):
        labels = allocate(
            design.size,
            up,
            known,
            margins=dict.fromkeys(METRICS, MARGIN),
            estimand="rate",
            share_by_size=share,
            assurance=assurance,
        ).labels
        positive = rng.binomial(labels, design.rate)
        rounds.append((positive, labels))
        known = PriorRates.of_posterior(pooled(design, rounds))
        found.append((float(labels.sum()), *half_widths(design, labels, positive[np.newaxis])[0]))
    return found


def pooled(design: Design, rounds: list[Round]) -> JointPosterior:
    """Pool what earlier rounds found."""
    return JointPosterior(
        *(
            pool([(positive[part], labeled[part]) for positive, labeled in rounds])
            for part in design.classes
        )
    )


def half_widths(design: Design, labels: Whole, positive: Whole) -> Values:
    """Half-widths of the interval of each round alone, shape ``(rounds, 2)``."""
    drawn = SimulatedDesign(design.size, labels, design.flagged, rate=design.rate)
    ends = FastRounds(drawn, positive, points=POINTS).ends(len(positive))
    return np.asarray((ends[:, 1] - ends[:, 0]).T / 2)


def needed_labels(design: Design, share: float) -> int:
    """Labels of a plan by the true rates that keeps both margins in ``ASSURANCE`` of the rounds."""
    margins = dict.fromkeys(METRICS, MARGIN)
    labels = np.zeros(0, dtype=np.int64)
    for _ in range(5):
        labels = allocate(
            design.size,
            design.is_flagged,
            PriorRates.of_rates(design.rate),
            margins=margins,
            estimand="rate",
            share_by_size=share,
        ).labels
        positive = np.random.default_rng(9).binomial(labels, design.rate, (400, len(labels)))
        reached = np.quantile(half_widths(design, labels, positive), ASSURANCE, axis=0)
        for metric, width in zip(METRICS, reached, strict=True):
            margins[metric] = float(np.clip(margins[metric] * MARGIN / width, 0.01, 0.1))
    return int(labels.sum())


def show(text: str, played: Values) -> None:
    """Print one row for each round; ``played`` is (histories, rounds, labels and half-widths)."""
    for place in range(1, played.shape[1]):
        labels, widths = played[:, place, 0], played[:, place, 1:]
        missed = (widths > MARGIN).mean(axis=0)
        errors = [math.sqrt(share * (1 - share) / len(played)) for share in missed]
        print(
            f"{text if place == 1 else '':<26}{place + 1:5}"
            f"{labels.mean():8.0f} ({labels.std():4.0f})"
            f"   {widths[:, 0].mean():.4f} {widths[:, 1].mean():.4f}"
            f"     {missed[0]:8.3f} ({errors[0]:.3f})  {missed[1]:.3f} ({errors[1]:.3f})",
            flush=True,
        )
