"""The evaluator's class, and what pytest leaves alone here."""

import warnings

import pytest

from monitor.tracking.connection import load_mlflow

collect_ignore = ["mlflow_story.py"]  # a program: it imports MLflow, with all of its warnings


@pytest.fixture(scope="session")
def evaluator():
    load_mlflow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own while it imports its models
        from monitor.plugins.evaluator.plugin import PrMonitorEvaluator  # noqa: PLC0415
    return PrMonitorEvaluator
