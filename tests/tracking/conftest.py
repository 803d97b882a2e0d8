"""Handlers before a real MLflow server on loopback, and before stand-ins that refuse."""

import time

import pytest

from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.faults.proxy import FaultProxy
from tests.servers import LocalServer, QuietHandler


@pytest.fixture
def proxy(mlflow_url):
    with FaultProxy(mlflow_url) as running:
        yield running


class Stub(LocalServer):
    """Answers every request but the health check with one status, or as a function of its path."""

    def __init__(self, status, body=b"{}", wait=0.0):
        self.asked = asked = []

        class Handler(QuietHandler):
            def respond(self):
                time.sleep(wait)
                asked.append(self.path)
                code, text, *headers = status(self.path) if callable(status) else (status, body)
                self.answer(200 if self.path == "/health" else code, text, headers)

        super().__init__(Handler)
        self.url = self.root


def handler_for(url, prefix, *, timeout="60s", **settings):
    """Be patient by default: the tests may share their machine."""
    return MlflowHandler(
        MlflowSettings(tracking_uri=url, experiment_prefix=prefix, timeout=timeout, **settings)
    )


def the_run(client, name):
    """Return the only run of an experiment."""
    experiment = client.get_experiment_by_name(name)
    (run,) = client.search_runs([experiment.experiment_id])
    return client.get_run(run.info.run_id)


@pytest.fixture
def prefix(request):
    """An experiment prefix of the test's own."""
    return f"t{abs(hash(request.node.nodeid)) % 10**9}"


@pytest.fixture
def handler(mlflow_url, prefix):
    return handler_for(mlflow_url, prefix)


@pytest.fixture
def client(mlflow_url, monkeypatch):
    """A client that reads what was delivered; before MLflow 3.7 it finds files by the variable."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_url)
    load_mlflow()  # without its telemetry, before anything else imports it
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(mlflow_url)
