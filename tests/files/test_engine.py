"""One DuckDB reads all files of a process, as if each reading had its own."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pytest

from monitor.files import engine
from monitor.files.relations import DataFiles
from tests.sources.prediction_files import TWO, WEEK, csv_source


@pytest.fixture
def started(monkeypatch):
    """How often DuckDB was started."""
    engine.forget()
    connect, calls = duckdb.connect, []

    def noted(*arguments, **options):
        calls.append(options)
        return connect(*arguments, **options)

    monkeypatch.setattr(duckdb, "connect", noted)
    yield calls
    engine.forget()


def test_all_readings_of_files_share_one_duckdb(tmp_path, started):
    source = csv_source(tmp_path, [("a", "2026-03-03T00:00:00Z", "0.9", "hello")])

    for _ in range(3):
        source.scan(WEEK, TWO, 5, "s")
        source.show(["a"], WEEK)
    source.count(WEEK)

    assert len(started) == 1


def test_a_session_leaves_no_setting_and_no_table_to_the_next():
    with engine.session(alone=False) as first:
        first.execute("set TimeZone = 'Asia/Tokyo'")
        first.execute("create temp table t as select 1")

        with engine.session(alone=False) as second:
            zone = second.execute("select current_setting('TimeZone')").fetchall()
            tables = second.execute("show tables").fetchall()

    assert (zone, tables) == ([("UTC",)], [])


def test_a_duckdb_that_broke_is_replaced(started):
    broken = duckdb.FatalException("database has been invalidated")

    with pytest.raises(duckdb.FatalException), engine.session(alone=False):
        raise broken

    with engine.session(alone=False) as connection:
        assert connection.execute("select 42").fetchall() == [(42,)]

    assert len(started) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_process_starts_its_own():
    text = (
        "import os\nfrom monitor.files.engine import session\n"
        "def count():\n"
        "    with session(alone=False) as c:\n"
        "        return c.execute('select count(*) from range(3000000)').fetchall()[0][0]\n"
        "count()\npid = os.fork()\n"
        "if pid == 0:\n    os._exit(0 if count() == 3000000 else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )

    done = subprocess.run([sys.executable, "-c", text], timeout=60, check=False)

    assert done.returncode == 0


SPILLING = """
import os, sys
from pathlib import Path
from monitor.files import engine
from monitor.files.relations import DataFiles
with engine.session(alone=False) as session:
    session.execute("select 1")
    folder = Path(engine.spill_folder(os.getpid()))
    (folder / "spilled").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_killed_process_goes_with_the_next_one_and_nothing_else_does(
    tmp_path, monkeypatch
):
    place = tmp_path / "tmp"
    place.mkdir()
    kept = [place / "pr-monitor-12-new", place / "pr-monitor-x-y", tmp_path / "pr-monitor-3-of"]
    for folder in kept:
        folder.mkdir()
    (place / "pr-monitor-3-link").symlink_to(tmp_path / "pr-monitor-3-of")
    (place / "pr-monitor-3-file").touch()
    environment = {**os.environ, "TMPDIR": str(place)}
    run = [sys.executable, "-c", SPILLING]
    processes = [
        subprocess.Popen(
            run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(2)
    ]
    outputs = [process.stdout for process in processes if process.stdout is not None]
    living, killed = (Path(output.readline().strip()) for output in outputs)
    processes[1].kill()
    processes[1].communicate()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    hour_ago = time.time() - 3600
    for folder in (living, killed, kept[1], kept[2]):
        os.utime(folder, (hour_ago, hour_ago))

    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: -1)
        engine._remove_abandoned()
    is_left_by_others = killed.exists()
    engine._remove_abandoned()

    assert is_left_by_others
    assert not killed.exists()
    assert (living / "spilled").exists()
    assert {*place.iterdir()} == {
        living, kept[0], kept[1], place / "pr-monitor-3-link", place / "pr-monitor-3-file",
    }  # fmt: skip
    assert kept[2].exists()
    _, error = processes[0].communicate()
    assert not living.exists(), error


def test_a_pattern_matches_in_a_folder_whose_name_has_brackets(tmp_path):
    folder = tmp_path / "week [1]*"
    folder.mkdir()
    (folder / "p1.csv").write_text("id\n")

    assert DataFiles(("p*.csv",), folder).found() == [str(folder / "p1.csv")]
