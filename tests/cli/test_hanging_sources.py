"""A source that never answers holds up its own monitor, for a time, and no command for ever."""

import os
import shutil
import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest

from monitor.domain import time_limit
from monitor.domain.errors import SourceUnavailable
from monitor.domain.time_limit import within
from monitor.files.relations import DataFiles, opened
from tests.cli.workplace import CONFIG
from tests.sources.prediction_files import copy_to
from tests.workers import python


@pytest.fixture(params=["pipe.parquet", pytest.param("pipe.csv", marks=pytest.mark.soak)])
def hanging(request, place_today, mlflow_tables):
    """Two monitors, the first of which reads from a pipe that nobody writes to."""
    place = place_today
    shutil.copy(mlflow_tables, place.folder / "mlflow.db")
    os.mkfifo(place.folder / request.param)
    text = CONFIG.format(mlflow="sqlite:///mlflow.db", cron=place.cron, labeling="{kind: files}")
    first = text.replace("name: mail", "name: first").replace("predictions.parquet", request.param)
    first = first.replace("threshold: 0.5", "threshold: 0.5\n      timeout: 1s")
    second = text[text.index("  - name: mail") :]
    place.write("config.yaml", first + second)
    return place


@pytest.mark.slow
def test_a_pass_and_a_check_go_on_with_the_others_and_status_says_why(hanging):
    # A process of its own has to end by itself.
    ran = python("-m", "monitor", "run-once", cwd=hanging.folder, timeout=120)
    with answered_in_the_end(hanging):
        checked = hanging.run("check")
    first, mail = hanging.as_json("status")["monitors"]

    assert ran.returncode == 75, ran.stderr
    assert "mail: round 1" in ran.stdout
    assert "is labeling" in ran.stdout
    [problem] = first["problems"]
    assert "did not answer within 1 s: is its disk or network mount there" in problem
    assert mail["open_rounds"][0]["state"] == "labeling"
    assert "PROBLEM  source of first: " in checked.out
    assert "did not answer within 1 s" in checked.out
    assert "ok       source of mail: 200 predictions" in checked.out
    assert checked.code == 75


@contextmanager
def answered_in_the_end(place):
    """Let whoever reads from the pipe go on in the end, so that no thread of ours still waits."""
    yield
    for pipe in place.folder.glob("pipe.*"):
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
    for thread in threading.enumerate():
        if thread.name == "reading":
            thread.join(10)


def test_a_query_that_takes_too_long_is_stopped(tmp_path):
    copy_to(tmp_path / "p.parquet", "select 1 as id")

    def endless():
        with opened(DataFiles(("p.parquet",), tmp_path)) as table:
            return table.rows(
                "select sum(a.range * b.range) from range(1e7::int) a, range(1e7::int) b"
            )

    with pytest.raises(SourceUnavailable, match="p did not answer within 1 s"):
        within(timedelta(seconds=1), "p", endless)

    assert "reading" not in {thread.name for thread in threading.enumerate()}


def test_who_still_hangs_is_not_asked_again(monkeypatch):
    monkeypatch.setattr(time_limit, "_TO_STOP", 0)
    go_on = threading.Event()
    asked = []

    def hangs():
        asked.append(1)
        go_on.wait(60)

    with pytest.raises(SourceUnavailable, match=r"p did not answer within 0\.1 s"):
        within(timedelta(seconds=0.1), "p", hangs)
    with pytest.raises(SourceUnavailable, match="p still does not answer"):
        within(timedelta(seconds=60), "p", hangs)
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "reading":
            thread.join(10)

    assert asked == [1]
    assert within(timedelta(seconds=60), "p", lambda: "read") == "read"
