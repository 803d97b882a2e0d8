"""Delayed truth as a column: what counts as an answer, from when on, and each refusal."""

# ruff: noqa: ARG002  the contract passes more than each way needs

import csv
import os
import unicodedata
from datetime import UTC, datetime, timedelta

import duckdb
import pandas as pd
import pytest
from pydantic import ValidationError

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, LabelKind, Task
from monitor.labeling.column import ColumnSettings, ValueCounts
from monitor.testing import LabelerContract
from tests.engine import engine
from tests.truth_files import labeler_of_files

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
TASKS = {
    key: Task(key, item, predicted_before=MONDAY)
    for key, item in [("k1", "001"), ("k2", "002"), ("k3", "003")]
}
SETTINGS = {"path": "truth.csv", "id": "mail_id", "value": "is_fraud", "matures": "60d"}


def write(folder, rows, header=("mail_id", "is_fraud", "known_at"), *, saved=1):
    path = folder / "truth.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    os.utime(path, ns=(saved, saved))


def labeler_of(folder, *, now=MONDAY, **changes):
    settings = ColumnSettings.model_validate({**SETTINGS, **changes})
    return labeler_of_files(settings, folder, clock=lambda: now)


def given(collected):
    return {e.task_key: e.answer for e in collected.events if e.kind is LabelKind.GIVEN}


class TestColumn(LabelerContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path
        self.saved = 0
        write(tmp_path, [])

    def labeler(self):
        return labeler_of(self.folder)

    def give(self, labeler, answers):
        self.saved += 1
        rows = [(item, answer, "") for item, answer in answers.items()]
        write(self.folder, rows, saved=self.saved)

    def seen_by_people(self, labeler, round_name):
        return ""


YES, NO = Answer.POSITIVE, Answer.NEGATIVE
KINDS = [("001", "fraud", ""), ("002", "theft", ""), ("003", "clean", "")]
NEWEST = [
    ("001", "1", "2026-03-02T05:00:00+02:00"),
    ("001", "0", "2026-03-02T04:00:00Z"),
    ("002", "1", "2026-03-02T04:00:00Z"),
    ("002", "0", "2026-03-02T05:00:00+01:00"),
]
PADDED = [("001  ", "1", "2026-03-02 00:00"), ("001", "0", "2026-03-01 00:00")]
TAKEN_BACK = [("001", "1", "2026-03-01 00:00"), ("001", "nan", "2026-03-02 00:00")]
TIMED = {"time": "known_at"}


@pytest.mark.parametrize(
    ("rows", "changes", "answers", "refused"),
    [
        ([("001", "1", ""), ("002", "false", ""), ("999", "1", "")], {}, [YES, NO], []),
        (KINDS, {"positive": "fraud"}, [YES, NO, NO], []),
        (KINDS, {"positive": ["fraud", "theft"]}, [YES, YES, NO], []),
        (KINDS, {"positive": "fraud", "negative": "clean"}, [YES, None, NO], ["002"]),
        (KINDS, {"unlisted_means": "negative"}, [NO, NO, NO], []),
        *(
            ([("001", "0", ""), ("002", "no", "")], {"positive": one}, [NO], ["002"])
            for one in (1, True, [1, True])
        ),
        (NEWEST, TIMED, [NO], ["002"]),
        (PADDED, TIMED, [YES], []),
        (PADDED, {}, [], ["001"]),
        (TAKEN_BACK, TIMED, [], []),
    ],
)
def test_rows_answer_by_the_words_of_the_config(tmp_path, rows, changes, answers, refused):
    write(tmp_path, rows)

    found = labeler_of(tmp_path, **changes).collect(TASKS, None)

    assert given(found) == {
        key: answer for key, answer in zip(TASKS, answers, strict=False) if answer is not None
    }
    assert [refusal.where for refusal in found.refused] == [f"truth.csv, id {i}" for i in refused]


@pytest.mark.parametrize(
    ("missing_means", "days", "answer"),
    [("negative", 59, None), ("negative", 60, Answer.NEGATIVE), ("unanswered", 600, None)],
)
def test_a_missing_row_is_negative_once_mature_if_asked(tmp_path, missing_means, days, answer):
    write(tmp_path, [("001", "1", ""), ("002", "", "")])
    now = MONDAY + timedelta(days=days)

    found = labeler_of(tmp_path, now=now, missing_means=missing_means).collect(TASKS, None)

    assert given(found).get("k2") == answer
    assert given(found).get("k3") == answer


def test_a_positive_row_tells_since_when_unless_its_time_cannot_be_or_no_column_has_it(tmp_path):
    rows = [("001", "1", "2026-02-20T06:00:00Z"), ("002", "0", "2026-02-20T06:00:00Z")]
    write(tmp_path, [*rows, ("003", "1", "2099-01-01T00:00:00Z"), ("004", "1", "soon")])
    items = ("001", "002", "003", "004", "005")

    since = labeler_of(tmp_path, time="known_at").positive_since(items)

    assert since == {"001": datetime(2026, 2, 20, 6, tzinfo=UTC)}
    assert labeler_of(tmp_path).positive_since(items) == {}


def test_an_item_without_a_prediction_time_never_matures(tmp_path):
    write(tmp_path, [])
    task = Task("k1", "001")

    late = labeler_of(tmp_path, now=MONDAY + timedelta(days=900), missing_means="negative")

    assert given(late.collect({"k1": task}, None)) == {}


def test_a_label_that_vanishes_is_withdrawn(tmp_path):
    write(tmp_path, [("001", "1", "")], saved=1)
    labeler = labeler_of(tmp_path)
    before = labeler.collect(TASKS, None)

    write(tmp_path, [], saved=2)
    after = labeler.collect(TASKS, before.cursor)

    assert given(before) == {"k1": Answer.POSITIVE}
    assert next(e.kind for e in after.events if e.task_key == "k1") is LabelKind.WITHDRAWN


def test_nothing_is_read_again_until_the_file_changes_or_an_item_matures(tmp_path):
    write(tmp_path, [("001", "1", "")])
    first = labeler_of(tmp_path, missing_means="negative").collect(TASKS, None)

    same = labeler_of(tmp_path, missing_means="negative").collect(TASKS, first.cursor)
    later = labeler_of(tmp_path, missing_means="negative", now=MONDAY + timedelta(days=61))

    assert (same.events, same.cursor) == ((), first.cursor)
    assert given(later.collect(TASKS, first.cursor))["k3"] is Answer.NEGATIVE


def test_a_value_that_is_neither_is_refused_with_the_setting_that_helps(tmp_path):
    write(tmp_path, [("001", "maybe", ""), ("002", "cannot tell", "")])

    found = labeler_of(tmp_path).collect(TASKS, None)

    assert given(found) == {"k2": Answer.CANNOT_TELL}
    assert [refusal.reason for refusal in found.refused] == [
        "value 'maybe' of column 'is_fraud' is neither positive nor negative; list it under "
        "labeling.positive or labeling.negative"
    ]


def test_a_time_column_that_holds_no_times_is_refused(tmp_path):
    with engine() as connection:
        select = "select '001' as mail_id, 1 as is_fraud, 7 as known_at"
        connection.execute(f"copy ({select}) to $1", [str(tmp_path / "p.parquet")])

    labeler = labeler_of(tmp_path, path="p.parquet", time="known_at")

    with pytest.raises(LabelsRefused, match=r"'known_at' \(labeling.time\) is INTEGER .* times"):
        labeler.collect(TASKS, None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"deadline": "5d"}, "is before labels mature"),
        ({"positive": "x", "negative": ["y", "x"]}, "negative: 'x' is also in positive"),
        ({"path": "truth"}, "has no suffix that shows its kind"),
        ({"matures": 60}, "60 has no unit"),
    ],
)
def test_impossible_settings_are_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValidationError, match=sentence):
        ColumnSettings.model_validate({**SETTINGS, **changes})


WORDS = {"positive": "fraud", "missing_means": "negative", "matures": "1d"}


@pytest.mark.parametrize("word", ["nan", "<NA>", "N/A"])
def test_a_word_for_a_missing_value_is_no_label_unless_the_config_lists_it(tmp_path, word):
    write(tmp_path, [("001", "fraud", ""), ("002", word, ""), ("003", "legit", "")])

    read = labeler_of(tmp_path, **{**WORDS, "missing_means": "unanswered"})
    listed = labeler_of(tmp_path, **WORDS, negative=["legit", word])

    assert given(read.collect(TASKS, None)) == {"k1": Answer.POSITIVE, "k3": Answer.NEGATIVE}
    assert read.values() == ValueCounts(2, {}, {}, {word: 1})
    assert given(listed.collect(TASKS, None))["k2"] is Answer.NEGATIVE
    assert listed.values().missing == {}


@pytest.mark.parametrize("pad", ["{}  ", "\t{}", "{}\u00a0"])
def test_ids_match_up_to_the_blanks_around_them_on_either_side(tmp_path, pad):
    write(tmp_path, [(pad.format("001"), "1", ""), ("002", "0", "")])
    tasks = {"k1": Task("k1", "001"), "k2": Task("k2", pad.format("002"))}

    for kind in ("csv", "parquet"):
        if kind == "parquet":
            pd.read_csv(tmp_path / "truth.csv", dtype=str).to_parquet(tmp_path / "truth.parquet")
        found = labeler_of(tmp_path, path=f"truth.{kind}").collect(tasks, None)

        assert given(found) == {"k1": Answer.POSITIVE, "k2": Answer.NEGATIVE}


@pytest.mark.parametrize(
    "at", ["2062-03-09 00:00", "24/11/2026", "9", "2026-03-02T00:00:00Z and later"]
)
def test_a_row_whose_time_tells_nothing_overrules_no_other(tmp_path, at):
    write(tmp_path, [("001", "0", at), ("001", "1", "2026-03-01 00:00")])

    labeler = labeler_of(tmp_path, time="known_at")

    assert "(labeling.time) does not say which is newer" in labeler.contradictions_sentence(["001"])


def test_a_join_is_counted_with_ids_that_show_how_they_are_written(tmp_path):
    write(tmp_path, [("001", "1", ""), ("002", "0", ""), ("2", "1", ""), ("3", "1", "")])

    labeler = labeler_of(tmp_path)

    assert labeler.truth_of(["001", "002", "003"]) == (2, 1)
    assert labeler.examples() == ("001", "002", "3")
    assert set(labeler.some_ids(3)) < {"001", "002", "2", "3"}
    assert labeler.near_misses(["001", "002", "003"]) == [("003", "3", "leading zeros")]


MAILS = [f"mail{number:04}-é" for number in range(1000, 1010)]
ORDERS = [f"order-{number:05}-from-shop" for number in range(10)]
NUMBERS = [str(4_000_000_000_000 + 10**9 * number) for number in range(1, 11)]
SNOWFLAKES = [str(1_234_567_890_123_456_789 + 1_000_037 * number) for number in range(10)]


@pytest.mark.parametrize(
    ("ids", "written"),
    [
        (MAILS, lambda item: f"order:{item}"),
        (MAILS, lambda item: f"\u200b{item}"),
        (MAILS, lambda item: f"{{{item.upper()}}}"),
        (MAILS, lambda item: f"{item}.eml"),
        (MAILS, lambda item: unicodedata.normalize("NFD", item)),
        (ORDERS, lambda item: item[:16]),
        (NUMBERS, lambda item: f"{int(item):.5E}"),
        (SNOWFLAKES, lambda item: str(int(float(item)))),
        (SNOWFLAKES, lambda item: f"{int(float(item))}.0"),
        (SNOWFLAKES, lambda item: item[:15] + "0000"),  # as a spreadsheet keeps it
        ([str(int(float(item))) for item in SNOWFLAKES], lambda item: str(int(item) + 5)),
        (NUMBERS, lambda item: f"{int(item) / 10**12:.3f}E+12"),
    ],
)
def test_an_id_that_another_tool_wrote_is_a_near_miss(tmp_path, ids, written):
    rows = [*((item, "1", "") for item in ids[:5]), *((written(item), "1", "") for item in ids[5:])]
    write(tmp_path, rows)

    near = labeler_of(tmp_path).near_misses(ids)

    assert {(miss.item, miss.form) for miss in near} == {(item, written(item)) for item in ids[5:]}


@pytest.mark.parametrize(
    "others",
    [
        ["1mail1000-é", "mail1000-é3", "xmail1001-é"],  # words and numbers of their own
        ["return:mail1000-é"],  # one alone is no style
        ["order:mail2000-é", "order:mail2001-é"],
    ],
)
def test_ids_of_other_items_are_no_near_misses(tmp_path, others):
    write(tmp_path, [(item, "1", "") for item in (*MAILS[5:], *others)])

    assert labeler_of(tmp_path).near_misses(MAILS) == []


def test_of_rows_in_time_only_the_newest_of_an_item_may_contradict_one_another(tmp_path):
    rows = [("001", "1", "2026-03-01 00:00"), ("001", "0", "2026-03-02 00:00")]
    write(tmp_path, rows)
    labeler = labeler_of(tmp_path, time="known_at")

    assert labeler.contradictions_sentence(["001", "002"]) is None

    write(tmp_path, [*rows, ("001", "1", "2026-03-02 00:00")])

    assert "several rows contradict one another" in labeler.contradictions_sentence(["001"])


def test_a_setting_that_is_put_right_has_the_same_file_read_again(tmp_path):
    write(tmp_path, [("001", "fraud", ""), ("002", "ham", "")])
    wrong = labeler_of(tmp_path, positive="scam", negative=["ham", "fraud"])
    before = wrong.collect(TASKS, None)

    right = labeler_of(tmp_path, positive="fraud", negative="ham")
    after = right.collect(TASKS, before.cursor)

    assert given(before) == {"k1": Answer.NEGATIVE, "k2": Answer.NEGATIVE}
    assert given(after) == {"k1": Answer.POSITIVE, "k2": Answer.NEGATIVE}


@pytest.mark.parametrize(
    ("positive", "doubtful"),
    [
        ("fraud", ["fraud|account takeover", "Fraud, other", '["other","fraud"]', "a + fraud"]),
        ("fraud", ["fraud;ato", "ato fraud", "other/fraud", "fraud+ato", "fraud (sure)"]),
        ("Yes", ["Yes.", "yes!", "**Yes**", "yes, clearly", "Yes: it is"]),
        ("Yes.", ["Yes", "yes,"]),
        ("account takeover", ["fraud|account_takeover", "Account  Takeover"]),
        (3, ["3|5", "3, 5", "[1, 3]"]),
        ("fraud", ["pending.", "(unknown)"]),
    ],
)
def test_a_value_with_a_positive_word_among_others_is_doubtful(tmp_path, positive, doubtful):
    write(tmp_path, [(f"{index}", value, "") for index, value in enumerate(doubtful)])

    values = labeler_of(tmp_path, positive=positive).values()

    assert values.unknown == dict.fromkeys(doubtful, 1)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("fraud", ["not fraud", "no fraud", "non-fraud", "defraud", "legit, clearly"]),
        (">50K", ["<=50K"]),
        ("A", ["A+", "A-", "B"]),
        (3, ["3.5", "13", "1.3", "-3"]),
    ],
)
def test_a_value_with_a_positive_word_denied_or_in_another_is_no(tmp_path, positive, negative):
    write(tmp_path, [(f"{index}", value, "") for index, value in enumerate(negative)])

    values = labeler_of(tmp_path, positive=positive).values()

    assert not values.unknown
    assert not values.case_variants


def test_where_other_values_are_negative_those_with_a_positive_word_are_counted(tmp_path):
    write(tmp_path, [("001", "fraud|other", ""), ("002", "fraud", ""), ("003", "other", "")])

    values = labeler_of(tmp_path, positive="fraud", unlisted_means="negative").values()

    assert values.case_variants == {"fraud|other": 1}


def test_rows_in_the_log_of_a_duckdb_file_are_read_before_its_next_checkpoint(tmp_path):
    path = tmp_path / "truth.duckdb"
    connection = duckdb.connect(path)
    connection.execute("create table truth (mail_id varchar, is_fraud int)")
    connection.execute("checkpoint")
    connection.execute("insert into truth values ('001', 1)")
    whole, committed = path.read_bytes(), path.with_name("truth.duckdb.wal").read_bytes()
    connection.close()
    path.write_bytes(whole)
    os.utime(path, ns=(1, 1))
    labeler = labeler_of(tmp_path, path="truth.duckdb", table="truth")

    before = labeler.collect(TASKS, None)
    path.with_name("truth.duckdb.wal").write_bytes(committed)
    after = labeler.collect(TASKS, before.cursor)

    assert not given(before)
    assert given(after) == {"k1": Answer.POSITIVE}
