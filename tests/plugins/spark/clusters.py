"""Spark's servers on loopback: a standalone cluster, and one of Spark Connect."""

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
        log = self.folder / f"{name}.log"
        self._running[name] = started(log, program, *words, "--webui-port", "0")

    def _wait_for(self, name, text):
        wait_for(self.folder / f"{name}.log", text)


@contextmanager
def cluster(folder):
    running = Cluster(folder)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def connect_server(folder):
    """Run a Spark Connect server that reads with two threads; yields its address."""
    port, log = free_port(), folder / "connect.log"
    words = ["--master", "local[2]", "--conf", f"spark.connect.grpc.binding.port={port}"]
    for name in ("driver.host", "driver.bindAddress", "connect.grpc.binding.address"):
        words += ["--conf", f"spark.{name}=127.0.0.1"]
    words += ["--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.ui.enabled=false"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    server = started(log, "SparkSubmit", *words, "spark-internal", memory="700m")
    try:
        wait_for(log, "Spark Connect server started")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def started(log, program, *words, memory="256m"):
    """Start a program of Spark in a group of its own, which ends with what it starts."""
    with log.open("w") as stream:
        return subprocess.Popen(
            [CLASS, f"org.apache.spark.deploy.{program}", *words],
            stdout=stream,
            stderr=stream,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": memory},
            start_new_session=True,
        )


def wait_for(log, text):
    until = time.monotonic() + 180
    while text not in log.read_text():
        assert time.monotonic() < until, log.read_text()[-2000:]
        time.sleep(0.2)
