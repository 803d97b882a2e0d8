"""Files that somebody writes while they are read: no row counts before it is whole."""

import json
import os
import time

import pytest

from monitor.domain.labels import Statement, current_answers
from monitor.domain.model import Answer, LabelKind, Task
from monitor.labeling import folder_scan
from monitor.labeling.files import FilesLabeler, FilesSettings

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}
NAMED = "task,label,annotator\n"
WHOLE = f"{NAMED}aa,1,ada lovelace\nbb,0,ada lovelace\n"
OF_ADA_LOVELACE = {("aa", "ada lovelace"): Answer.POSITIVE, ("bb", "ada lovelace"): Answer.NEGATIVE}


class Folder:
    """A folder of filled files, and what the store would have of them by now."""

    def __init__(self, base):
        self.labeler = FilesLabeler(FilesSettings(), base)
        self.labeler.make_folder()
        self.path = self.labeler.filled / "ada.csv"
        self.cursor = None
        self.said = []
        self.last = None

    def write(self, text, *, ago=0.0, name="ada.csv"):
        """Let a file hold this since so many seconds."""
        path = self.labeler.filled / name
        path.write_bytes(text.encode())
        at = time.time() - ago
        os.utime(path, (at, at))

    def look(self):
        """Collect as a new process does, and store what comes."""
        self.labeler = FilesLabeler(FilesSettings(), self.labeler.folder.parent)
        self.last = self.labeler.collect(TASKS, self.cursor)
        self.cursor = self.last.cursor
        self.said += self.last.events
        return self.answers()

    def answers(self):
        """What each person says now, by task and name."""
        said: dict[str, list[Statement]] = {}
        for event in self.said:
            statement = Statement(event.at, event.annotator, LabelKind(event.kind), event.answer)
            said.setdefault(event.task_key, []).append(statement)
        return {
            (key, name): answer
            for key, statements in said.items()
            for name, answer in current_answers(statements).items()
        }


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_name_that_is_half_written_makes_no_second_annotator(folder):
    seen = []

    for size in range(len(NAMED), len(WHOLE) + 1):
        folder.write(WHOLE[:size], ago=2)
        seen.append({name for _, name in folder.look()})

    assert folder.answers() == OF_ADA_LOVELACE
    assert set().union(*seen) == {"ada lovelace"}


def test_a_file_that_is_not_whole_is_told_of_and_no_row_of_it_is_taken(folder):
    folder.write(f"{NAMED}aa,1,ada\nbb,0,ad")

    answers = folder.look()

    assert answers == {}
    [sentence] = folder.last.waits
    assert sentence.startswith("ada.csv does not end with a line break, so it may be incomplete: ")
    assert "UTC if nobody writes to it until then" in sentence
    assert folder.labeler.collect(TASKS, folder.cursor).waits == folder.last.waits


def test_a_file_that_grows_during_the_look_is_left_for_the_next(folder, monkeypatch):
    folder.write(f"{NAMED}aa,1,ada\n")
    monkeypatch.setattr(folder_scan, "pause", lambda: folder.write(f"{NAMED}aa,1,ada\nbb,0,ada\n"))

    first = folder.look()
    waits = folder.last.waits
    monkeypatch.setattr(folder_scan, "pause", lambda: None)
    second = folder.look()

    assert first == {}
    assert waits == ("ada.csv is still being written; it is read once it stops changing",)
    assert set(second) == {("aa", "ada"), ("bb", "ada")}


@pytest.mark.parametrize("ago", [0, -3600])
def test_a_fresh_file_and_one_of_a_clock_ahead_are_taken_after_a_short_pause(folder, ago):
    folder.write(f"{NAMED}aa,1,ada\n", ago=ago)

    assert folder.look() == {("aa", "ada"): Answer.POSITIVE}


def test_a_last_row_without_a_line_break_counts_as_news_after_ten_minutes(folder, monkeypatch):
    folder.write(f"{NAMED}aa,1,ada\nbb,0,ada", ago=folder_scan.STILL - 60)
    before, state = folder.look(), folder.labeler.state()
    monkeypatch.setattr(folder_scan, "STILL", folder_scan.STILL - 120)

    assert before == {}
    assert folder.labeler.state() != state
    assert set(folder.look()) == {("aa", "ada"), ("bb", "ada")}


def test_a_last_row_that_lacks_a_field_is_refused_however_long_it_stood(folder):
    folder.write(f"{NAMED}aa,1,ada\nbb,0", ago=3600)

    answers = folder.look()

    assert answers == {("aa", "ada"): Answer.POSITIVE}
    assert [str(each) for each in folder.last.refused] == [
        "ada.csv row 3: has no cell for the column annotator: is the row whole? Save the file again"
    ]


def test_an_answer_under_half_a_name_is_taken_back_when_its_file_goes_on(folder):
    folder.write(f"{NAMED}aa,1,ada", ago=3600)
    half = folder.look()
    folder.write(WHOLE, ago=1800)

    answers = folder.look()

    assert half == {("aa", "ada"): Answer.POSITIVE}
    assert answers == OF_ADA_LOVELACE
    folder.write(f"{WHOLE}cc,1,ada lovelace\n", ago=900)
    assert set(folder.look()) == {(key, "ada lovelace") for key in TASKS}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("aa,1,ada", "aa,1,ada\nbb,0,ada\n"),  # another row
        ("aa,1,ada", "aa,1,ada lovelace\naa,1,ada\n"),  # the row went on, and ada answers too
        ("aa,1,ada", "bb,0,ida\naa,1,ada lovelace\n"),  # somebody edited the file
        ("aa,1,ada\n", "aa,0,ada lovelace\n"),  # it was whole
    ],
)
def test_an_answer_of_a_person_is_kept_whatever_comes_after_it(folder, before, after):
    folder.write(NAMED + before, ago=3600)
    folder.look()

    folder.write(NAMED + after, ago=1800)

    assert folder.look()["aa", "ada"] is Answer.POSITIVE


def test_a_json_object_is_whole_without_a_line_break_and_half_of_one_is_not(folder):
    row = json.dumps({"task": "aa", "label": 1, "annotator": "ada lovelace"})
    seen = []

    for size in range(1, len(row) + 1):
        folder.write(row[:size], name="ada.jsonl", ago=2)
        seen.append(folder.look())

    assert seen[-1] == {("aa", "ada lovelace"): Answer.POSITIVE}
    assert not any(seen[:-1])


def test_empty_cells_that_a_spreadsheet_left_out_at_the_end_of_rows_are_no_fault(folder):
    """Excel writes rows in blocks and drops the columns that are empty all through a block."""
    folder.write("task,text,label,annotator,note\naa,x,1,,\nbb,y,0\ncc,z\n", ago=2)

    answers = folder.look()

    assert answers == {("aa", "unnamed"): Answer.POSITIVE, ("bb", "unnamed"): Answer.NEGATIVE}
    assert folder.last.refused == ()
