"""R8, label files: each row is taken or refused with its place, a file wholly or not at all."""

import os
import re
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import func, select, update

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Collected, LabelEvent, Refusal, Task
from monitor.labeling.cells import unescape
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.labeling.label_files import read_labels
from monitor.labeling.reading import read_lines
from monitor.rounds.labels import collect
from monitor.storage.labels import label_store
from monitor.storage.tables import label_events, tasks
from tests.cli.workplace import PEOPLE, Workplace
from tests.csv_files import read_rows
from tests.faults.odd_labels import KEYS, odd_files
from tests.faults.sizes import SOAK, sized
from tests.rounds.scene import Scene
from tests.rounds.scene import settings as round_settings
from tests.storage.rows import add_round, draw

FILES = sized(small=200, soak=10_000)
TASKS = {key: Task(key, f"item {key}", {"text": key}) for key in KEYS}
ALWAYS = settings(
    deadline=None,
    derandomize=not SOAK,  # the soak looks elsewhere each time
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def scene(database):
    """A round that waits for the labels of `KEYS`."""
    draw(database, add_round(database))
    with database.write() as connection:
        for place, key in enumerate(KEYS):
            item = update(tasks).where(tasks.c.item_id == f"flagged-{place}")
            connection.execute(item.values(key=key))
    return Scene(database, round_settings())


def stored(scene):
    with scene.database.read() as connection:
        return connection.execute(select(func.count()).select_from(label_events)).scalar()


def test_every_row_of_a_malformed_file_is_taken_or_refused_with_its_place(scene, tmp_path):
    taken: list[LabelEvent] = []
    refused: list[Refusal] = []
    unread: list[str] = []

    @settings(ALWAYS, max_examples=FILES // 2)  # on each of two databases
    @given(odd_files)
    def take_in(file):
        path, before = tmp_path / file[0], stored(scene)
        path.write_bytes(file[1])

        try:
            collected = read_labels(path, TASKS)
        except LabelsRefused as error:
            unread.append(str(error))
            assert path.name in unread[-1]
            assert "\n" not in unread[-1]
            return
        added = collect.store_together([(scene.context, collected)])

        assert stored(scene) - before == added <= len(collected.events)
        assert all(
            re.fullmatch(rf"{file[0]}( row \d+)?", refusal.where) for refusal in collected.refused
        )
        assert len(collected.events) + sum(refusal.rows for refusal in collected.refused) == len(
            answered(path)
        )
        assert collect.store_together([(scene.context, collected)]) == 0
        taken.extend(collected.events)
        refused.extend(collected.refused)

    take_in()

    assert min(len(taken), len(refused), len(unread)) > FILES // 50


def answered(path):
    """Rows that say something: those with a label, and those that are no rows."""
    lines = list(read_lines(path))
    label = [line.cells.get("label") for line in lines]
    blank = [each is None or not unescape(str(each).strip()).strip() for each in label]
    return [
        line for line, is_blank in zip(lines, blank, strict=True) if line.problem or not is_blank
    ]


def test_a_malformed_file_dropped_into_the_folder_holds_up_no_other(tmp_path):
    labeler = FilesLabeler(FilesSettings(), tmp_path)
    labeler.make_folder()
    (labeler.filled / "good.csv").write_text("task,label\naa,1\n")

    @settings(ALWAYS, max_examples=FILES // 5)
    @given(odd_files)
    def drop(file):
        (labeler.filled / file[0]).write_bytes(file[1])

        collected = labeler.collect(TASKS, None)

        said = {(event.task_key, event.annotator, event.answer) for event in collected.events}
        assert ("aa", "unnamed", Answer.POSITIVE) in said

    drop()


def test_what_is_no_file_is_refused_by_its_name_and_read_by_nobody(tmp_path):
    labeler = FilesLabeler(FilesSettings(), tmp_path)
    labeler.make_folder()
    (labeler.filled / "good.csv").write_text("task,label\naa,1\n")
    (labeler.filled / "folder.csv").mkdir()
    os.mkfifo(labeler.filled / "pipe.csv")
    (labeler.filled / "endless.csv").symlink_to("/dev/zero")
    (labeler.filled / "broken.csv").symlink_to("/nowhere")
    (labeler.filled / os.fsdecode(b"caf\xe9\n\x1b[2J.csv")).write_text("x\n")

    collected = labeler.collect(TASKS, None)

    assert [event.task_key for event in collected.events] == ["aa"]
    assert sorted(refusal.where for refusal in collected.refused) == [
        "broken.csv",
        "caf???[2J.csv",
        "endless.csv",
        "folder.csv",
        "pipe.csv",
    ]
    assert all(refusal.reason.isprintable() for refusal in collected.refused)


def test_a_file_for_two_monitors_is_stored_wholly_or_not_at_all(scene, monkeypatch):
    other = Scene(scene.database, round_settings(), name="other")
    several = [
        (each.context, Collected((LabelEvent("aa", "ada", Answer.POSITIVE),)))
        for each in (scene, other)
    ]
    add, calls = label_store.add_events, []

    def add_once(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return add(*arguments)

    monkeypatch.setattr(label_store, "add_events", add_once)
    with suppress(KeyboardInterrupt):
        collect.store_together(several)

    assert len(calls) == 2
    assert stored(scene) == 0


def test_an_import_of_a_malformed_file_ends_with_a_sentence_and_its_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = Workplace(tmp_path)
    place.predictions()
    place.config(PEOPLE)
    place.run("run-once")
    place.run("labels", "export", "--out", "todo.csv")
    real = [row["task"] for row in read_rows(place.folder / "todo.csv")]

    @settings(ALWAYS, max_examples=sized(small=40, soak=1000))
    @given(odd_files)
    def take_in(file):
        content = file[1]
        for key, known in zip(KEYS, real, strict=False):
            content = content.replace(key.encode(), known.encode())
        (place.folder / file[0]).write_bytes(content)

        ended = place.run("labels", "import", file[0])

        assert ended.code in {0, 65}
        assert len(ended.lines) > 0

    take_in()
