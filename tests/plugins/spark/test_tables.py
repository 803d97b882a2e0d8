"""Tables, views and patterns of files; sessions of somebody else; what goes wrong."""

import time
from datetime import timedelta

import pyarrow as pa
import pytest
from pydantic import ValidationError

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.plugins.spark.session import session_for
from monitor.sources import sql_draw
from tests.plugins.spark.places import CONFIG, settings_with, source_of, write
from tests.sources.prediction_files import TWO, WEEK, refused
from tests.sources.sql.databases import COLUMNS, drawn, rows_with


@pytest.fixture
def table(spark, tmp_path):
    write(tmp_path, rows_with(score=[0.9, 0.1]), name="1.parquet")
    spark.sql(f"create table scored using parquet location 'file://{tmp_path}'")
    yield "scored"
    spark.sql("drop table scored")


def test_a_table_and_a_view_of_it_are_read_with_what_others_have_written_since(
    table, spark, tmp_path
):
    spark.sql("create or replace temp view flagged as select * from scored where score > 0.5")
    sources = [source_of(tmp_path, table=name) for name in (table, "flagged")]
    before = [source.scan(WEEK, TWO, 9, "s").size for source in sources]

    write(tmp_path, rows_with(id=["new"]), name="2.parquet")
    after = [source.scan(WEEK, TWO, 9, "s").size for source in sources]

    assert (before, after) == ([2, 1], [3, 2])


def test_a_column_that_a_folder_is_named_by_too_is_refused(spark, tmp_path):
    folder = tmp_path / "p" / "score=0.1"
    folder.mkdir(parents=True)
    write(folder, rows_with(score=[0.9, 0.8]))

    assert "'score' is a column of the files and the name of the folders" in refused(
        source_of(tmp_path, path="p")
    )


def test_times_with_a_zone_beside_times_without_one_are_refused(spark, tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    write(folder, rows_with(id=["a"]), name="1.parquet")
    naive = [{**row, "time": row["time"].replace(tzinfo=None)} for row in rows_with(id=["b"])]
    write(folder, naive, name="2.parquet", at=pa.timestamp("us"))

    assert "some files have times with a zone in column 'at'" in refused(
        source_of(tmp_path, path="p", time_zone="UTC")
    )


def test_an_id_column_that_is_blind_to_case_is_not(spark, tmp_path):
    spark.sql(
        "create or replace temp view blind as select id collate utf8_lcase as id, at, score, "
        "text from values ('A', timestamp'2026-03-03 00:00:00Z', 0.9, ''), "
        "('a', timestamp'2026-03-03 00:00:00Z', 0.9, '') as t(id, at, score, text)"
    )
    source = source_of(tmp_path, table="blind")

    assert sorted(drawn(source.scan(WEEK, TWO, 9, "s"))) == ["A", "a"]
    assert set(source.show(["a"], WEEK)) == {"a"}


def test_a_nul_in_an_id_is_made_visible(spark, tmp_path):
    write(tmp_path, rows_with(id=["a\x00b", " "]))

    assert sorted(drawn(source_of(tmp_path).scan(WEEK, TWO, 9, "s"))) == [" ", r"a\x00b"]


def test_files_that_go_while_they_are_read_are_tried_again(spark, tmp_path, monkeypatch):
    write(tmp_path, rows_with(id=["a"]))
    drawn_from = sql_draw.drawn_from

    def after_a_change(*arguments):
        (tmp_path / "scored.parquet").unlink()
        return drawn_from(*arguments)

    monkeypatch.setattr(sql_draw, "drawn_from", after_a_change)

    with pytest.raises(SourceUnavailable, match="files of it went while they were read"):
        source_of(tmp_path).scan(WEEK, TWO, 9, "s")


def test_files_that_are_added_while_they_are_read_are_not_read(spark, tmp_path, monkeypatch):
    (tmp_path / "days").mkdir()
    write(tmp_path / "days", rows_with(id=["a"]), name="1.parquet")
    drawn_from = sql_draw.drawn_from

    def after_a_change(*arguments):
        write(tmp_path / "days", rows_with(id=["b"]), name="2.parquet")
        return drawn_from(*arguments)

    monkeypatch.setattr(sql_draw, "drawn_from", after_a_change)

    frame = source_of(tmp_path, path="days").scan(WEEK, TWO, 9, "s")

    assert (frame.size, drawn(frame)) == (1, ["a"])


def test_a_scan_that_takes_too_long_is_ended_in_spark(spark, tmp_path):
    spark.sql(
        "create or replace temp view endless as select cast(id as string) as id, "
        "timestamp'2026-03-03 00:00:00Z' as at, sin(id) as score, '' as text "
        "from range(0, 200000000000, 1, 4)"
    )
    source = source_of(tmp_path, table="endless", timeout="3s")

    with pytest.raises(SourceUnavailable, match=r"did not answer within 3 s: .* source\.timeout"):
        source.scan(WEEK, TWO, 9, "s")

    until = time.monotonic() + 30
    while spark.sparkContext.statusTracker().getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.1)
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_without_an_address_the_session_that_is_there_is_used_as_it_is(spark):
    before = dict(spark.sparkContext.getConf().getAll())

    found = session_for(settings_with(master=None, config={}))

    assert found is spark
    assert dict(spark.sparkContext.getConf().getAll()) == before


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"master": "spark://h:7077"}, "source names spark://h:7077"),
        ({"config": {**CONFIG, "spark.x": "1"}}, "with other settings in source.config"),
        ({"master": None, "config": {}, "remote": "sc://h:1/;token=s3cret"}, "names sc://h:1,"),
    ],
)
def test_another_cluster_than_that_of_the_session_is_refused(spark, tmp_path, asked, found):
    said = refused(source_of(tmp_path, **asked))

    assert "this process already has a Spark session, local[2]" in said
    assert found in said
    assert "s3cret" not in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"table": "t", "path": "p"}, "both are there"),
        ({"path": None}, "neither is there"),
        ({"remote": "sc://h"}, "name one"),
        ({"master": "sc://h"}, "write it as remote"),
        ({"master": None}, "config is for a session that master starts"),
        ({"path": None, "table": "t", "format": "orc"}, "a table knows its own"),
        ({"format": "csv"}, "'parquet', 'orc' or 'delta'"),
    ],
)
def test_settings_that_contradict_one_another_are_refused(asked, said):
    given = {"path": "p", "master": "local[2]", "config": CONFIG, "columns": COLUMNS}

    with pytest.raises(ValidationError, match=said):
        type(settings_with()).model_validate({**given, "threshold": 0.5, **asked})


def test_no_secret_is_in_a_text_of_the_settings():
    shown = repr(settings_with(config={"spark.hadoop.fs.s3a.secret.key": "s3cret"}))

    assert "s3cret" not in shown
    assert timedelta(minutes=10) == settings_with().timeout


def test_a_missing_library_is_named_with_the_extra(tmp_path, monkeypatch):
    def missing(_):
        message = "No module named 'pyspark'"
        raise ImportError(message)

    monkeypatch.setattr("monitor.plugins.spark.source.session_for", missing)

    with pytest.raises(SourceRefused, match=r"pip install 'mlflow-pr-monitor\[spark\] @ git\+"):
        source_of(tmp_path).count(WEEK)
