"""Handlers before a real MLflow server on loopback, and before stand-ins that refuse."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings
from tests.faults.proxy import FaultProxy


@pytest.fixture
def proxy(mlflow_url):
    with FaultProxy(mlflow_url) as running:
        yield running


class Stub(ThreadingHTTPServer):
    """Answers every request but the health check with one status, or as a function of its path."""

    daemon_threads = True

    def __init__(self, status, body=b"{}", wait=0.0):
        self.asked = asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(wait)
                asked.append(self.path)
                code, text, *headers = status(self.path) if callable(status) else (status, body)
                self.send_response(200 if self.path == "/health" else code)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        """Say nothing of clients that went away."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def handler_for(url, prefix, *, timeout="60s"):
    """Be patient by default: the tests may share their machine."""
    return MlflowHandler(
        MlflowSettings(tracking_uri=url, experiment_prefix=prefix, timeout=timeout)
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
