"""Task and label files: escaping, order, and whatever bytes come back."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task
from monitor.domain.shown import plain_text
from monitor.domain.visible import visible_lines
from monitor.labeling import label_files
from monitor.labeling.cells import escape, unescape
from monitor.labeling.files import read_labels, write_tasks
from tests.csv_files import read_rows, write_rows

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


def test_tasks_stand_in_an_order_that_does_not_tell_their_stratum(tmp_path):
    tasks = [Task(f"{place:03d}", str(place)) for place in range(50)]

    write_tasks(tmp_path / "t.csv", tasks, "csv")
    write_tasks(tmp_path / "again.csv", tasks[::-1], "csv")

    keys = [row["task"] for row in read_rows(tmp_path / "t.csv")]
    assert keys != sorted(keys)
    assert sorted(keys) == [task.key for task in tasks]
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_tasks_with_places_stand_in_their_order(tmp_path):
    write_tasks(tmp_path / "t.csv", list(FORTY.values()), "csv")

    keys = [row["task"] for row in read_rows(tmp_path / "t.csv")]
    assert [FORTY[key].place for key in keys] == [f"{place:02d}" for place in range(40)]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def break_off(stream, *_):
        stream.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(label_files, "_write_csv", break_off)

    with pytest.raises(OSError, match="No space left"):
        write_tasks(tmp_path / "t.csv", [], "csv")

    assert list(tmp_path.iterdir()) == []


RUN = [*("=1+1", "+1", "-1", "@x", "\tx", "\rx", "'=x", "''=x", "\n=1")]
RUN += [*("\uff1d1", "\uff0b1", "\uff0d1", "\uff20x", "'\uff1d1")]


@pytest.mark.parametrize("text", RUN)
def test_a_cell_that_a_spreadsheet_would_run_is_escaped_and_comes_back(text):
    assert escape(text) == "'" + text
    assert unescape(escape(text)) == text


hostile = st.text(
    alphabet=st.one_of(st.sampled_from("=+-@'\"\t\r\n,;\x00\u202e\ufeff0aé"), st.characters()),
    max_size=12,
).filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text))


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(hostile, min_size=1, max_size=4))
def test_every_text_comes_back_from_csv_as_it_went_out(texts):
    tasks = [Task(f"k{n}", f"item {n}", {"text": text}) for n, text in enumerate(texts)]
    stream = io.StringIO(newline="")

    write_tasks(stream, tasks, "csv")

    rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
    assert {row["task"]: unescape(row["text"]) for row in rows} == {
        task.key: visible_lines(plain_text(task.shown["text"])) for task in tasks
    }
    for row in rows:
        assert not row["text"].startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))


def refusal_of(path):
    try:
        read_labels(path, TASKS)
    except LabelsRefused as error:
        return str(error)
    return f"{path.name} is readable"


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_no_bytes_whatever_make_a_traceback(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("junk")
    for name, start in (("j.csv", b"task,label\n"), ("k.jsonl", b'{"task": 1, "label": 1}\n')):
        for content in (junk, start + junk):
            (folder / name).write_bytes(content)
            assert name in refusal_of(folder / name)


def test_import_says_what_is_wrong_with_the_file(tmp_path):
    (tmp_path / "e.ods").write_text("x")

    with pytest.raises(LabelsRefused, match=r"e\.ods: label files are \.csv, \.xlsx or"):
        read_labels(tmp_path / "e.ods", TASKS)
    with pytest.raises(LabelsRefused, match=r"gone\.csv cannot be read: no such file"):
        read_labels(tmp_path / "gone.csv", TASKS)


NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
MANY = {
    f"t{place}": Task(
        f"t{place}",
        f"item-{place}",
        {"text": f"text {place}", "score": f"0.{place}0", "at": f"2026-03-{place + 10}"},
    )
    for place in range(10)
}


def shown_rows(tasks=MANY):
    return [{"task": key, **task.shown, "label": "1"} for key, task in tasks.items()]


def save(path, rows):
    write_rows(path, rows)
    return path


def test_an_answer_from_the_future_is_refused_unless_a_clock_may_just_be_ahead(tmp_path):
    at = [NOW + timedelta(minutes=minutes) for minutes in (-5, 15, 16)]
    rows = [
        {"task": key, "label": "1", "labeled_at": time.isoformat()}
        for key, time in zip(("aa", "bb", "cc"), at, strict=True)
    ]

    found = read_labels(save(tmp_path / "t.csv", rows), TASKS, now=NOW)

    assert [(event.task_key, event.at) for event in found.events] == [("aa", at[0]), ("bb", at[1])]
    [refusal] = found.refused
    assert refusal.where == "t.csv row 4"
    assert "lies in the future: it is 2026-03-02 06:00 UTC now" in refusal.reason


@pytest.mark.parametrize("sorted_alone", [["text"], ["text", "score", "at"], ["task"], ["at"]])
def test_a_file_of_which_some_columns_were_sorted_alone_is_refused_whole(tmp_path, sorted_alone):
    rows = shown_rows()
    values = [[row[name] for name in sorted_alone] for row in rows]
    for row, moved in zip(rows, reversed(values), strict=True):
        row |= dict(zip(sorted_alone, moved, strict=True))

    found = read_labels(save(tmp_path / "t.csv", rows), MANY)

    assert found.events == ()
    [refusal] = found.refused
    assert (refusal.rows, refusal.is_problem) == (10, True)
    assert "in 10 of 10 answered rows what is shown (column " in refusal.reason
    assert found.problems == (str(refusal),)


def test_of_whole_rows_that_were_sorted_and_cells_that_a_spreadsheet_rewrote_all_count(tmp_path):
    rows = sorted(shown_rows(), key=lambda row: row["text"], reverse=True)
    for row in rows:
        row |= {"text": f" {row['text'].upper()} ", "score": str(float(row["score"]))}
        row["at"] = f"{row['at'][8:]}.03.2026"

    found = read_labels(save(tmp_path / "t.csv", rows), MANY)

    assert (len(found.events), found.refused) == (10, ())


FORTY = {
    f"t{number}": Task(f"t{number}", f"item {number}", place=f"{number * 7 % 40:02d}")
    for number in range(40)
}


def filled(tmp_path, label):
    """Write a task file of forty tasks, and fill it by a function of the row's number."""
    write_tasks(tmp_path / "todo.csv", list(FORTY.values()), "csv")
    keys = [row["task"] for row in read_rows(tmp_path / "todo.csv")]
    return [{"task": key, "label": label(number)} for number, key in enumerate(keys)]


def test_answers_that_were_sorted_alone_are_refused_whole(tmp_path):
    rows = filled(tmp_path, lambda number: "1" if number < 12 else "0")

    found = read_labels(save(tmp_path / "t.csv", rows), FORTY)

    assert found.events == ()
    assert (found.refused[0].rows, found.refused[0].is_problem) == (40, True)
    assert "was the column of answers sorted by itself?" in found.refused[0].reason


@pytest.mark.parametrize(
    ("label", "order"),
    [
        (lambda number: "1" if number < 12 else "0", "task"),  # whole rows were sorted
        (lambda number: str(number % 2), "label"),
        (lambda number: "1" if number < 1 else "0", None),  # as chance may put them
        (lambda _: "1", None),
    ],
)
def test_answers_in_blocks_count_after_sorting_whole_rows_or_by_chance(tmp_path, label, order):
    rows = filled(tmp_path, label)
    if order:
        rows.sort(key=lambda row: row[order])

    found = read_labels(save(tmp_path / "t.csv", rows), FORTY)

    assert (len(found.events), found.refused) == (40, ())


def test_two_rows_that_changed_places_are_refused_and_the_others_count(tmp_path):
    rows = shown_rows()
    rows[2]["text"], rows[3]["text"] = rows[3]["text"], rows[2]["text"]

    found = read_labels(save(tmp_path / "t.csv", rows), MANY)

    assert {event.task_key for event in found.events} == MANY.keys() - {"t2", "t3"}
    assert [refusal.where for refusal in found.refused] == ["t.csv row 4", "t.csv row 5"]
    assert "shows the text of another task" in found.refused[0].reason
