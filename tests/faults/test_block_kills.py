"""A pass over a block of monitors that is killed anywhere draws the same in its next life, once."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from tests.cli.test_blocks_story import EACH, SCORES, TRUTHS
from tests.cli.workplace import Workplace
from tests.faults.sizes import sized
from tests.workers import worker

EVERY = sized(small=100, soak=12)
"""Of the points at which a pass over files is killed; those around a shared reading are all tried,
of a database no others: what comes after it is the same."""

# Each line is a pass in the folder of that number; it ends at the point of that number, counted
# from 1. One below 0 is a pass in the same folder that nothing happens to.
LIVES = """
import monitor.rounds.run, monitor.wiring
from monitor.cli import main
from monitor.cli.commands import runs
from monitor.domain import crashpoint
from monitor.tracking.connection import load_mlflow

load_mlflow()  # so that no fork does


def live(number):
    os.chdir(os.path.join(sys.argv[1], str(abs(number))))
    seen = []

    def hook(name):
        seen.append(name)
        with open("points.txt", "a") as file:
            print(name, file=file)
        if len(seen) == number:
            os._exit(9)

    crashpoint.hook = hook
    sys.argv = ["pr-monitor", "run-once"]
    os.dup2(2, 1)
    try:
        main()
    except SystemExit as ended:
        os._exit(ended.code or 0)


lives(live)
"""


SOURCES = {
    "files": "path: predictions.parquet",
    "database": 'kind: sql\n      url: "sqlite:///p.sqlite"\n      table: scored',
}


@pytest.fixture(scope="module", params=SOURCES)
def prepared(request, tmp_path_factory):
    """A folder with a store and nothing drawn yet, and what it reads."""
    # The lives are lived in processes of their own, today.
    place = Workplace(tmp_path_factory.mktemp("prepared"), now=datetime.now(UTC))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.folder)
        place.predictions(**SCORES, **TRUTHS)
        place.stored_predictions()
        labeling = "{kind: files, deadline: 1d}"
        text = EACH.format(topics="travel, finance", cron=place.cron, labeling=labeling)
        place.write("config.yaml", text.replace(SOURCES["files"], SOURCES[request.param], 1))
        place.run("db", "upgrade")
    return place.folder, request.param


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
    whole = tmp_path / "0"
    shutil.copytree(folder_before, whole)

    with worker(LIVES, tmp_path) as lives:
        lives.wait_for()
        lives.go()

        def lived(number):
            lives.go(number)
            return int(lives.said.readline())

        assert lived(0) == 0
        points = (whole / "points.txt").read_text().splitlines()
        around = [place for place, name in enumerate(points, 1) if "read_for" in name]
        expected = drawn(whole)
        assert len(around) == 2
        assert len(expected[0]) == 2 * 40

        others = range(1, len(points) + 1, EVERY) if kind == "files" else ()
        for last in sorted({*around, *others}):
            folder = tmp_path / str(last)
            shutil.copytree(folder_before, folder)
            assert lived(last) == 9
            let_claims_run_out(folder)

            lived(-last)

            assert drawn(folder) == expected, points[last - 1]
