"""Labels through files: what is written, what is taken back, and each refusal."""

import csv
import io
import json
import os
from datetime import UTC, datetime

import pytest

from monitor.domain.model import Answer, Task
from monitor.labeling import label_files, reading
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.testing import LabelerContract, MemoryLabeler

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


class TestMemory(LabelerContract):
    def labeler(self):
        return MemoryLabeler()

    def give(self, labeler, answers):
        labeler.answers = dict(answers)

    def seen_by_people(self, labeler, round_name):
        return "".join(str(task.shown) for task in labeler.sent.get(round_name, {}).values())


@pytest.fixture
def labeler(tmp_path):
    return FilesLabeler(FilesSettings(), tmp_path)


def drop(labeler, name, text, *, saved=1):
    labeler.filled.mkdir(parents=True, exist_ok=True)
    path = labeler.filled / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, ns=(saved, saved))


def rows_of(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def reasons(collected):
    return [str(refusal) for refusal in collected.refused]


def answers(collected):
    return {(event.task_key, event.annotator): event.answer for event in collected.events}


# Out


def test_the_task_file_has_empty_cells_to_fill_and_nothing_of_the_model(labeler):
    labeler.send("mail 1", list(TASKS.values()))

    rows = rows_of(labeler.folder / "mail-1.csv")
    assert rows[0] == ["task", "text", "label", "annotator", "note"]
    assert sorted(rows[1:]) == [[key, f"text of {key}", "", "", ""] for key in TASKS]


def test_a_file_that_people_have_filled_in_place_is_not_written_over(labeler):
    labeler.send("r", list(TASKS.values()))
    path = labeler.folder / "r.csv"
    path.write_text(path.read_text().replace("text of aa,", "text of aa,1"))
    filled = path.read_bytes()

    labeler.send("r", list(TASKS.values()))

    assert path.read_bytes() == filled


def test_tasks_added_later_go_to_a_file_of_their_own(labeler):
    first, second, third = TASKS.values()
    labeler.send("r", [first])
    labeler.send("r", [first, second])
    labeler.send("r", [first, second, third])
    labeler.send("r", [first, second, third])

    sent = {path.name: path.read_text().count("text of") for path in labeler.folder.glob("r*")}
    assert sent == {"r.csv": 1, "r.part2.csv": 1, "r.part3.csv": 1}


def test_a_lost_first_file_never_makes_a_later_one_be_written_over(labeler):
    first, second, third = TASKS.values()
    labeler.send("r", [first])
    labeler.send("r", [first, second])
    (labeler.folder / "r.csv").unlink()

    labeler.send("r", [first, second, third])

    assert label_files.read_keys(labeler.folder / "r.part2.csv") == {second.key}
    assert label_files.read_keys(labeler.folder / "r.csv") == {first.key, third.key}


# Back


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_a_spreadsheet_saves_is_read(labeler, start, separator):
    lines = ["task", "text", "label", "annotator"], ["aa", "hé, hé", "1", "Zoë"]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows(lines)
    drop(labeler, "r.csv", start + out.getvalue().encode())

    assert answers(labeler.collect(TASKS, None)) == {("aa", "Zoë"): Answer.POSITIVE}


A_LABEL = (
    "is not known; a label is 1 (positive), 0 (negative) or 'cannot tell', and empty until answered"
)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        *(
            (["bb,1", f"aa,{label}"], f"row 3: label {label!r} {A_LABEL}")
            for label in ("2", "01", "positive", "maybe", "cannot", "-")
        ),
        (["bb,1", "bb,1"], "row 3: repeats row 2: the same task, annotator and label"),
        (
            ["bb,1", "bb,0"],
            "row 3: contradicts row 2, which says '1' for the same task and annotator and counts",
        ),
        (["bb,1", "aa,hello, world,1"], "row 3: has 4 cells under 2 columns; quote cells with"),
        (
            ["zz,1", "bb,1"],
            "row 2: there is no task 'zz'; it is in no task file of labels/ either; copy the "
            "column task as it was exported",
        ),
    ],
)
def test_a_row_is_refused_with_its_place_and_the_reason_and_the_others_count(labeler, rows, reason):
    labeler.send("r", list(TASKS.values()))
    drop(labeler, "eve.csv", "\n".join(["task,label", *rows, ""]))

    found = labeler.collect(TASKS, None)

    [said] = reasons(found)
    assert said.startswith(f"eve.csv {reason}")
    assert answers(found) == {("bb", "unnamed"): Answer.POSITIVE}


def test_values_of_json_are_taken_and_what_is_no_row_is_refused(labeler):
    rows = [{"task": "aa", "label": True}, {"task": "bb", "label": 0}, {"task": "cc"}]
    drop(labeler, "eve.jsonl", "\n".join(json.dumps(row) for row in rows) + '\n{"task\n[]\n')

    found = labeler.collect(TASKS, None)

    assert answers(found) == {
        ("aa", "unnamed"): Answer.POSITIVE,
        ("bb", "unnamed"): Answer.NEGATIVE,
    }
    assert [text.split(":")[0] for text in reasons(found)] == [
        f"eve.jsonl row {number}" for number in (3, 4, 5)
    ]
    assert "is not an object with the keys task and label" in reasons(found)[0]
    assert "is not JSON" in reasons(found)[1]


def test_a_task_of_another_round_is_left_to_that_round_also_after_it_closed(labeler):
    one, other = {"aa": TASKS["aa"]}, {"bb": TASKS["bb"]}
    labeler.send("r1", list(one.values()))
    labeler.send("r2", list(other.values()))
    labeler.close("r2")
    drop(labeler, "eve.csv", "task,label\naa,1\nbb,0\n")

    found = labeler.collect(one, None)

    assert (answers(found), found.refused) == ({("aa", "unnamed"): Answer.POSITIVE}, ())
    assert answers(labeler.collect(other, None)) == {("bb", "unnamed"): Answer.NEGATIVE}


def test_times_of_labels_are_kept_and_naive_ones_refused(labeler):
    rows = "aa,1,2026-03-02T06:00:00+01:00\naa,0,2026-03-03T06:00:00Z\nbb,1,2026-03-02 06:00\n"
    rows += "cc,1,soon\n"
    drop(labeler, "eve.csv", f"task,label,labeled_at\n{rows}")

    found = labeler.collect(TASKS, None)

    assert [event.at for event in found.events] == [
        datetime(2026, 3, 2, 5, tzinfo=UTC),
        datetime(2026, 3, 3, 6, tzinfo=UTC),
    ]
    assert [text.split(": expected ISO 8601 with an offset")[0] for text in reasons(found)] == [
        "eve.csv row 4: labeled_at '2026-03-02 06:00'",
        "eve.csv row 5: labeled_at 'soon'",
    ]


def test_of_two_files_of_one_annotator_the_one_saved_last_counts(labeler):
    drop(labeler, "b.csv", "task,label,annotator\naa,1,eve\n", saved=1)
    drop(labeler, "a.csv", "task,label,annotator\naa,0,eve\n", saved=2)

    assert answers(labeler.collect(TASKS, None)) == {("aa", "eve"): Answer.NEGATIVE}


def test_nothing_is_read_again_until_a_file_or_the_tasks_change(labeler, monkeypatch):
    drop(labeler, "eve.csv", "task,label\naa,1\nbb,0\n")
    first = labeler.collect({"aa": TASKS["aa"], "bb": TASKS["bb"]}, None)

    same = labeler.collect({"aa": TASKS["aa"], "bb": TASKS["bb"]}, first.cursor)
    more = labeler.collect(TASKS, first.cursor)

    assert (same.events, same.cursor) == ((), first.cursor)
    assert len(more.events) == 2


BIG = reading.MOST_BYTES + 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"task,score\naa,1\n", "has no column label; the first row of a label file names the"),
        (b"", "has no column task and label; the first row"),
        (b"task,label\nh\xe9,1\n", "is not UTF-8 (at byte 12); in the spreadsheet"),
        (b" " * BIG, "has 64 MB, more than the 64 MB that a label file may have"),
    ],
)
def test_a_file_unreadable_as_a_whole_is_one_refusal_and_stops_no_other(labeler, content, sentence):
    drop(labeler, "e.csv", content)
    drop(labeler, "good.csv", "task,label\naa,1\n")

    found = labeler.collect(TASKS, None)

    [refusal] = found.refused
    assert refusal.reason.startswith(f"e.csv {sentence}")
    assert answers(found) == {("aa", "unnamed"): Answer.POSITIVE}


def test_closing_keeps_labels_and_notes_written_in_place_and_drops_the_texts(labeler):
    labeler.send("r", list(TASKS.values()))
    path = labeler.folder / "r.csv"
    path.write_text(path.read_text().replace("text of aa,,,", "text of aa,1,eve,sure"))

    labeler.close("r")

    assert "text of" not in path.read_text()
    assert "aa,,1,eve,sure" in path.read_text()
    assert label_files.read_keys(path) == set(TASKS)


def doubled():
    return [Task("k1", "i1", {"text": "one"}), Task("k2", "i1", {"text": "one"}, slot=2)]


def test_second_copies_have_a_file_and_an_unnamed_person_of_their_own_until_texts_go(tmp_path):
    labeler = FilesLabeler(FilesSettings(), tmp_path)
    folder = tmp_path / "labels"
    for _ in range(2):
        labeler.send("mail 1", doubled())
    files = {path.name: label_files.read_keys(path) for path in folder.glob("*.csv")}
    for name, key in (("a.csv", "k1"), ("b.csv", "k2")):
        (folder / "filled" / name).write_text(f"task,label\n{key},1\n")

    collected = labeler.collect({task.key: task for task in doubled()}, None)
    labeler.close("mail 1")

    assert files == {"mail-1.csv": {"k1"}, "mail-1.second.csv": {"k2"}}
    assert {(event.task_key, event.annotator) for event in collected.events} == {
        ("k1", "unnamed"),
        ("k2", "unnamed 2"),
    }
    assert not any("one" in path.read_text() for path in folder.glob("*.csv"))
