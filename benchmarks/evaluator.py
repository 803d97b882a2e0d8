"""A labeled set beside its truth: MLflow's own evaluator, ours, and how often ours holds it.

The classifier is that of Table 1 of Shang et al. (AISTATS 2023).
"""

import logging
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import monitor

Draw = Callable[[np.random.Generator], tuple[pd.DataFrame, dict[str, Any]]]


TP, FP, FN, TN = 138, 22, 108, 4732
TRUTH = {"precision": TP / (TP + FP), "recall": TP / (TP + FN)}
FLAGGED_RATE = (TP + FP) / (TP + FP + FN + TN)
PREVALENCE = (TP + FN) / (TP + FP + FN + TN)
SIZES = {"flagged": 160_000, "passed": 4_840_000}
SEED = 0


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


def ends_of(draw: Draw, sets: int, seed: int = SEED) -> dict[str, np.ndarray]:
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
    print(f"\n{sets} sets each          metric     covered  (se)    truth below / above  width")
    for name, draw in WAYS.items():
        print(name)
        for metric, ends in ends_of(draw, sets).items():
            (low, high), truth = ends.T, TRUTH[metric]
            below, above = float(np.mean(truth < low)), float(np.mean(truth > high))
            share = 1 - below - above
            print(
                f"{'':<25}{metric:<11}{share:.3f}  ({math.sqrt(share * (1 - share) / sets):.4f})  "
                f"{below:.3f} / {above:.3f}        {np.mean(high - low):.3f}"
            )


def main(sets: int = 500) -> None:
    """Show one set, then the coverage."""
    show_beside_mlflow()
    show_coverage(sets)
