"""Texts are taken out of label files; keys, answers, names and the time of the file stay."""

import json
import os
import stat

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.labeling import label_files
from monitor.labeling.blanking import WITHOUT_NOTES, blank
from monitor.labeling.files import FilesLabeler, FilesSettings

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


@pytest.fixture
def labeler(tmp_path):
    labeler = FilesLabeler(FilesSettings(), tmp_path)
    labeler.send("r", list(TASKS.values()))
    return labeler


def fill(labeler, text, name="eve.csv"):
    path = labeler.filled / name
    path.write_bytes(text.encode())
    os.utime(path, ns=(1_000, 1_000))
    return path


def test_a_spreadsheet_with_semicolons_keeps_its_shape_and_the_rows_of_others(tmp_path):
    path = tmp_path / "eve.csv"
    path.write_bytes(
        b"\xef\xbb\xbftext;task;label;note\n"
        b'"his; text";aa;1;sure\n'
        b"her text;zz;0;\n"
        b"his text;aa;1;sure;and more of it\n"
    )

    changed = blank(path, {"aa"})

    assert changed
    assert path.read_text().splitlines() == [
        "text;task;label;note",
        ";aa;1;sure",
        "her text;zz;0;",
        ";aa;1;sure;",
    ]


def test_lines_of_json_keep_what_is_not_theirs(tmp_path):
    path = tmp_path / "eve.jsonl"
    mine = {"task": "aa", "shown": {"text": "his"}, "label": 1, "note": "he wrote", "by": "x"}
    path.write_text(f'{json.dumps(mine)}\nno json\n{{"task": "zz", "text": "her"}}\n[1]\n')

    changed = blank(path, {"aa"}, WITHOUT_NOTES)

    assert changed
    assert path.read_text() == (
        '{"task": "aa", "label": 1}\nno json\n{"task": "zz", "text": "her"}\n[1]\n'
    )


@pytest.mark.parametrize("name", ["eve.csv", "eve.jsonl", "notes.txt"])
def test_a_file_with_nothing_of_these_tasks_is_not_touched(tmp_path, name):
    path = tmp_path / name
    path.write_text("what,ever\n'\"\n")
    before = path.stat()

    changed = blank(path, {"aa"})

    assert not changed
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino


def test_closing_empties_filled_copies_too_and_their_answers_are_as_old_as_before(labeler):
    path = fill(labeler, "task,text,label\naa,text of aa,1\n")
    before = labeler.collect(TASKS, None)

    labeler.close("r")

    after = labeler.collect(TASKS, None)
    assert "text of" not in path.read_text()
    assert after.events == before.events
    assert [event.answer for event in after.events] == [Answer.POSITIVE]


def test_a_file_that_cannot_be_written_is_named(labeler, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("monitor.labeling.blanking.make_whole", refuse)

    with pytest.raises(LabelsRefused, match=r"r\.csv cannot be written: permission denied"):
        labeler.forget("r", ["aa"])


def test_what_strangers_wrote_is_not_for_everybody_on_the_machine(labeler):
    mode = stat.S_IMODE((labeler.folder / "r.csv").stat().st_mode)

    assert mode & 0o007 == 0


def test_a_file_whose_owner_opened_it_to_others_stays_open(labeler):
    path = labeler.folder / "r.csv"
    path.chmod(0o664)

    labeler.close("r")

    assert "text of" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_a_cell_as_long_as_a_file_may_be_is_emptied(tmp_path):
    path = tmp_path / "eve.csv"
    path.write_text(f"task,label,text\naa,1,{'x' * 200_000}\n")

    changed = blank(path, {"aa"})

    assert changed
    assert label_files.read_keys(path) == {"aa"}
    assert path.stat().st_size < 100
