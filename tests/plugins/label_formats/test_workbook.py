"""Workbooks: what a spreadsheet cannot change, and what a stranger cannot do by one."""

import io
import os
import sys
import time
import zipfile
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook
from openpyxl.comments import Comment

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.domain.shown import plain_text
from monitor.domain.visible import visible_lines
from monitor.labeling import folder_scan
from monitor.labeling.blanking import blank
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.labeling.label_files import read_keys, read_labels, write_tasks
from monitor.plugins.label_formats import workbook

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}
QUESTION = "Is it an eight?"
HEADER = ["task", "text", "label", "annotator", "note"]


def book_of(*rows, header=HEADER):
    book = Workbook()
    for row in [header, *rows]:
        book.active.append(row)
    return book


def content_of(book):
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def save(path, *rows, header=HEADER):
    path.write_bytes(content_of(book_of(*rows, header=header)))
    return path


def repacked(content, change):
    """The same archive with parts changed, and with others added."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        parts = {name: old.read(name) for name in old.namelist()}
        change(parts)
        for name, part in parts.items():
            new.writestr(name, part)
    return out.getvalue()


# Out


def test_a_key_that_a_spreadsheet_would_change_is_a_cell_of_text(tmp_path):
    keys = {"1e5", "00123", "12345678901234567890", "2026-03-02", "3/4"}
    write_tasks(tmp_path / "t.xlsx", [Task(key, "i", {"text": "x"}) for key in keys], "xlsx")

    [_, *rows] = load_workbook(tmp_path / "t.xlsx").active.iter_rows()
    assert {row[0].value for row in rows} == read_keys(tmp_path / "t.xlsx") == keys
    assert {(row[0].data_type, row[0].number_format) for row in rows} == {("s", "@")}


def test_a_text_that_looks_like_a_formula_is_a_text_and_stays_one(tmp_path):
    texts = ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", '=HYPERLINK("http://x")']
    tasks = [Task("aa", "i", {text: text for text in texts})]
    write_tasks(tmp_path / "t.xlsx", tasks, "xlsx", question="=1+1")

    cells = [cell for row in load_workbook(tmp_path / "t.xlsx").active.iter_rows() for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)
    for text in texts:
        assert all(cell.quotePrefix for cell in cells if cell.value == text), text
        assert sum(cell.value == text for cell in cells) == 2, text


def test_the_sheet_asks_the_question_keeps_its_header_in_sight_and_offers_the_answers(tmp_path):
    write_tasks(tmp_path / "t.xlsx", list(TASKS.values()), "xlsx", question=QUESTION)

    sheet = load_workbook(tmp_path / "t.xlsx").active
    [choice] = sheet.data_validations.dataValidation
    assert [cell.value for cell in sheet[1]] == [
        *("task", "text", f"label: {QUESTION}", "annotator", "note")
    ]
    assert sheet.freeze_panes == "A2"
    assert (str(choice.sqref), choice.formula1) == ("C2:C1048576", '"yes,no,cannot tell"')
    assert sheet["B2"].alignment.wrap_text


def test_a_text_longer_than_a_cell_is_cut_and_says_so(tmp_path):
    write_tasks(tmp_path / "t.xlsx", [Task("aa", "i", {"text": "x" * 40_000})], "xlsx")

    text = load_workbook(tmp_path / "t.xlsx").active["B2"].value
    assert text.endswith("xxx ... (cut here, of 40000 characters)")
    assert len(text) < 32_767


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=3))
def test_every_text_stands_in_the_sheet_as_it_went_out(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("sheet") / "t.xlsx"
    tasks = [Task(f"k{place}", "i", {"text": text}) for place, text in enumerate(texts)]

    write_tasks(path, tasks, "xlsx")

    rows = load_workbook(path).active.iter_rows(min_row=2, values_only=True)
    assert {row[0]: lines(row[1]) for row in rows} == {
        task.key: lines(visible_lines(plain_text(task.shown["text"]))) for task in tasks
    }


def lines(text):
    """What XML leaves of a text: line breaks are line feeds, and two code points are none."""
    ends = (text or "").replace("\r\n", "\n").replace("\r", "\n")
    return ends.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


# Back


def test_answers_are_taken_as_numbers_truths_and_texts(tmp_path):
    rows = [["aa", "", 1, "ada"], ["bb", "", False, 7], [" cc ", "", " Cannot tell", None]]

    found = read_labels(save(tmp_path / "t.xlsx", *rows), TASKS)

    assert found.refused == ()
    assert {event.task_key: (event.answer, event.annotator) for event in found.events} == {
        "aa": (Answer.POSITIVE, "ada"),
        "bb": (Answer.NEGATIVE, "7"),
        "cc": (Answer.CANNOT_TELL, "unnamed"),
    }


@pytest.mark.parametrize(("place", "column"), [(0, "task"), (2, "label"), (3, "annotator")])
def test_a_formula_in_a_column_of_ours_is_refused_by_its_name(tmp_path, place, column):
    row = ["aa", "", "1", "ada"]
    row[place] = '=IF(1=1,"1","0")'

    found = read_labels(save(tmp_path / "t.xlsx", row, ["bb", "=1+1", "1"]), TASKS)

    assert [str(each) for each in found.refused] == [
        f"t.xlsx row 2: {column} is a formula, which is not computed; write the value itself"
    ]
    assert [event.task_key for event in found.events] == ["bb"]


def test_a_date_an_error_and_a_cell_beside_the_columns_are_no_answers(tmp_path):
    rows = [
        ["aa", "", datetime(2026, 2, 1)],  # noqa: DTZ001  cells have no zone
        ["bb", "", "#N/A"],
        ["cc", "", 1, "", "", "", "0"],
    ]

    found = read_labels(save(tmp_path / "t.xlsx", *rows), TASKS)

    assert found.events == ()
    assert [each.where for each in found.refused] == [f"t.xlsx row {row}" for row in (2, 3, 4)]
    assert "label '2026-02-01 00:00:00' is not known" in str(found.refused[0])
    assert "t.xlsx row 4: has a cell outside of the columns" in str(found.refused[2])


def refusal_of(path):
    with pytest.raises(LabelsRefused) as refused:
        read_labels(path, TASKS)
    return str(refused.value)


def test_a_second_sheet_is_refused_hidden_ones_too(tmp_path):
    book = book_of(["aa", "", 1])
    book.create_sheet("mine").sheet_state = "hidden"
    (tmp_path / "t.xlsx").write_bytes(content_of(book))

    assert refusal_of(tmp_path / "t.xlsx").startswith(
        "t.xlsx has 2 sheets ('Sheet', 'mine'), hidden ones counted"
    )


def test_what_is_no_workbook_is_refused_in_one_sentence(tmp_path):
    whole = content_of(book_of(["aa", "", 1]))
    for content in (b"", b"task,label", whole[:-30], whole[: len(whole) // 2], b"PK" * 500):
        (tmp_path / "t.xlsx").write_bytes(content)

        assert "t.xlsx is not a readable .xlsx workbook" in refusal_of(tmp_path / "t.xlsx")


BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE sst [<!ENTITY a "'
    + b"x" * 10_000
    + b'">]><sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    + b"<si><t>&a;</t></si>" * 10
    + b"</sst>"
)


@pytest.mark.parametrize(
    "part",
    [BOMB, BOMB.decode().replace("<?xml version", "<?xml version").encode("utf-16")],
    ids=["utf-8", "utf-16"],
)
@pytest.mark.parametrize("name", ["xl/sharedStrings.xml", "xl/workbook.xml", "odd.bin"])
def test_a_part_that_declares_entities_is_refused_before_it_is_parsed(tmp_path, name, part):
    content = repacked(content_of(book_of(["aa", "", 1])), lambda parts: parts.update({name: part}))
    (tmp_path / "t.xlsx").write_bytes(content)

    assert refusal_of(tmp_path / "t.xlsx").startswith("t.xlsx declares entities, as no spreadsheet")


def test_a_small_archive_that_is_large_unpacked_is_refused_unread(tmp_path):
    content = content_of(book_of(["aa", "", 1]))
    bomb = repacked(content, lambda parts: parts.update({"xl/media.bin": b"0" * 70 * 2**20}))
    (tmp_path / "t.xlsx").write_bytes(bomb)

    assert len(bomb) < 2**20
    assert refusal_of(tmp_path / "t.xlsx").startswith("t.xlsx has 70 MB unpacked, more than the 64")


def test_a_cell_far_away_and_a_wrong_size_cost_nothing_and_hide_nothing(tmp_path):
    def change(parts):
        sheet = parts["xl/worksheets/sheet1.xml"].decode()
        far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row>'
        sheet = sheet.replace("</sheetData>", f"{far}</sheetData>").replace("A1:E3", "A1:B2")
        parts["xl/worksheets/sheet1.xml"] = sheet.encode()

    content = repacked(content_of(book_of(["aa", "", 1], ["bb", "", 0])), change)
    (tmp_path / "t.xlsx").write_bytes(content)
    start = time.monotonic()

    found = read_labels(tmp_path / "t.xlsx", TASKS)

    assert [event.task_key for event in found.events] == ["aa", "bb"]
    assert time.monotonic() - start < 60  # what is far away is not gone through


def test_links_and_macros_are_parts_that_nobody_opens(tmp_path):
    def change(parts):
        parts["xl/vbaProject.bin"] = b"macro"
        parts["xl/externalLinks/externalLink1.xml"] = b"<not read"

    (tmp_path / "t.xlsx").write_bytes(repacked(content_of(book_of(["aa", "", 1])), change))

    assert [event.task_key for event in read_labels(tmp_path / "t.xlsx", TASKS).events] == ["aa"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_no_damage_to_a_workbook_makes_a_traceback_or_an_answer_that_nobody_gave(
    tmp_path_factory, data
):
    path = tmp_path_factory.mktemp("odd") / "t.xlsx"
    content = content_of(book_of(["aa", "text", 1, "ada"], ["bb", "text", 0, "ada"]))
    odd = st.binary(max_size=30) | st.sampled_from([b"<", b'r="Z9"', b"<v>9</v>", b't="s"', b""])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        part = data.draw(st.sampled_from(archive.namelist()))
        size = len(archive.read(part))
    at, length = data.draw(st.tuples(st.integers(0, size), st.integers(0, 30)))
    put = data.draw(odd)

    def change(parts):
        parts[part] = parts[part][:at] + put + parts[part][at + length :]

    path.write_bytes(repacked(content, change))
    try:
        found = read_labels(path, TASKS)
    except LabelsRefused as error:
        told, keys = str(error), set()
    else:
        told, keys = "t.xlsx", {event.task_key for event in found.events}

    assert told.startswith("t.xlsx")
    assert "\n" not in told
    assert keys <= set(TASKS)


# In the folder


@pytest.fixture
def labeler(tmp_path):
    labeler = FilesLabeler(FilesSettings(format="xlsx"), tmp_path)
    labeler.send("r", list(TASKS.values()))
    return labeler


def drop(labeler, content, *, ago=2.0, name="ada.xlsx"):
    path = labeler.filled / name
    path.write_bytes(content)
    at = time.time() - ago
    os.utime(path, (at, at))
    return path


def test_half_a_workbook_waits_and_the_whole_one_counts(labeler):
    whole = content_of(book_of(["aa", "", 1, "ada lovelace"], ["bb", "", 0, "ada lovelace"]))
    seen = set()
    cursor = None

    for size in range(0, len(whole), 97):
        drop(labeler, whole[:size])
        collected = labeler.collect(TASKS, cursor)
        cursor = collected.cursor
        seen |= {event.annotator for event in collected.events}
        [sentence] = collected.waits
        assert collected.refused == ()
    drop(labeler, whole)

    assert seen == set()
    assert sentence.startswith(
        "ada.xlsx has not all its parts, so it may be incomplete: it is read"
    )
    assert {event.annotator for event in labeler.collect(TASKS, cursor).events} == {"ada lovelace"}


def test_a_workbook_with_a_new_beginning_and_an_old_end_waits(labeler):
    old = content_of(book_of(["aa", "", 1, "ada"]))
    new = content_of(book_of(["aa", "", 0, "ida"]))
    drop(labeler, new[: len(new) // 2] + old[len(new) // 2 :])

    collected = labeler.collect(TASKS, None)

    assert collected.events == ()
    assert len(collected.waits) == 1


def test_a_workbook_that_never_became_whole_is_told_as_a_problem(labeler):
    drop(labeler, content_of(book_of(["aa", "", 1]))[:-20], ago=folder_scan.STILL + 1)

    collected = labeler.collect(TASKS, None)

    assert collected.problems[0].startswith("ada.xlsx is not a readable .xlsx workbook")


def test_what_a_spreadsheet_puts_beside_an_open_file_is_none(labeler):
    drop(labeler, b"ada", name="~$ada.xlsx")
    drop(labeler, b"ada", name=".~lock.ada.xlsx#")

    collected = labeler.collect(TASKS, None)

    assert (collected.events, collected.refused, collected.waits) == ((), (), ())


def test_without_the_extra_a_workbook_is_refused_with_what_to_install(labeler, monkeypatch):
    drop(labeler, content_of(book_of(["aa", "", 1])))
    monkeypatch.setitem(sys.modules, "openpyxl", None)

    [refusal] = labeler.collect(TASKS, None).refused

    assert "ada.xlsx: to read .xlsx it needs the extra xlsx: pip install" in str(refusal)


def test_a_folder_is_not_usable_for_workbooks_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "find_spec", lambda _: None)

    FilesLabeler(FilesSettings(), tmp_path).make_folder()
    with pytest.raises(LabelsRefused, match=r"^labeling.format: xlsx needs the extra xlsx: pip"):
        FilesLabeler(FilesSettings(format="xlsx"), tmp_path).make_folder()


# Away


def test_forgetting_takes_texts_out_of_every_part_of_a_workbook(labeler):
    mine, other = ["aa", "secret of aa", 1, "eve", "secret note"], ["bb", "text of bb", 0, "eve"]
    book = book_of(mine, other)
    book.active["A2"].comment = Comment("secret comment", "eve")
    book.properties.title = "secret title"
    path = drop(labeler, content_of(book))
    before = path.stat().st_mtime_ns
    answers = labeler.collect(TASKS, None).events

    places = labeler.forget("r", ["aa"])
    again = labeler.forget("r", ["aa"])

    with zipfile.ZipFile(path) as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
    assert places == (str(labeler.folder / "r.xlsx"), str(path))
    assert again == ()
    assert b"secret" not in everything
    assert b"text of bb" in everything
    assert path.stat().st_mtime_ns == before
    assert labeler.collect(TASKS, None).events == answers


def test_a_row_of_another_task_keeps_what_is_in_it_and_no_formula_is_made(tmp_path):
    path = save(tmp_path / "t.xlsx", ["aa", "text", 1], ["zz", "=1+1", 0.5, "", "=2"])

    assert blank(path, {"aa"})

    rows = list(load_workbook(path).active.iter_rows(min_row=2))
    assert [cell.value for cell in rows[0]][:3] == ["aa", None, 1]
    assert [cell.value for cell in rows[1]] == ["zz", "=1+1", 0.5, None, "=2"]
    assert not any(cell.data_type == "f" for cell in rows[1])
