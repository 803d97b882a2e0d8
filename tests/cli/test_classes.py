"""A block of classes as a user has it: files, a config, `run-once`, `status` and `show`."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

from monitor.cli.app import app

CONFIG = """\
store: sqlite:///monitor.db
mlflow: {tracking_uri: "sqlite:///mlflow.db"}
monitors:
  - name: mail-{class}
    classes: {column: predicted, values: [travel, finance, news]}
    source:
      kind: duckdb
      path: predictions.csv
      columns: {id: id, time: at}
    schedule: {cron: "0 6 * * MON"}
    sample: {max_labels: 120}
    labeling: {kind: column, path: truth.csv, id: id, value: truth, matures: 0s}
"""


@pytest.fixture
def folder(tmp_path, store_tables, mlflow_tables):
    shutil.copy(store_tables, tmp_path / "monitor.db")
    shutil.copy(mlflow_tables, tmp_path / "mlflow.db")
    rng, newest = np.random.default_rng(2), datetime.now(UTC)
    values = np.array(["travel", "finance", "news"])
    truth = rng.choice(values, 3000)
    predicted = np.where(rng.random(3000) < 0.8, truth, rng.choice(values, 3000))
    with (tmp_path / "predictions.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "at", "predicted"])
        for item in range(3000):
            at = newest - timedelta(minutes=10 * item)
            writer.writerow([f"m{item}", at.isoformat(), predicted[item]])
    with (tmp_path / "truth.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "truth"])
        writer.writerows([f"m{item}", truth[item]] for item in range(3000))
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def run(folder, *arguments):
    result = CliRunner().invoke(app, [*arguments, "--config", str(folder / "config.yaml")])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_status_and_show_have_the_averages_of_a_block_of_classes(folder):
    before = run(folder, "status")
    run(folder, "run-once")

    status = run(folder, "status")
    [block] = json.loads(run(folder, "status", "--json"))["classes"]
    of_one = run(folder, "status", "--monitor", "mail-news")
    show = run(folder, "show", "1", "--monitor", "mail-news")
    page = json.loads(run(folder, "show", "1", "--monitor", "mail-news", "--json"))

    assert "mail, all 3 classes: nothing reported yet" in before
    assert "mail, all classes: round due" in status
    for name in ("macro precision", "macro recall", "micro precision", "micro recall"):
        assert name in status
        assert name in of_one
        assert name in show
    assert block["report"] == page["classes"]
    assert block["report"]["labels"] == 360
    assert block["report"]["items"] < 360  # the samples overlap
    assert block["waits_for"] == []
