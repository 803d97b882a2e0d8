"""A standalone cluster of Spark on loopback: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.servers import free_port

CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Cluster:
    """Runs the programs of a cluster in ``folder``, which keeps what they print."""

    def __init__(self, folder):
        self.folder, self.master = folder, f"spark://127.0.0.1:{free_port()}"
        self._running = {}
        host, port = self.master.removeprefix("spark://").split(":")
        self._run("master", "master.Master", "--host", host, "--port", port)
        self._wait_for("master", "I have been elected leader")

    def add_worker(self, name):
        self._run(
            name,
            *("worker.Worker", self.master, "--host", "127.0.0.1", "--cores", "1"),
            *("--memory", "700m", "--work-dir", str(self.folder / f"{name}.work")),
        )
        self._wait_for(name, "Successfully registered with master")

    def process(self, name):
        """Return the group of a program and what it started: of a worker, its executors."""
        return self._running[name].pid

    def kill(self, name):
        program = self._running.pop(name)
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()

    def close(self):
        for name in list(self._running):
            self.kill(name)

    def _run(self, name, program, *words):
        with (self.folder / f"{name}.log").open("w") as log:
            self._running[name] = subprocess.Popen(
                [CLASS, f"org.apache.spark.deploy.{program}", *words, "--webui-port", "0"],
                stdout=log,
                stderr=log,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"},
                start_new_session=True,
            )

    def _wait_for(self, name, text):
        until = time.monotonic() + 180
        while text not in (self.folder / f"{name}.log").read_text():
            assert time.monotonic() < until, (self.folder / f"{name}.log").read_text()[-2000:]
            time.sleep(0.2)


@contextmanager
def cluster(folder):
    running = Cluster(folder)
    try:
        yield running
    finally:
        running.close()
