"""A pass over a block of monitors that is killed anywhere draws the same in its next life, once."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.cli.test_blocks_story import EACH, SCORES, TRUTHS
from tests.cli.workplace import Workplace
from tests.faults.sizes import sized

EVERY = sized(small=50, soak=12)
"""Of the points at which a pass over files is killed; those around a shared reading are all tried,
of a database no others: what comes after it is the same."""

PROGRAM = """
import os, sys
from monitor.domain import crashpoint

last, seen = int(sys.argv[1]), []

def hook(name):
    seen.append(name)
    with open("points.txt", "a") as file:
        print(name, file=file)
    if len(seen) == last:
        os._exit(9)

crashpoint.hook = hook
sys.argv = ["pr-monitor", "run-once"]
from monitor.cli import main
main()
"""


SOURCES = {
    "files": "path: predictions.parquet",
    "database": 'kind: sql\n      url: "sqlite:///p.sqlite"\n      table: scored',
}


@pytest.fixture(scope="module", params=SOURCES)
def prepared(request, tmp_path_factory):
    """A folder with a store and nothing drawn yet, and what it reads."""
    place = Workplace(tmp_path_factory.mktemp("prepared"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.folder)
        place.predictions(**SCORES, **TRUTHS)
        place.stored_predictions()
        labeling = "{kind: files, deadline: 1d}"
        text = EACH.format(topics="travel, finance", cron=place.cron, labeling=labeling)
        place.write("config.yaml", text.replace(SOURCES["files"], SOURCES[request.param], 1))
        place.run("db", "upgrade")
    return place.folder, request.param


def lived(folder, last=0):
    """Run a pass until a point; returns its exit code."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(last)], cwd=folder, capture_output=True, check=False
    ).returncode


def drawn(folder):
    with closing(sqlite3.connect(folder / "monitor.db")) as connection:
        items = connection.execute(
            "select monitors.name, rounds.number, rounds.state, items.id, count(*) from items "
            "join rounds on rounds.id = items.round_id "
            "join monitors on monitors.id = rounds.monitor_id group by 1, 2, 3, 4 order by 1, 2, 4"
        ).fetchall()
        tasks = connection.execute("select count(*) from tasks").fetchone()
    return items, tasks


def let_claims_run_out(folder):
    with closing(sqlite3.connect(folder / "monitor.db")) as connection:
        connection.execute("update rounds set claimed_until = '2000-01-01 00:00:00.000000'")
        connection.execute("update effects set claimed_until = '2000-01-01 00:00:00.000000'")
        connection.commit()


def test_a_pass_over_a_block_that_is_killed_draws_the_same_once(prepared, tmp_path):
    folder_before, kind = prepared
    whole = tmp_path / "whole"
    shutil.copytree(folder_before, whole)
    assert lived(whole) == 0
    points = (whole / "points.txt").read_text().splitlines()
    around = [place for place, name in enumerate(points, 1) if "read_for" in name]
    assert len(around) == 2
    expected = drawn(whole)
    assert len(expected[0]) == 2 * 40

    others = range(1, len(points) + 1, EVERY) if kind == "files" else ()
    for last in sorted({*around, *others}):
        folder = tmp_path / f"killed at {last}"
        shutil.copytree(folder_before, folder)
        assert lived(folder, last) == 9
        let_claims_run_out(folder)

        lived(folder)

        assert drawn(folder) == expected, points[last - 1]
