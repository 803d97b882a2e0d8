"""A real MLflow server on loopback that tests start, kill and start again."""

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.request
from importlib.metadata import version

from tests.servers import cannot_start, free_port

MLFLOW = tuple(int(part) for part in version("mlflow").split(".")[:2])
"""Of the library that is installed, and of servers but for those of another ``python``."""
HAS_REVIEWS = MLFLOW >= (3, 17)
SERVER_PYTHON = os.environ.get("MLFLOW_SERVER_PYTHON", sys.executable)
STARTS_WITHIN = 120  # seconds; making the tables takes most of it


class MlflowServer:
    """One worker on one port and one store: a SQLite file in ``folder``, and files beside it.

    ``prefix`` is its ``--static-prefix``; ``python`` that of another environment, with another
    version of MLflow. The variable MLFLOW_SERVER_PYTHON names one for all servers.
    """

    def __init__(self, folder, *, more=(), environment=None, prefix="", python=SERVER_PYTHON):
        self.folder = folder
        self.more = [*more, "--static-prefix", prefix] if prefix else more
        self.environment = environment or {}
        self.python = python
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}{prefix}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self):
        command = [self.python, "-m", "mlflow", "server", "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--workers", "1"]
        command += ["--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db"]
        command += ["--artifacts-destination", str(self.folder / "artifacts")]
        command += self.more
        environment = {
            **os.environ,
            **self.environment,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # two processes less
        }
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers(self.process)

    def _wait_until_it_answers(self, process):
        deadline = time.monotonic() + STARTS_WITHIN
        while not self.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                log = (self.folder / "log").read_text()[-500:]
                cannot_start(f"mlflow server did not start: {log}")
            time.sleep(0.1)

    def answers(self):
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as response:  # noqa: S310
                return response.status == 200
        except OSError:
            return False

    def stop(self):
        """End the server and the workers it started: all are in its own process group."""
        if self._ended(signal.SIGTERM, 10):
            return
        self.kill()

    def kill(self):
        """End it as a power cut does."""
        self._ended(signal.SIGKILL, 10)

    def _ended(self, number, seconds):
        if self.process is None or self.process.poll() is not None:
            return True
        os.killpg(self.process.pid, number)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


def accounts(folder, password):
    """Write what a server with accounts reads; a user may do nothing that nobody allowed.

    Returns its environment; it is started with ``--app-name basic-auth``.
    """
    (folder / "accounts.ini").write_text(
        "[mlflow]\ndefault_permission = NO_PERMISSIONS\n"
        f"database_uri = sqlite:///{folder}/accounts.db\n"
        f"admin_username = root\nadmin_password = {password}\n"
        "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
    )
    return {
        "MLFLOW_AUTH_CONFIG_PATH": str(folder / "accounts.ini"),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_urlsafe(32),
    }
