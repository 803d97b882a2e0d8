"""The evaluator's class."""

import warnings

import pytest

from monitor.tracking.connection import load_mlflow


@pytest.fixture(scope="session")
def evaluator():
    load_mlflow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own while it imports its models
        from monitor.plugins.evaluator.plugin import PrMonitorEvaluator  # noqa: PLC0415
    return PrMonitorEvaluator
