"""A labeled set beside its truth: MLflow's own evaluator, ours, and how often ours holds it.

The classifier is that of Table 1 of Shang et al. (AISTATS 2023). ``--judge``: a judge against
people in samples drawn by a classifier, and how often the intervals of `monitor.evaluate_judge`
hold the truth of the population.
"""

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import monitor
from benchmarks.harness import Values
from monitor.evaluation.judge import METRIC_OF
from monitor.stats.core import metrics

Draw = Callable[[np.random.Generator], tuple[pd.DataFrame, dict[str, Any]]]


TP, FP, FN, TN = 138, 22, 108, 4732
TRUTH = {"precision": TP / (TP + FP), "recall": TP / (TP + FN)}
FLAGGED_RATE = (TP + FP) / (TP + FP + FN + TN)
PREVALENCE = (TP + FN) / (TP + FP + FN + TN)
SIZES = {"flagged": 160_000, "passed": 4_840_000}
SEED = 0
HEAD = "{} sets each          metric     truth  covered  (se)    truth below / above  width"


def by_prediction(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw 1,000 flagged and 1,000 passed items, with the sizes of both classes."""
    return _of_classes(rng, 1000, 1000), {"sizes": SIZES}


def with_class_weights(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw the same, each row with how many items it stands for."""
    frame = _of_classes(rng, 1000, 1000)
    weight = np.where(frame["predicted"] == 1, 160.0, 4840.0)
    return frame, {"weight": weight}


def with_own_weights(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw items one by one: passed ones with chances that differ up to nine times."""
    pool = _of_classes(rng, 1600, 48_400)
    worth = np.where(pool["predicted"] == 1, 1.0, rng.uniform(0.02, 0.18, len(pool)))
    chance = worth * 0.7
    taken = rng.random(len(pool)) < chance
    return pool[taken], {"weight": 1 / chance[taken]}


def at_random(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw 5,000 items plainly at random."""
    share = np.array([TP, FP, FN, TN]) / (TP + FP + FN + TN)
    return _frame(*rng.multinomial(5000, share)), {"random": True, "flagged_rate": FLAGGED_RATE}


def by_truth(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Draw 700 positive and 1,300 negative items, with the prevalence of all."""
    tp = rng.binomial(700, TRUTH["recall"])
    fp = rng.binomial(1300, FP / (FP + TN))
    return _frame(tp, fp, 700 - tp, 1300 - fp), {"prevalence": PREVALENCE}


WAYS: dict[str, Draw] = {
    "1,000 + 1,000 by predicted class, sizes": by_prediction,
    "the same, weights": with_class_weights,
    "item by item, weights": with_own_weights,
    "5,000 at random": at_random,
    "700 + 1,300 by actual class, prevalence": by_truth,
}


def _of_classes(rng: np.random.Generator, flagged: int, passed: int) -> pd.DataFrame:
    predicted = np.repeat([1, 0], [flagged, passed])
    rate = np.where(predicted == 1, TRUTH["precision"], FN / (FN + TN))
    return pd.DataFrame(
        {"predicted": predicted, "label": (rng.random(len(rate)) < rate).astype(int)}
    )


def _frame(tp: int, fp: int, fn: int, tn: int) -> pd.DataFrame:
    cells = [tp, fp, fn, tn]
    return pd.DataFrame(
        {"predicted": np.repeat([1, 1, 0, 0], cells), "label": np.repeat([1, 0, 1, 0], cells)}
    )


def evaluated(frame: pd.DataFrame, **said: Any) -> Any:
    """Evaluate without the warning that a set of even halves gives where it is due."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return monitor.evaluate(frame, predicted="predicted", **said)


def show_beside_mlflow() -> None:
    """Let both evaluators see one set in one run of MLflow, and print what they say."""
    import mlflow  # noqa: PLC0415
    from mlflow.models.evaluation.evaluator_registry import (  # noqa: PLC0415
        _model_evaluation_registry as registry,
    )

    from monitor.plugins.evaluator.plugin import PrMonitorEvaluator  # noqa: PLC0415

    plugins: Any = registry
    plugins.register("pr_monitor", PrMonitorEvaluator)  # also where it is not installed
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    frame, said = by_prediction(np.random.default_rng(SEED))
    with TemporaryDirectory(prefix="evaluator-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlflow.set_tracking_uri(f"sqlite:///{Path(folder)}/mlflow.db")
        mlflow.create_experiment("evaluator", artifact_location=f"{folder}/artifacts")
        mlflow.set_experiment("evaluator")
        with mlflow.start_run():
            evaluate: Any = mlflow.models.evaluate
            result = evaluate(
                data=frame,
                targets="label",
                predictions="predicted",
                model_type="classifier",
                evaluators=["default", "pr_monitor"],
                evaluator_config={"pr_monitor": said},
            )
    print("one set of 1,000 flagged and 1,000 passed items in MLflow")
    print(f"{'':<11}{'truth':>7}{'default':>9}  pr_monitor")
    for metric, truth in TRUTH.items():
        point, low, high = (result.metrics[f"{metric}/{end}"] for end in ("point", "low", "high"))
        default = result.metrics[f"{metric}_score"]
        print(f"{metric:<11}{truth:>7.3f}{default:>9.3f}  {point:.3f} [{low:.3f}, {high:.3f}]")


def ends_of(draw: Draw, sets: int, seed: int = SEED) -> dict[str, Values]:
    """Draw sets; returns the ends of precision's and recall's intervals, shape ``(sets, 2)``."""
    rng = np.random.default_rng(seed)
    ends: dict[str, list[tuple[float, float]]] = {metric: [] for metric in TRUTH}
    for _ in range(sets):
        frame, said = draw(rng)
        found = evaluated(frame, **said)
        for metric, rows in ends.items():
            row = found.estimate(metric)
            rows.append((row["low"], row["high"]))
    return {metric: np.array(rows) for metric, rows in ends.items()}


def show_coverage(sets: int) -> None:
    """Print a line for each way of drawing and each metric."""
    print(f"\n{HEAD.format(sets)}")
    for name, draw in WAYS.items():
        print(name)
        for metric, ends in ends_of(draw, sets).items():
            print(_line(metric, TRUTH[metric], ends))


def _line(name: str, truth: float, ends: Values) -> str:
    low, high = ends.T
    below, above = float(np.mean(truth < low)), float(np.mean(truth > high))
    share = 1 - below - above
    error = math.sqrt(share * (1 - share) / len(ends))
    return (
        f"{'':<25}{name:<11}{truth:.3f}  {share:.3f}  ({error:.4f})  "
        f"{below:.3f} / {above:.3f}        {np.mean(high - low):.3f}"
    )


@dataclass(frozen=True)
class Sample:
    """Strata that a classifier cuts, and the judge's rates in each."""

    size: list[int]
    labeled: list[int]
    prevalence: list[float]
    tpr: list[float]
    fpr: list[float]

    @property
    def shares(self) -> Values:
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


def drawn_of(rng: np.random.Generator, sample: Sample) -> pd.DataFrame:
    """Draw items of each stratum, with a verdict and a label."""
    parts = []
    for h, (n, shares) in enumerate(zip(sample.labeled, sample.shares, strict=True)):
        cells = rng.multinomial(n, shares)
        verdict, label = np.repeat([1, 1, 0, 0], cells), np.repeat([1, 0, 1, 0], cells)
        parts.append(pd.DataFrame({"stratum": h, "verdict": verdict, "label": label}))
    return pd.concat(parts, ignore_index=True)


def show_judge(sets: int) -> None:
    """Print a line for each sample and each metric of the judge."""
    print(HEAD.format(sets))
    for name, sample in SAMPLES.items():
        total = sample.shares.T @ np.array(sample.size)
        sizes = {str(h): size for h, size in enumerate(sample.size)}
        rng, rows = np.random.default_rng(5), []
        for _ in range(sets):
            found = monitor.evaluate_judge(drawn_of(rng, sample), strata="stratum", sizes=sizes)
            rows.append([(found.ends(each) or (0.0, -1.0, -1.0))[1:] for each in METRIC_OF])
        print(name)
        for (each, of), ends in zip(METRIC_OF.items(), np.array(rows).swapaxes(0, 1), strict=True):
            print(_line(each, float(metrics.metric(of)(metrics.Matrix(*total))), ends))


def main(sets: int = 500, judge: bool = False) -> None:
    """Show one set, then the coverage; or the coverage of a judge's metrics."""
    if judge:
        show_judge(sets)
        return
    show_beside_mlflow()
    show_coverage(sets)
