"""A judge against people in samples drawn by a classifier: how often each interval holds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import monitor
from monitor.evaluation.judge import METRIC_OF
from monitor.stats.core.metrics import Matrix, metric

SEED = 5


@dataclass(frozen=True)
class Sample:
    """Strata that a classifier cuts, and the judge's rates in each."""

    size: list[int]
    labeled: list[int]
    prevalence: list[float]
    tpr: list[float]
    fpr: list[float]

    @property
    def shares(self) -> np.ndarray:
        """Shares of TP, FP, FN and TN in each stratum, (H, 4)."""
        p, t, f = (np.array(each) for each in (self.prevalence, self.tpr, self.fpr))
        return np.stack([p * t, (1 - p) * f, p * (1 - t), (1 - p) * (1 - f)], axis=1)


TWO = [1600, 48_400], [0.86, 0.022]
BANDS = [0.95, 0.83, 0.72, 0.6, *np.geomspace(0.2, 0.001, 8)]
SAMPLES = {
    "good judge, 500 + 500 labels": Sample(TWO[0], [500, 500], TWO[1], [0.95, 0.85], [0.2, 0.01]),
    "good judge, 300 + 1,200 labels": Sample(
        TWO[0], [300, 1200], TWO[1], [0.95, 0.85], [0.2, 0.01]
    ),
    "weak judge, 500 + 500 labels": Sample(TWO[0], [500, 500], TWO[1], [0.8, 0.6], [0.4, 0.03]),
    "12 score bands, 40 labels each": Sample(
        [400] * 4 + [6000] * 8,
        [40] * 12,
        BANDS,
        [0.3 + 0.65 * share**0.3 for share in BANDS],
        [0.003 + 0.3 * share for share in BANDS],
    ),
}


def drawn(rng: np.random.Generator, sample: Sample) -> pd.DataFrame:
    """Draw items of each stratum, with a verdict and a label."""
    parts = []
    for h, (n, shares) in enumerate(zip(sample.labeled, sample.shares, strict=True)):
        cells = rng.multinomial(n, shares)
        verdict, label = np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells)
        parts.append(pd.DataFrame({"stratum": h, "verdict": verdict, "label": label}))
    return pd.concat(parts, ignore_index=True)


def main(sets: int = 200) -> None:
    """Count how often intervals hold the truth of the population."""
    print(f"{sets} sets each{'':<14}metric     truth  covered  (se)    width")
    for called, sample in SAMPLES.items():
        total = sample.shares.T @ np.array(sample.size)
        truth = {name: float(metric(of)(Matrix(*total))) for name, of in METRIC_OF.items()}
        sizes = {str(h): size for h, size in enumerate(sample.size)}
        rng = np.random.default_rng(SEED)
        held, width = dict.fromkeys(METRIC_OF, 0), dict.fromkeys(METRIC_OF, 0.0)
        for _ in range(sets):
            found = monitor.evaluate_judge(drawn(rng, sample), strata="stratum", sizes=sizes)
            for name in METRIC_OF:
                _, low, high = found.ends(name) or (0.0, -1.0, -1.0)
                held[name] += low <= truth[name] <= high
                width[name] += (high - low) / sets
        print(called)
        for name, count in held.items():
            share = count / sets
            error = (share * (1 - share) / sets) ** 0.5
            numbers = f"{truth[name]:.3f}  {share:.3f}    ({error:.4f})  {width[name]:.3f}"
            print(f"{'':<24}{name:<11}{numbers}")
