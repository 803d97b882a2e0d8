"""R4 for labels through files: half-written, gone, unreadable, disk full, once or for a while."""

import errno
import os
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from unittest import mock

import duckdb
import pytest
from structlog.testing import capture_logs

from monitor.domain.errors import MonitorError
from monitor.labeling import folder_scan, label_files, reading
from monitor.labeling.column import ColumnSettings
from monitor.labeling.files import FilesLabeler, FilesSettings
from tests.csv_files import read_rows, write_rows
from tests.rounds.scene import MONDAY, Scene, settings
from tests.truth_files import labeler_of_files

TASKS = 20
DEADLINE = timedelta(days=5)
REFUSED = PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def store_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def scene(database, tmp_path):
    """A monitor whose tasks go to a folder, with a week of predictions."""
    scene = Scene(database, settings(labels=TASKS, deadline=DEADLINE))
    scene.labeler = cast("Any", FilesLabeler(FilesSettings(), tmp_path))
    scene.week(1)
    return scene


class Full(OSError):
    def __init__(self):
        super().__init__(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing(error, *, only):
    """A method that fails for some paths."""

    def make(original):
        def method(self, *arguments, **named):
            if not only(self):
                return original(self, *arguments, **named)
            raise error

        return method

    return make


def patched(owner, name, make):
    return mock.patch.object(owner, name, make(getattr(owner, name)))


def is_task_file(path):
    return "labels" in path.parts


def a_bit_is_written(stream, *_):
    stream.write("task,text,la")
    raise Full


def disk_full_while_written(_):
    return patched(label_files, "_write_csv", lambda _: a_bit_is_written)


@contextmanager
def rename_fails(_):
    full = failing(Full(), only=is_task_file)
    with patched(Path, "hardlink_to", full), patched(Path, "replace", full):
        yield


def nothing_can_be_made(_):
    return patched(Path, "mkdir", failing(REFUSED, only=is_task_file))


@contextmanager
def a_file_stands_in_its_place(folder):
    folder.write_text("not a folder")
    yield
    folder.unlink()


SENDING = [
    disk_full_while_written,
    rename_fails,
    nothing_can_be_made,
    a_file_stands_in_its_place,
]


def vanishes_before_it_is_read(_):
    gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return patched(reading, "open_file", failing(gone, only=is_filled))


def cannot_be_read(_):
    return patched(reading, "open_file", failing(REFUSED, only=is_filled))


def cannot_be_listed(_):
    stale = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
    return patched(Path, "iterdir", failing(stale, only=is_task_file))


@contextmanager
def is_not_mounted(folder):
    folder.rename(folder.with_name("elsewhere"))
    yield
    folder.with_name("elsewhere").rename(folder)


@contextmanager
def is_half_written(folder):
    """As a copy over the network is for a while: the last row ends in the middle of its key."""
    [path] = (folder / "filled").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    yield
    path.write_bytes(whole)


@contextmanager
def is_written_in_pieces(folder):
    """As by a slow copy: each look finds some more, now and then up to a line break."""
    [path] = (folder / "filled").iterdir()
    whole = path.read_bytes()
    path.write_bytes(b"")
    pieces = iter(range(0, len(whole), len(whole) // 7))

    def more():
        with path.open("ab") as stream:
            start = path.stat().st_size
            stream.write(whole[start : next(pieces, len(whole))])

    with patched(folder_scan, "pause", lambda _: more):
        yield
    path.write_bytes(whole)


def is_filled(path):
    return path.parent.name == "filled"


COLLECTING = [
    vanishes_before_it_is_read,
    cannot_be_read,
    cannot_be_listed,
    is_not_mounted,
    is_half_written,
    is_written_in_pieces,
]


def run(scene):
    """Run what is due; returns what stood in the way, as a person would read it."""
    with capture_logs():
        try:
            scene.run()
        except MonitorError as error:
            return str(error)
    return None


def fill(scene, folder):
    """Answer every task, as one person in one file."""
    [tasks] = folder.glob("*.csv")
    rows = read_rows(tasks)
    for row in rows:
        item = scene.rows("select item_id from tasks where key = :key", key=row["task"])[0]
        row |= {"label": scene.truth[item["item_id"]], "annotator": "ada"}
    write_rows(folder / "filled" / "ada.csv", rows)


@pytest.fixture
def folder(scene, tmp_path):
    """The folder of a round that is out, with an answer to every task."""
    run(scene)
    fill(scene, tmp_path / "labels")
    return tmp_path / "labels"


@pytest.mark.parametrize("fault", SENDING)
def test_tasks_stand_in_the_folder_once_whatever_kept_them_from_being_written(
    scene, tmp_path, fault
):
    folder = tmp_path / "labels"

    with fault(folder):
        said = [run(scene) for _ in range(2)]
        state = scene.round(1).state
        left = sorted(folder.rglob("*")) if folder.is_dir() else []
    after = run(scene)

    assert all("labeling.folder: " in each and " cannot be written: " in each for each in said)
    assert (state, [path.name for path in left if path.name != "filled"]) == ("labeling", [])
    assert after is None
    [path] = folder.glob("*.csv")
    assert len({row["task"] for row in read_rows(path)}) == TASKS


@pytest.mark.parametrize("fault", COLLECTING)
def test_no_label_is_lost_that_could_not_be_read_for_a_while(scene, folder, fault):

    with fault(folder):
        for _ in range(2):
            run(scene)
        state = scene.round(1).state
    after = run(scene)

    assert (state, after) == ("labeling", None)
    assert scene.round(1).state == "closed"
    assert scene.round(1).partial is False
    told = scene.rows("select distinct item_id, answer from label_events")
    assert len(told) == TASKS
    assert {row["item_id"]: row["answer"] for row in told}.items() <= scene.truth.items()


@pytest.mark.parametrize(
    ("waits", "states"),
    [
        (timedelta(minutes=14), ("labeling", "labeling", "closed")),
        (timedelta(minutes=15), ("labeling", "abandoned", "abandoned")),
    ],
)
def test_a_deadline_waits_a_little_for_a_file_that_is_not_whole(scene, folder, waits, states):
    [path] = (folder / "filled").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip())
    scene.now = MONDAY + DEADLINE

    run(scene)
    found = [scene.round(1).state]
    scene.now += waits
    run(scene)
    found.append(scene.round(1).state)
    path.write_bytes(whole)
    run(scene)

    assert (*found, scene.round(1).state) == states
    assert not (scene.round(1).state == "closed" and scene.round(1).partial)


@pytest.mark.parametrize("fault", [cannot_be_listed, is_not_mounted])
def test_a_round_is_not_closed_while_its_folder_cannot_be_looked_into(scene, folder, fault):
    scene.now = MONDAY + DEADLINE

    with fault(folder):
        said = run(scene)
        state = scene.round(1).state
    run(scene)

    assert said.startswith("labeling.folder: ")
    assert state == "labeling"
    assert scene.round(1).partial is False


def test_an_answer_keeps_its_time_when_its_file_goes_away_while_it_is_read(scene, folder):
    [path] = (folder / "filled").iterdir()
    os.utime(path, (scene.now.timestamp(), scene.now.timestamp()))

    def open_and_gone(original):
        def opened(path, **named):
            found = original(path, **named)
            if is_filled(path):
                path.unlink()
            return found

        return opened

    with patched(reading, "open_file", open_and_gone):
        run(scene)

    [told] = scene.rows("select distinct at from label_events")
    assert str(told["at"]).startswith(f"{scene.now:%Y-%m-%d %H:%M}")


def a_column(folder, scene, *, whole=True):
    """Write the truth of every item as a Parquet file, or the first half of that file."""
    path = folder / "truth.parquet"
    rows = [f"('{item}', {answer})" for item, answer in scene.truth.items()]
    duckdb.sql(f"copy (from (values {', '.join(rows)}) as t(id, truth)) to '{path}'")
    if not whole:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    return path


@pytest.mark.parametrize("fault", ["gone", "half-written"])
def test_truth_that_cannot_be_read_for_a_while_takes_no_label_back(scene, tmp_path, fault):
    path = a_column(tmp_path, scene)
    asked = {"kind": "column", "path": "truth.parquet", "id": "id", "value": "truth"}
    labeling = ColumnSettings.model_validate(asked | {"matures": "1s", "deadline": "5d"})
    scene.labeler = labeler_of_files(labeling, tmp_path, clock=lambda: scene.now)
    run(scene)
    told = scene.rows("select count(*) as n from label_events")

    path.unlink()
    if fault == "half-written":
        a_column(tmp_path, scene, whole=False)
    scene.now += timedelta(hours=1)
    said = run(scene)
    a_column(tmp_path, scene)
    scene.now += timedelta(hours=1)
    after = run(scene)

    assert "truth.parquet" in said
    assert after is None
    assert told == [{"n": TASKS}]
    assert scene.rows("select count(*) as n from label_events") == told
    assert scene.round(1).version == 1
