"""What labelers of one file share is of one state of it, of what was asked, and soon forgotten."""

import csv
import os
import threading
from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.domain.truth import TruthRow
from monitor.labeling.column import ColumnSettings
from monitor.labeling.shared_truths import SharedTruths
from tests.truth_files import labeler_of_files

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
FIRST = {"k1": Task("k1", "001"), "k2": Task("k2", "002")}
SECOND = {"k3": Task("k3", "003")}
WAIT = timedelta(minutes=1)


def write(folder, *, saved, text=None, **answers):
    path = folder / "truth.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "truth", "other"), *answers.values()])
    if text is not None:
        path.write_text(text)
    os.utime(path, ns=(saved, saved))


def labeler_of(folder, **changes):
    asked = {"path": "truth.csv", "id": "id", "value": "truth", "matures": "5d"}
    settings = ColumnSettings.model_validate(asked | changes)
    return labeler_of_files(settings, folder, clock=lambda: MONDAY)


def answers_of(collected):
    return {event.task_key: event.answer for event in collected.events}


def test_a_file_that_changes_between_two_monitors_is_read_for_each(tmp_path):
    write(tmp_path, saved=1, a=("001", "1", "0"), b=("003", "1", "0"))
    first, second = labeler_of(tmp_path), labeler_of(tmp_path)
    first.expect(["001", "002", "003"], 2)

    before = first.collect(FIRST, None)
    write(tmp_path, saved=2, a=("001", "1", "0"), b=("003", "0", "0"))
    after = second.collect(SECOND, None)

    assert answers_of(before) == {"k1": Answer.POSITIVE, "k2": None}
    assert answers_of(after) == {"k3": Answer.NEGATIVE}


def test_what_could_not_be_read_for_one_is_read_for_the_next(tmp_path):
    write(tmp_path, saved=1, text="")
    first, second = labeler_of(tmp_path), labeler_of(tmp_path)
    first.expect(["001", "002", "003"], 2)

    with pytest.raises(LabelsRefused, match="first row"):
        first.collect(FIRST, None)
    write(tmp_path, saved=2, b=("003", "1", "0"))

    assert answers_of(second.collect(SECOND, None)) == {"k3": Answer.POSITIVE}


def test_labelers_of_other_columns_share_nothing(tmp_path):
    write(tmp_path, saved=1, a=("001", "1", "0"), b=("003", "1", "0"))
    first, other = labeler_of(tmp_path), labeler_of(tmp_path, value="other")
    first.expect(["001", "002", "003"], 2)

    first.collect(FIRST, None)

    assert answers_of(other.collect(SECOND, None)) == {"k3": Answer.NEGATIVE}


class Reading:
    """Reads from memory, and notes for which items."""

    def __init__(self, **known):
        self.known, self.asked = known, []

    def __call__(self, items):
        self.asked.append(sorted(items))
        return {item: [TruthRow(self.known[item], 0)] for item in items if item in self.known}


def test_expected_items_are_read_once_and_forgotten_after_the_last_asker():
    shared, read = SharedTruths(), Reading(a="1", b="0", c="1")
    shared.expect({"a", "b", "c"}, readers=2)

    found = [shared.of({"a"}, "one state", read, WAIT)]
    shared.finish()
    found.append(shared.of({"b", "c"}, "one state", read, WAIT))
    shared.finish()
    shared.of({"a"}, "one state", read, WAIT)

    assert found == [{"a": [TruthRow("1", 0)]}, {"b": [TruthRow("0", 0)], "c": [TruthRow("1", 0)]}]
    assert read.asked == [["a", "b", "c"], ["a"]]


def test_a_reading_that_hangs_keeps_no_other_from_reading():
    shared, go_on, begun, read = (
        SharedTruths(),
        threading.Event(),
        threading.Event(),
        Reading(b="1"),
    )
    shared.expect({"a", "b"}, readers=2)

    def hang(items):
        begun.set()
        go_on.wait(60)
        return {}

    hung = threading.Thread(target=shared.of, args=({"a"}, "one state", hang, WAIT))
    hung.start()
    begun.wait(60)
    found = shared.of({"b"}, "one state", read, timedelta(milliseconds=10))
    go_on.set()
    hung.join(60)

    assert found == {"b": [TruthRow("1", 0)]}
    assert read.asked == [["b"]]
