"""Files that change while a round is drawn from them, and ids of every kind in what people see."""

import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Answer, Task
from monitor.labeling.column import ColumnSettings
from monitor.sources.duckdb import DuckdbSource
from tests.engine import engine
from tests.sources.prediction_files import TWO, WEEK, copy_to, parquet_source, settings_with
from tests.truth_files import labeler_of_files

AT = "timestamptz '2026-03-02' + interval (i * 60) second as scored_at"
MAILS = (
    f"select 'a-' || i as mail_id, {AT}, (i % 100) / 100 as score, '' as text from range(6000) t(i)"
)

TEXTS = ["007", "7", "7.0", "žluť 😀", " 7 ", r"lite\x00ral", "x" * 5000, "NULL", "'; drop"]
KINDS = {
    "varchar": TEXTS,
    "bigint": ["7", "-9223372036854775808"],
    "decimal(20, 0)": ["7", "12345678901234567890"],
    "uuid": ["6f1dca4e-6f0a-4d7e-9c55-000000000007"],
    "enum('007', '7')": ["007", "7"],
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda path: copy_to(path, MAILS.replace("as mail_id", "as mail_uid")),
            "no column 'mail_id'.*did you mean 'mail_uid'",
        ),
        (
            lambda path: path.write_bytes(path.read_bytes()[:20_000]),
            "is it a whole, valid parquet file",
        ),
    ],
    ids=["a column is renamed", "the file is cut short"],
)
def test_what_changes_between_two_readings_of_a_window_is_refused(tmp_path, change, said):
    source = parquet_source(tmp_path, MAILS)
    source.scan(WEEK, TWO, 50, "round 1")
    change(tmp_path / "p.parquet")

    with pytest.raises(SourceRefused, match=said):
        source.scan(WEEK, TWO, 25, "round 1")
    with pytest.raises(SourceRefused, match=said):
        source.show(["a-1"], WEEK)


def with_ids(path, kind, ids, more):
    with engine() as connection:
        connection.execute(f"create temp table t (mail_id {kind}, {more[0]})")
        for place, each in enumerate(ids):
            connection.execute(f"insert into t values (?, {more[1]})", [each, place])
        connection.execute(f"copy t to '{path}' (format parquet)")


@pytest.mark.parametrize("kind", KINDS)
def test_truth_is_that_of_the_id_that_was_drawn_up_to_blanks_around_it(tmp_path, kind):
    ids = list({each.strip(): each for each in KINDS[kind]}.values())
    with_ids(tmp_path / "t.parquet", kind, ids, ("truth integer", "? % 2"))
    asked = {"path": "t.parquet", "id": "mail_id", "value": "truth", "matures": "5d"}
    labeler = labeler_of_files(ColumnSettings.model_validate(asked), tmp_path)

    for place, each in enumerate(ids):
        [event] = labeler.collect({"k": Task("k", each)}, None).events
        assert event.answer is Answer(str(place % 2))


def test_a_nul_and_its_picture_are_the_same_id_wherever_it_is_looked_for(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(
        path,
        "select 'a' || chr(0) || 'b' as mail_id, timestamptz '2026-03-03' as scored_at, "
        "0.9 as score, 'seen' as text, 1 as truth union all "
        "select 'other', timestamptz '2026-03-03', 0.9, 'not asked for', 0",
    )
    asked = {"path": "p.parquet", "id": "mail_id", "value": "truth", "matures": "5d"}
    labeler = labeler_of_files(ColumnSettings.model_validate(asked), tmp_path)

    shown = DuckdbSource(settings_with(), tmp_path).show([r"a\x00b"], WEEK)
    [event] = labeler.collect({"k": Task("k", r"a\x00b")}, None).events

    assert shown == {r"a\x00b": {"text": "seen"}}
    assert event.answer is Answer.POSITIVE
