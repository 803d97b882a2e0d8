"""R14: label files that come in pieces, grow, are links: nobody is invented, no line is shown."""

from __future__ import annotations

import csv
import io
import os
import shutil
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from monitor.domain.errors import MonitorError
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from tests.faults.sizes import sized
from tests.rounds.scene import Scene, settings

if TYPE_CHECKING:
    from pathlib import Path

TASKS = 6
NAME = "ada lovelace"
SECRET = "root:x:0:0:canary"  # noqa: S105  as a line of a file that is none of ours
ROWS_CUT = sized(small=1, soak=TASKS)
AGO = {"first": 9.0, "then": 6.0}
"""Seconds since a piece was written: nobody is at it just now, but it is not old either."""


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """A store whose round waits for the labels of a few tasks."""
    folder = tmp_path_factory.mktemp("handed-out")
    with opened(folder, make=True) as scene:
        scene.week(1)
        scene.run()
        return folder, list(scene.source.rows), dict(scene.truth)


@pytest.fixture
def place(handed_out, tmp_path):
    """Make copies of that store."""
    folder, rows, truth = handed_out
    made: list[Path] = []

    @contextmanager
    def copy():
        mine = tmp_path / str(len(made))
        made.append(mine)
        shutil.copytree(folder, mine)
        with opened(mine) as scene:
            scene.source.rows, scene.truth = rows, truth
            yield scene, mine / "labels" / "filled" / "ada.csv"

    return copy


@contextmanager
def opened(folder, *, make=False):
    database = Database(f"sqlite:///{folder}/monitor.db")
    if make:
        schema.ready(database)
    scene = Scene(
        database, settings(sample=Sample(max_labels=TASKS, bands=Bands(flagged=1, passed=1)))
    )
    scene.labeler = cast("Any", FilesLabeler(FilesSettings(), folder))
    try:
        yield scene
    finally:
        database.close()


def filled(scene):
    """A file with every answer, as a spreadsheet writes it."""
    [path] = scene.labeler.folder.glob("*.csv")
    with path.open(newline="") as stream:
        tasks = [row["task"] for row in csv.DictReader(stream)]
    items = {row["key"]: row["item_id"] for row in scene.rows("select key, item_id from tasks")}
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["task", "label", "annotator"])
    writer.writerows([key, str(scene.truth[items[key]]), NAME] for key in tasks)
    return out.getvalue().encode()


def write(path, content, piece):
    path.write_bytes(content)
    at = time.time() - AGO[piece]
    os.utime(path, (at, at))


def passes(scene, count=2):
    """Let the program look; returns what it logged."""
    with capture_logs() as logged:
        for _ in range(count):
            try:
                scene.run()
            except MonitorError as error:
                logged.append({"error": str(error)})
    return str(logged)


def wrong(scene):
    """What the store has that nobody said, or has not that somebody said."""
    found = [
        f"{row['annotator']!r} is nobody"
        for row in scene.rows("select distinct annotator from label_events")
        if row["annotator"] != NAME
    ]
    with scene.database.read() as connection:
        labels = label_store.current_labels(connection, scene.round(1).id)
        asked = connection.execute(text("select item_id from tasks")).scalars().all()
    if labels != {item: scene.truth[item] for item in asked}:
        found.append(f"the labels are {labels}")
    closed = scene.round(1)
    if (closed.state, closed.partial) != ("closed", False):
        found.append(f"the round is {closed.state}, partial: {closed.partial}")
    return found


def test_a_file_written_in_two_pieces_gives_its_labels_wherever_it_was_cut(place, tell_figures):
    found, cuts = [], 0
    with place() as (scene, _):
        content = filled(scene)
    rows = content.splitlines(keepends=True)
    first = len(content) - sum(map(len, rows[-ROWS_CUT:]))

    for cut in range(first, len(content)):
        with place() as (scene, path):
            write(path, content[:cut], "first")
            passes(scene)
            write(path, content, "then")
            passes(scene)
            found += [f"cut after {content[:cut][-20:]!r}: {each}" for each in wrong(scene)]
        cuts += 1

    tell_figures("R14", what="label file in two pieces", size=f"{cuts} cuts", violations=len(found))
    assert found == []


def test_a_file_that_grows_byte_by_byte_gives_its_labels_once(place):
    with place() as (scene, path):
        content = filled(scene)
        step = sized(small=17, soak=1)

        for length in range(0, len(content), step):
            write(path, content[:length], "first")
            passes(scene, 1)
        write(path, content, "then")
        passes(scene)

        assert wrong(scene) == []
        assert scene.rows("select count(*) as n from label_events") == [{"n": TASKS}]


def test_a_file_replaced_by_the_whole_one_while_half_of_it_lies_there_counts(place):
    with place() as (scene, path):
        content = filled(scene)
        write(path, content[:-4], "first")
        passes(scene)

        whole = path.with_name(".whole")
        write(whole, content, "then")
        whole.replace(path)
        passes(scene)

        assert wrong(scene) == []


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_nothing_of_a_file_that_is_a_link_is_repeated_or_counted(place, tmp_path, link):
    elsewhere = tmp_path / "passwd"
    elsewhere.write_text(f"{SECRET}:/root\n{SECRET}\n")
    with place() as (scene, path):
        getattr(path.with_name("linked.csv"), link)(elsewhere)
        logged = passes(scene)

        assert SECRET not in logged
        assert scene.rows("select count(*) as n from label_events") == [{"n": 0}]
        assert "linked.csv" in logged
