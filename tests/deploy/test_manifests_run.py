"""What the manifests start is started: their commands, config and secrets, on PostgreSQL."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import create_engine, text

from tests.deploy import manifests
from tests.deploy.program import ROOT
from tests.servers import free_port
from tests.workers import eventually

BIN = Path(sys.executable).parent
SECONDS = 90


class Cluster:
    """Starts containers as processes of this machine: other hosts and ports, else as they stand."""

    def __init__(self, folder, store, mlflow):
        self.port = free_port()
        self.folder = folder
        where = urlsplit(store)
        for stands, is_here in {
            "postgres:5432/monitor": f"127.0.0.1:{where.port}{where.path}",
            "warehouse:5432/warehouse": f"127.0.0.1:{where.port}{where.path}",
            "http://mlflow:5000": mlflow,
            "0.0.0.0:8080": f"0.0.0.0:{self.port}",
            "max_labels: 1000": "max_labels: 20",
        }.items():
            assert stands in manifests.config_text()
            self._put(stands, is_here)

    def _put(self, stands, is_here):
        path = self.folder / "config.yaml"
        known = path.read_text() if path.exists() else manifests.config_text()
        path.write_text(known.replace(stands, is_here))

    def started(self, kind, name):
        one = manifests.container(kind, name)
        mounted = [word.replace("/etc/pr-monitor", str(self.folder)) for word in one["command"]]
        secrets = {each["name"]: "canary" for each in one["env"]}
        return subprocess.Popen(
            [str(BIN / mounted[0]), *mounted[1:]],
            env={"PATH": str(BIN), "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", **secrets},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, kind, name):
        with self.started(kind, name) as process:
            said, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, said
        return said

    @contextmanager
    def running(self, kind, name):
        with self.started(kind, name) as process:
            try:
                yield process
            finally:
                process.kill()

    def status(self, path):
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}{path}", trust_env=False).status_code
        except httpx.TransportError:
            return None

    def metrics(self):
        return httpx.get(f"http://127.0.0.1:{self.port}/metrics", trust_env=False).text


@pytest.fixture
def cluster(tmp_path, postgres_url, mlflow_url):
    """A PostgreSQL with two weeks of predictions, which the user `reader` may read."""
    engine = create_engine(postgres_url)
    with engine.begin() as connection:
        for statement in (
            "create table scored_mails "
            "(mail_id text, scored_at timestamptz, score float, subject text)",
            "insert into scored_mails select 'mail-' || i, now() - interval '15 days' "
            "+ i * interval '5 minutes', (i % 97) / 97.0, 'subject ' || i "
            "from generate_series(0, 4300) i",
            "create role reader login",
            "grant select on scored_mails to reader",
        ):
            connection.execute(text(statement))
    engine.dispose()
    return Cluster(tmp_path, postgres_url, mlflow_url)


def test_the_pods_upgrade_draw_a_round_answer_probes_and_end_when_told_to(cluster):
    serve = manifests.container("Deployment", "serve")
    probes = [serve[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness")]
    ready = serve["readinessProbe"]["httpGet"]["path"]

    with ThreadPoolExecutor() as at_once:  # the init containers of two pods
        both = [at_once.submit(cluster.run, "Deployment", "upgrade") for _ in range(2)]
        assert [one.result() is not None for one in both] == [True, True]
    with cluster.running("Deployment", "serve") as process:
        eventually(lambda: cluster.status(ready) == 200, SECONDS)
        assert [cluster.status(path) for path in probes] == [200, 200]
        drawn = 'pr_monitor_rounds{monitor="mail-travel",state="labeling"} 1'
        eventually(lambda: drawn in cluster.metrics(), SECONDS)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=SECONDS)
    after = cluster.run("CronJob", "upgrade") + cluster.run("CronJob", "run-once")

    assert process.returncode == 0, said
    assert "is labeling" in after
