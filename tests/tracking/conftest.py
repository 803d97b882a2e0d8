"""A real MLflow server on loopback, and a proxy before it that loses answers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from monitor.tracking.connection import load_mlflow
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings

STARTS_WITHIN = 120  # seconds; making the tables takes most of it


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as response:  # noqa: S310
            return response.status == 200
    except OSError:
        return False


def cannot_start(reason):
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def mlflow_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow-server")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    environment = {
        **os.environ,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # two processes less
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not answers(url):
            if server.poll() is not None or time.monotonic() > deadline:
                cannot_start(f"mlflow server did not start: {(folder / 'log').read_text()[-500:]}")
            time.sleep(0.2)
        yield url
    finally:
        stop(server)


def stop(server):
    """End the server and the workers it started: all are in its own process group."""
    if server.poll() is None:
        os.killpg(server.pid, 15)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, 9)
            server.wait(10)


class FaultProxy:
    """Passes requests on; for paths that hold ``part``, does something wrong ``times`` times.

    ``lose`` closes the connection after the work is done, ``refuse`` answers 503 before it.
    """

    def __init__(self, target):
        self.target = target
        self.faults = []
        self.seen = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def fault(self, kind, part, times=1):
        self.faults += [(kind, part)] * times

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _take(self, path):
        for fault in self.faults:
            if fault[1] in path:
                self.faults.remove(fault)
                return fault[0]
        return None

    def _handler(self):
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def pass_on(self):
                proxy.seen.append(self.path)
                fault = proxy._take(self.path)
                body = self.rfile.read(int(self.headers.get("content-length", 0))) or None
                if fault == "refuse":
                    self.answer(503, b"{}")
                    return
                headers = {
                    k: v for k, v in self.headers.items() if k.lower() in ("content-type", "accept")
                }
                request = urllib.request.Request(  # noqa: S310
                    proxy.target + self.path, data=body, headers=headers, method=self.command
                )
                try:
                    with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310
                        status, content = response.status, response.read()
                except urllib.error.HTTPError as error:
                    with error:
                        status, content = error.code, error.read()
                if fault == "lose":
                    self.close_connection = True
                    return
                self.answer(status, content)

            def answer(self, status, content):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture
def proxy(mlflow_url):
    with FaultProxy(mlflow_url) as running:
        yield running


class Stub(ThreadingHTTPServer):
    """Answers every request after the health check with one status."""

    daemon_threads = True

    def __init__(self, status, body=b"{}", wait=0.0):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(wait)
                healthy = self.path == "/health"
                self.send_response(200 if healthy else status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

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


@pytest.fixture
def prefix(request):
    """An experiment prefix of the test's own."""
    return f"t{abs(hash(request.node.nodeid)) % 10**9}"


@pytest.fixture
def handler(mlflow_url, prefix):
    return handler_for(mlflow_url, prefix)


@pytest.fixture
def client(mlflow_url):
    load_mlflow()  # without its telemetry, before anything else imports it
    from mlflow import MlflowClient  # noqa: PLC0415

    return MlflowClient(mlflow_url)
