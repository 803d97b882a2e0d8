"""What people and spreadsheets write is understood, and what is written for them is harmless."""

import io
import json
import tracemalloc

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.labeling.blanking import blank
from monitor.labeling.label_files import LONGEST_TEXT, read_labels, write_tasks
from monitor.labeling.reading import LONGEST_CELL

TASKS = {key: Task(key, f"item-{key}", {}) for key in ("aa", "bb", "cc")}
MEGABYTE = 2**20


@pytest.fixture
def read(tmp_path):
    """Read a label file that holds this text."""

    def of(text, name="ada.csv", tasks=TASKS):
        path = tmp_path / name
        path.write_text(text, newline="")
        return read_labels(path, tasks)

    return of


@pytest.mark.parametrize(
    ("answer", "spellings"),
    [
        (Answer.POSITIVE, ["1", "1.0", "true", "yes", "y", "TRUE", "Yes", " Y "]),
        (Answer.NEGATIVE, ["0", "0.0", "false", "no", "n", "FALSE", "No", " N "]),
        (Answer.CANNOT_TELL, ["?", " ? ", "cannot tell", "Cannot  Tell", "CANNOT TELL "]),
    ],
)
def test_each_answer_has_several_spellings(read, answer, spellings):
    for spelling in spellings:
        assert [event.answer for event in read(f"task,label\naa,{spelling}\n").events] == [answer]
        row = json.dumps({"task": "aa", "label": spelling}) + "\n"
        assert [event.answer for event in read(row, "ada.jsonl").events] == [answer]


@pytest.mark.parametrize("header", ["Task,LABEL,Annotator", " task , Label ,ANNOTATOR"])
def test_columns_are_found_in_any_case(read, header):
    [event] = read(f"{header}\naa,1,ada\n").events
    task, label, annotator = (name.strip() for name in header.split(","))
    [other] = read(json.dumps({task: "aa", label: 1, annotator: "ada"}), "ada.jsonl").events

    assert (event.task_key, event.answer, event.annotator) == ("aa", Answer.POSITIVE, "ada")
    assert other == event


def test_a_shown_column_that_differs_from_ours_in_case_alone_is_not_ours(read, tmp_path):
    stream = io.StringIO()
    write_tasks(stream, [Task("aa", "i", {"Label": "1", "text": "x"})], "csv")
    old = "task,Label,label,annotator\naa,1,0,ada\n"

    assert stream.getvalue().startswith("task,shown Label,text,label,annotator,note\r\n")
    assert [event.answer for event in read(old).events] == [Answer.NEGATIVE]
    assert blank(tmp_path / "ada.csv", {"aa"})
    assert (tmp_path / "ada.csv").read_text().splitlines()[1] == "aa,,0,ada"


@pytest.mark.parametrize("twice", ["Label,LABEL", "label,label: Is it?"])
def test_a_column_of_answers_that_stands_twice_is_refused(read, twice):
    with pytest.raises(LabelsRefused, match=r"^ada.csv has the column label 2 times; keep one$"):
        read(f"task,{twice}\naa,1,0\n")


QUESTION = "Is it, or =SUM(1)\nnot?"


@pytest.mark.parametrize("header", ["label: Is it?", "Label:", '" LABEL: Is it, really?"'])
def test_the_column_that_asks_the_question_is_that_of_the_answers(read, header):
    assert [event.answer for event in read(f"task,{header}\naa,1\n").events] == [Answer.POSITIVE]


def test_a_question_is_one_header_whatever_is_in_it_and_never_a_row(read, tmp_path):
    write_tasks(tmp_path / "t.csv", [Task("aa", "i", {"text": "x"})], "csv", question=QUESTION)
    text = (tmp_path / "t.csv").read_bytes().decode()

    found = read(text.replace(",,,", ",1,ada,"))

    assert text.splitlines()[0] == 'task,text,"label: Is it, or =SUM(1) not?",annotator,note'
    assert len(text.splitlines()) == 2
    assert [(event.task_key, event.answer) for event in found.events] == [("aa", Answer.POSITIVE)]
    assert blank(tmp_path / "t.csv", {"aa"})
    assert (tmp_path / "t.csv").read_text().splitlines()[0] == text.splitlines()[0]


def test_each_line_of_json_has_the_question_with_it(tmp_path):
    write_tasks(tmp_path / "t.jsonl", [Task("aa", "i", {"text": "x"})], "jsonl", question="Is it?")

    row = json.loads((tmp_path / "t.jsonl").read_text())

    assert list(row) == ["task", "question", "shown", "label", "annotator", "note"]
    assert row["question"] == "Is it?"


def test_a_shown_column_that_begins_like_the_question_is_not_taken_for_answers(read):
    stream = io.StringIO()
    write_tasks(stream, [Task("aa", "i", {"label: old": "1"})], "csv", question="Is it?")

    assert stream.getvalue().startswith("task,shown label: old,label: Is it?,annotator,note\r\n")
    assert read(stream.getvalue()).events == ()


HOSTILE = "\x1b[2J\x00\x07\x9b31m\u202egnp\u2066"
SEEN = "\\x1b[2J\\x00\\x07\\x9b31m\\u202egnp\\u2066"


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_what_would_steer_a_terminal_is_visible_in_task_files_and_lines_stay_lines(
    tmp_path, format
):
    text = f"one\r\ntwo\n\tthree {HOSTILE} \u200d\u3000é"
    write_tasks(tmp_path / f"t.{format}", [Task("taa", "i", {f"a{HOSTILE}": text})], format)

    raw = (tmp_path / f"t.{format}").read_bytes().decode()

    assert not set(raw) & set(HOSTILE) - set("[2Jgnp31m")
    told = json.loads(raw)["shown"].popitem() if format == "jsonl" else (raw, raw)
    assert f"a{SEEN}" in told[0]
    assert f"one\r\ntwo\n\tthree {SEEN} \u200d\u3000é" in told[1]


def test_a_text_too_long_for_a_cell_is_cut_so_that_its_file_can_come_back(read, tmp_path):
    write_tasks(tmp_path / "t.csv", [Task("aa", "i", {"text": "é" * 3 * MEGABYTE})], "csv")
    text = (tmp_path / "t.csv").read_bytes().decode()

    found = read(text.replace(",,,", ",1,ada,"))

    assert f"... (cut here, of {3 * MEGABYTE} characters)" in text
    assert LONGEST_TEXT < len(text) < LONGEST_CELL
    assert [event.answer for event in found.events] == [Answer.POSITIVE]


def peak_of(act):
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "before", "piece", "after", "sentence"),
    [
        ("a.csv", "task,label,note\naa,1,", "x", "\n", "a.csv has a row of more than 8 MB, so"),
        (
            "a.csv",
            'task,label,note\naa,1,"',
            "x" * 1023 + "\n",
            '"\n',
            "a.csv row 2 has a cell of more than",
        ),
        ("a.jsonl", '{"task":"aa","label":1,"note":"', "x", '"}\n', "a.jsonl has a row of more"),
    ],
)
def test_a_cell_of_60_megabytes_is_refused_and_takes_little_memory(
    tmp_path, name, before, piece, after, sentence
):
    path = tmp_path / name
    path.write_text(before + piece * (60 * MEGABYTE // len(piece)) + after)
    said = []

    def refused():
        with pytest.raises(LabelsRefused) as error:
            read_labels(path, TASKS)
        said.append(str(error.value))

    peak = peak_of(refused)

    assert said[0].startswith(sentence)
    assert peak < 40 * MEGABYTE


def test_a_cell_is_refused_from_one_megabyte_on(read):
    taken = read(f"task,label,note\naa,1,{'x' * LONGEST_CELL}\n")
    row = json.dumps({"task": "aa", "label": 1, "note": "x" * (LONGEST_CELL + 1)})
    in_json = read(f'{row}\n{{"task": "bb", "label": 1}}\n', "ada.jsonl")

    assert len(taken.events) == 1
    with pytest.raises(LabelsRefused, match=r"row 2 has a cell of more than 1 MB, so nothing of"):
        read(f"task,label,note\naa,1,{'x' * (LONGEST_CELL + 1)}\nbb,1,\n")
    assert [str(each) for each in in_json.refused] == [
        "ada.jsonl row 1: has a cell of more than 1 MB; empty it"
    ]
    assert [event.task_key for event in in_json.events] == ["bb"]
