"""Links are not followed, and what a refused file holds is repeated nowhere."""

import os

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.labeling.label_files import read_keys, read_labels

TASKS = {"aa": Task("aa", "item", {"text": "text"})}
LINE = "root:x:0:0:secret"


@pytest.fixture
def labeler(tmp_path):
    files_labeler = FilesLabeler(FilesSettings(), tmp_path / "work")
    files_labeler.make_folder()
    return files_labeler


def told(found):
    return [*map(str, found.refused), *found.problems, *found.waits, found.cursor or ""]


@pytest.fixture(params=["symbolic", "hard", "inside"])
def link(request, labeler, tmp_path):
    """A label file that has its content elsewhere."""
    outside = tmp_path / "passwd"
    if request.param == "inside":
        outside = labeler.folder / "task.csv"
    outside.write_text(f"{LINE}\naa,1\n")
    path = labeler.filled / "ada.csv"
    if request.param == "hard":
        path.hardlink_to(outside)
    else:
        path.symlink_to(outside)
    return path


def test_a_link_among_filled_files_is_refused_and_nothing_of_it_is_told(labeler, link):
    found = labeler.collect(TASKS, None)

    assert found.events == ()
    assert [str(each) for each in found.refused] == [
        "ada.csv: ada.csv is a link or has a second name elsewhere, so it is not read; put a copy "
        "there"
    ]
    assert not any("root" in text for text in told(found))


def test_answers_behind_a_link_are_taken_once_a_copy_stands_there(labeler, tmp_path):
    elsewhere = tmp_path / "ada.csv"
    elsewhere.write_text("task,label\naa,1\n")
    path = labeler.filled / "ada.csv"
    path.hardlink_to(elsewhere)
    first = labeler.collect(TASKS, None)
    elsewhere.unlink()

    second = labeler.collect(TASKS, first.cursor)

    assert (len(first.events), len(second.events)) == (0, 1)


def test_a_link_in_place_of_the_folder_of_filled_files_is_refused(labeler, tmp_path):
    labeler.filled.rmdir()
    (tmp_path / "elsewhere").mkdir()
    labeler.filled.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(LabelsRefused, match=r"filled is a link, which is not followed; make it a"):
        labeler.collect(TASKS, None)


def test_a_link_among_task_files_is_read_by_nobody(labeler, tmp_path):
    (tmp_path / "outside.csv").write_text("task,text,label\naa,text,\n")
    path = labeler.folder / "r.csv"
    path.symlink_to(tmp_path / "outside.csv")

    labeler.close("r")

    assert read_keys(path) == set()
    assert "text" in (tmp_path / "outside.csv").read_text().splitlines()[1]


def test_a_link_given_by_hand_is_followed(tmp_path):
    (tmp_path / "of-today.csv").write_text("task,label\naa,1\n")
    (tmp_path / "latest.csv").symlink_to("of-today.csv")

    assert len(read_labels(tmp_path / "latest.csv", TASKS, follow=True).events) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"{LINE}\n"),
        ("a.csv", f"task,{LINE}\n"),
        ("a.csv", f"task,label,label,{LINE}\n"),
        ("a.csv", f'task,label\n"{LINE}'),
        ("a.csv", f"task,label\n{LINE}\xff\n"),
        ("a.jsonl", f"{LINE}\n"),
        ("a.jsonl", f'{{"task": "aa", "label": 1, {LINE}\n'),
        ("a.txt.csv", LINE * 100),
    ],
)
def test_nothing_is_told_of_a_file_that_is_no_label_file(labeler, name, content):
    path = labeler.filled / name
    path.write_bytes(content.encode("latin-1"))
    os.utime(path, (1, 1))

    found = labeler.collect(TASKS, None)

    assert found.refused
    assert not any("root" in text or "secret" in text for text in told(found))
