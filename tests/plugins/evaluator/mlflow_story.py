"""Evaluates in MLflow in every way and prints what came of it: a process of its own.

`mlflow.models.evaluate` changes settings, loggers and patches of the process that calls it.
"""

import json
import logging
import sys
import warnings
from typing import Any

import mlflow
import pandas as pd
from mlflow.data.pandas_dataset import from_pandas
from mlflow.exceptions import MlflowException
from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry
from mlflow.pyfunc.model import PythonModel

from monitor.plugins.evaluator.plugin import PrMonitorEvaluator
from tests.evaluation.sets import SIZES, drawn_by_class

FRAME = drawn_by_class()
GIVEN: dict[str, Any] = {
    "targets": "label",
    "model_type": "classifier",
    "evaluators": ["pr_monitor"],
}
SIZED = {"sizes": SIZES, "score": "score"}


class Tabular(PythonModel):
    """Gives classes and scores as a table, from the one feature that it knows."""

    def predict(self, model_input):  # type: ignore[override]
        """Refuse columns that are no features."""
        (feature,) = model_input.columns
        score = model_input[feature]
        return pd.DataFrame({"class": (score >= 0.5).astype(int), "score": score})


def probabilities(features):
    """Give the probabilities of both classes, refusing columns that are no features."""
    (feature,) = features.columns
    score = features[feature].to_numpy()
    return pd.DataFrame({0: 1 - score, 1: score}).to_numpy()


def main(url, artifacts):
    """Evaluate; what was logged is read back from the store by the tests."""
    mlflow.set_tracking_uri(url)
    mlflow.create_experiment("evaluations", artifacts)
    mlflow.set_experiment("evaluations")
    registry.register("pr_monitor", PrMonitorEvaluator)  # also where it is not installed
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    features = FRAME.rename(columns={"score": "feature"})
    told = {
        "static": evaluated(
            note="as somebody wrote",
            data=FRAME,
            predictions="predicted",
            evaluators=["default", "pr_monitor"],
            evaluator_config={"pr_monitor": SIZED},
        ),
        "data set": evaluated(
            data=from_pandas(FRAME, targets="label", predictions="predicted"),
            targets=None,
            evaluator_config={"pr_monitor": SIZED | {"metric_prefix": "later_"}},
        ),
        "function": evaluated(
            model=probabilities,
            data=features.assign(w=FRAME.predicted.map({1: 160.0, 0: 4840.0})).drop(
                columns="predicted"
            ),
            evaluator_config={"pr_monitor": {"weight": "w", "threshold": 0.5}},
        ),
        "logged model": evaluated(
            model=logged_model(),
            data=features.drop(columns="predicted"),
            predictions="class",
            evaluator_config={"pr_monitor": SIZED},
        ),
        "silent": evaluated(data=FRAME, predictions="predicted", evaluators=None),
        "asked by its config": evaluated(
            data=FRAME,
            predictions="predicted",
            evaluators=None,
            evaluator_config={"pr_monitor": {"random": True}},
        ),
        "refused": [refusal(**each) for each in wrong()],
    }
    print(json.dumps(told))  # noqa: T201


def logged_model():
    """Log a model and give its address."""
    with mlflow.start_run():
        logged = mlflow.pyfunc.log_model(
            name="model", python_model=Tabular(), pip_requirements=["mlflow"]
        )
    return logged.model_uri


def evaluated(note=None, **given):
    """Evaluate in a run of its own and say what came of it."""
    with mlflow.start_run(description=note) as run:
        result = mlflow.models.evaluate(**GIVEN | given)
    return {
        "run": run.info.run_id,
        "metrics": {name: float(value) for name, value in result.metrics.items()},
        "artifacts": {name: type(each).__name__ for name, each in result.artifacts.items()},
        "tables": {name: len(table) for name, table in result.tables.items()},
    }


def wrong():
    """What cannot be evaluated."""
    by_class = {"data": FRAME, "predictions": "predicted"}
    config = {"evaluator_config": {"pr_monitor": SIZED}}
    yield by_class | config | {"model_type": "regressor"}
    yield {"data": FRAME} | config
    yield {"data": FRAME.assign(label=FRAME.label * 2), "predictions": "predicted"} | config
    yield by_class | {"evaluator_config": {"pr_monitor": {"size": SIZES, "random": True}}}
    yield by_class | {"evaluator_config": {"pr_monitor": {"weight": "w"}}}
    yield {"model": lambda rows: rows[["score"]].to_numpy().repeat(3, axis=1), "data": FRAME} | {
        "evaluator_config": {"pr_monitor": {"random": True}}
    }
    yield by_class | {"evaluator_config": {"pr_monitor": SIZED | {"metric_prefix": "../val/"}}}
    yield {"model": classes_and_scores, "data": FRAME} | {
        "evaluator_config": {"pr_monitor": {"random": True, "threshold": 0.5}}
    }
    yield by_class | {"evaluator_config": {"pr_monitor": {}}}


def classes_and_scores(rows):
    """Give two columns that look like the probabilities of two classes and are none."""
    return pd.DataFrame({0: rows["score"] >= 0.5, 1: rows["score"]}).to_numpy(dtype=float)


def refusal(**given):
    """Say with which words it was refused."""
    try:
        mlflow.models.evaluate(**GIVEN | given)
    except MlflowException as error:
        run = mlflow.last_active_run()
        assert run is not None
        return f"{error} [{len(run.data.metrics)} metrics]"
    finally:
        mlflow.end_run()
    return "was not refused"


if __name__ == "__main__":
    main(*sys.argv[1:])
