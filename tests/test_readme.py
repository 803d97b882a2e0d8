"""The README and the page about an own file are true: their commands run in their order."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from monitor.config.load import load_config
from tests.csv_files import read_rows, write_rows
from tests.pages import blocks, page
from tests.servers import free_port

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BIN = Path(sys.executable).parent


def commands(text):
    return [line for block in blocks(text, "sh") for line in block.splitlines()]


# Run for real by .ci/run: all tests, and a whole demo in the environment that is activated.
RUN_BY_THE_GATE = {"make demo": "make demo", "make test": "make test"}
SHELL_ONLY = ("git clone URL mlflow-pr-monitor && cd mlflow-pr-monitor", ". .venv/bin/activate")


def test_the_readmes_config_loads(tmp_path):
    config = tmp_path / "config.yaml"
    [whole] = blocks(README, "yaml")
    config.write_text(whole)

    [monitor] = load_config(config).monitors

    assert monitor.name == "mail-travel"
    assert len(whole.splitlines()) <= 10


def test_every_file_the_readme_links_to_is_there_and_they_are_few():
    links = re.findall(r"(?<!!)\[[^]]*\]\((?!http)([^)#]+)\)", README)
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README)

    assert 0 < len(links) <= 10
    assert [link for link in (*links, *pictures) if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("command", RUN_BY_THE_GATE)
def test_the_gate_runs_the_commands_that_this_test_does_not(command):
    assert command in commands(README)
    assert RUN_BY_THE_GATE[command] in (ROOT / ".ci/run").read_text()


@pytest.fixture
def folder(tmp_path):
    """A user's folder: two weeks of predictions up to now, and an earlier demo's MLflow."""
    start = datetime.now(UTC) - timedelta(days=15)
    duckdb.sql(
        "copy (select 'mail-' || i as mail_id, "
        f"timestamptz '{start.isoformat()}' + interval 5 minute * i as scored_at, "
        "case when i % 20 = 0 then 0.5 + (i % 97) / 200.0 else (i % 89) / 200.0 end as score, "
        "'subject ' || i as subject from range(4300) t(i)) "
        f"to '{tmp_path}/predictions.parquet' (format parquet)"
    )
    (tmp_path / "demo").mkdir()
    return tmp_path


def run(command, folder):
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        command.split(), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def fill(path):
    """Answer as a person would: positive where the subject's number is a multiple of 25."""
    rows = read_rows(path)
    for row in rows:
        row["label"] = "1" if int(row["subject"].split()[1]) % 25 == 0 else "0"
    write_rows(path, rows)
    return len(rows)


@pytest.mark.server
def test_every_command_of_the_readme_runs_in_its_order(folder):
    printed = {
        command: run(command, folder)
        for command in commands(README)
        if command not in {*RUN_BY_THE_GATE, *SHELL_ONLY}
    }

    assert "wrote config.yaml" in printed["pr-monitor init predictions.parquet"]
    assert "PROBLEM" not in printed["pr-monitor check"]
    assert "is labeling" in printed["pr-monitor run-once"]
    assert "is labeling" in printed["pr-monitor status"]


@pytest.mark.slow
@pytest.mark.server
def test_every_command_of_the_page_about_an_own_file_runs_in_its_order(folder):
    printed: dict[str, list[str]] = {}
    labels = []
    for command in commands(page("own-file")):
        printed.setdefault(command, []).append(run(command, folder))
        if "labels export" in command:
            labels.append(fill(folder / command.split()[-1]))

    drawn, closed = printed["pr-monitor run-once"]
    assert "is labeling" in drawn
    assert "is closed" in closed
    assert f"{labels[0]} new answers" in printed["pr-monitor labels import todo.csv"][0]
    assert "precision" in printed["pr-monitor status"][0]


@pytest.mark.slow
@pytest.mark.server
def test_the_mlflow_command_of_the_first_tutorial_serves_pages(folder):
    [command] = [line for line in commands(page("tutorial")) if "mlflow ui" in line]
    port = free_port()
    words = f"{BIN}/{command}".replace("5000", str(port)).split()
    log = (folder / "log").open("w")
    server = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        assert _answers(f"http://127.0.0.1:{port}/health", within=120)
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=30)
        log.close()


def _answers(url, within):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2) as response:  # noqa: S310
                return response.status == 200
        except OSError:
            time.sleep(0.5)
    return False
