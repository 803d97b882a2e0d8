"""The Spark job is run by a real spark-submit, and what starts it on Databricks fits its types."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config.load import load_config
from monitor.domain.errors import EXIT_INPUT
from monitor.plugins.spark.settings import SparkSettings
from tests.deploy.manifests import parsed
from tests.deploy.program import DEPLOY, ROOT, installed
from tests.servers import cannot_start
from tests.small_config import configure

BIN = Path(sys.executable).parent
JOB = DEPLOY / "spark" / "run_once.py"
BUNDLE = DEPLOY / "databricks" / "databricks.yml"
WITHOUT_PREDICTIONS = """\
  - name: other
    source:
      kind: duckdb
      path: other.csv
      columns: {id: id, time: at, score: score}
      threshold: 0.5
    schedule: {cron: "0 6 * * MON"}
    labeling: {kind: files}
"""

KEPT = """\
import json, sys
from databricks.bundles.jobs import Job
print(json.dumps(Job.from_dict(json.load(sys.stdin)).as_dict()))
"""


def spark_submit():
    """The program of pyspark, where there is Java for it."""
    program = BIN / "spark-submit"
    if not program.exists() or shutil.which("java") is None:
        cannot_start(
            "pyspark or Java is not installed (Debian: apt install openjdk-17-jre-headless)"
        )
    return str(program)


@pytest.mark.slow
def test_the_job_draws_a_round_and_fails_with_the_programs_exit_code(folder):
    configure(folder, more=WITHOUT_PREDICTIONS)
    command = [spark_submit(), "--master", "local[1]", "--conf", "spark.ui.enabled=false", str(JOB)]

    done = subprocess.run(
        [*command, "--config", str(folder / "config.yaml")],
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "mail: round 1 (due" in done.stdout, done.stderr
    assert done.returncode == EXIT_INPUT, done.stderr
    assert "other.csv" in done.stdout + done.stderr  # Spark puts both into one


def test_a_pass_that_fails_ends_the_process_and_no_other_does(tmp_path, monkeypatch, capsys):
    if importlib.util.find_spec("pyspark") is None:
        cannot_start("pyspark is not installed")
    spec: Any = importlib.util.spec_from_file_location("run_once_job", JOB)
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    monkeypatch.setattr(job.SparkSession.Builder, "getOrCreate", lambda _: None)
    monkeypatch.setattr(sys, "argv", sys.argv)

    job.run_once("--help")
    with pytest.raises(SystemExit) as ended:
        job.run_once("--config", str(tmp_path / "none.yaml"))

    assert "run-once" in capsys.readouterr().out
    assert ended.value.code == 78


def bundle():
    return yaml.safe_load(BUNDLE.read_text())


@pytest.fixture(scope="module")
def deploy_tools():
    """The Python of what knows the types of Databricks' bundles."""
    return installed(".deploy-tools", "python", "deploy-tools")


def kept(python, job):
    return subprocess.run(
        [python, "-c", KEPT], input=json.dumps(job), capture_output=True, text=True, check=False
    )


def test_databricks_types_keep_all_that_the_job_says_and_no_other_key(deploy_tools):
    [job] = bundle()["resources"]["jobs"].values()

    done = kept(deploy_tools, job)
    misspelt = kept(deploy_tools, {**job, "max_concurent_runs": 1})

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == job
    assert "Unexpected field 'max_concurent_runs'" in misspelt.stderr


def test_the_bundle_names_files_and_options_that_are_there():
    said = bundle()
    [job] = said["resources"]["jobs"].values()
    [task] = job["tasks"]
    python = task["spark_python_task"]
    option, config = python["parameters"]

    assert (BUNDLE.parent / python["python_file"]).resolve() == JOB
    assert parsed(["pr-monitor", "run-once", option, config]) == "run-once"
    assert config == "${workspace.file_path}/databricks/config.yaml"
    assert (BUNDLE.parent / "config.yaml").exists()
    assert (BUNDLE.parent / said["artifacts"]["program"]["path"]).resolve() == ROOT
    assert job["max_concurrent_runs"] == 1


def test_the_cluster_has_each_secret_that_the_config_names():
    [job] = bundle()["resources"]["jobs"].values()
    [cluster] = job["job_clusters"]

    named = set(re.findall(r"\$\{(\w+)\}", (BUNDLE.parent / "config.yaml").read_text()))

    assert set(cluster["new_cluster"]["spark_env_vars"]) == named
    assert all("{{secrets/" in one for one in cluster["new_cluster"]["spark_env_vars"].values())


def test_the_jobs_config_loads_as_it_stands():
    config = load_config(BUNDLE.parent / "config.yaml", {"DB_PASSWORD": "canary"})

    [monitor] = config.monitors
    source = monitor.source
    assert isinstance(source, SparkSettings)
    assert (source.table, source.master, source.remote) == ("main.scores.mails", None, None)
    assert monitor.labeling.own()["kind"] == "column"
