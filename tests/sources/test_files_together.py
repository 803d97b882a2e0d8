"""Files that are read as one table, though they were written in different ways."""

import gzip
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from monitor.domain.model import Window
from monitor.sources import duckdb
from monitor.sources.duckdb import DuckdbSource
from tests.sources.prediction_files import (
    TWO,
    WEEK,
    copy_to,
    parquet_source,
    refused,
    settings_with,
)

ROW = "'a' as mail_id, timestamptz '2026-03-03 12:00:00+00' as scored_at, 0.9 as score"
BY = {"id": "mail_id", "time": "scored_at", "score": "score"}


def files(folder, selects, **changes):
    """Write a file for each path, and read all of them."""
    for path, select in selects.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        copy_to(folder / path, f"select {select}")
    given = {"path": "**/*.parquet", "columns": BY, **changes}
    return DuckdbSource(settings_with(**given), folder)


def scan(source, window=WEEK):
    return source.scan(window, TWO, 50, "seed")


def day(number, end=None):
    start = datetime(2026, 3, number, tzinfo=UTC)
    return Window(start, end or start.replace(day=number + 1))


def test_a_column_of_the_files_is_not_replaced_by_the_name_of_a_folder_as_others_are(tmp_path):
    regions = ["e%20u", "us", "__HIVE_DEFAULT_PARTITION__"]
    paths = [f"scored_at=2026-03-01/region={each}/of=2026-03-01/p.parquet" for each in regions]
    of_region = {**BY, "segments": ["region"]}
    rows = [ROW.replace("'a'", f"'{n}'") for n in range(3)]
    source = files(tmp_path, dict(zip(paths, rows, strict=True)), columns=of_region)

    drawn = scan(source, day(3)).strata[0].candidates

    assert {each.id: each.segments for each in drawn} == {
        "0": ("e u",),
        "1": ("us",),
        "2": ("(no value)",),
    }
    assert source.columns()["of"] == "DATE"


def test_the_name_of_a_folder_is_a_text_or_a_day(tmp_path):
    paths = [f"shop=00{n}/of=2026-03-0{n}/p.parquet" for n in (3, 4)]
    source = files(
        tmp_path,
        dict.fromkeys(paths, ROW),
        columns={**BY, "segments": ["shop"]},
        where={"of": "2026-03-03"},
    )

    frame = scan(source)

    assert [part.candidates[0].segments for part in frame.strata if part.size] == [("003",)]
    assert source.columns()["of"] == "DATE"


@pytest.mark.parametrize("other", ["score=0", "all"])
def test_csv_files_keep_a_column_that_a_folder_is_named_by(tmp_path, other):
    header, row = "mail_id,scored_at,score", "2026-03-03T12:00:00Z,0.9"
    texts = {
        f"day=2026-03-03/{other}/p.csv": f"{header},more\na,{row},x\n",
        "day=2026-03-04/score=0/p.csv": f"{header}\nb,{row}\n",
    }
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    source = DuckdbSource(settings_with(path="**/p.csv", columns=BY), tmp_path)

    candidates = scan(source).strata[0].candidates

    assert {each.id: each.score for each in candidates} == {"a": 0.9, "b": 0.9}
    assert "day" in source.columns()


NAIVE = "'b' as mail_id, timestamp '2026-03-03 23:30:00' as scored_at, 0.9 as score"
AWARE = "'c' as mail_id, timestamptz '2026-03-04 22:30:00+00' as scored_at, 0.9 as score"


def test_times_without_a_zone_are_of_the_configured_one_beside_files_with_instants(tmp_path):
    source = files(tmp_path, {"1.parquet": NAIVE, "2.parquet": AWARE}, time_zone="Europe/Prague")
    start, middle, end = (datetime(2026, 3, n, 23, tzinfo=UTC) for n in (2, 3, 4))

    assert [scan(source, Window(*ends)).size for ends in ((start, middle), (middle, end))] == [1, 1]


def test_a_whole_number_is_one_version_segment_and_id_whatever_its_files_make_of_it(tmp_path):
    whole = ROW.replace("'a'", "7") + ", 7 as v, 12 as shop"
    fraction = ROW.replace("'a'", "8") + ", 7.0::double as v, 12.0::double as shop"
    text = ROW.replace("'a'", "'9'") + ", '7' as v, '12' as shop"
    source = files(
        tmp_path,
        {"1.parquet": whole, "2.parquet": fraction, "3.parquet": text},
        columns={**BY, "model_version": "v", "segments": ["shop"]},
    )

    frame = scan(source)

    assert frame.model_version == "7"
    assert {(each.id, *each.segments) for each in frame.strata[0].candidates} == {
        (name, "12") for name in "789"
    }


def test_a_whole_number_is_one_version_in_csv_where_values_are_missing_in_one_file(tmp_path):
    for name, version in (("1", "7"), ("2", "7.0")):
        row = f"{name},2026-03-03T12:00:00Z,0.9,{version}\n"
        (tmp_path / f"{name}.csv").write_text(f"mail_id,scored_at,score,v\n{row}")
    columns = {**BY, "model_version": "v"}
    source = DuckdbSource(settings_with(path="*.csv", columns=columns), tmp_path)

    frame = scan(source)

    assert (frame.model_version, frame.size) == ("7", 2)


def test_truths_and_numbers_of_one_column_stay_what_each_file_has(tmp_path):
    other = ROW.replace("'a'", "'b'")
    rows = {"1.parquet": f"{ROW}, true as flag", "2.parquet": f"{other}, 1 as flag"}
    columns = {"id": "mail_id", "time": "scored_at", "predicted": "flag"}
    source = files(tmp_path, rows, columns=columns, threshold=None, positive=True, negative=False)

    frame = scan(source)

    assert (frame.size, frame.unknown) == (1, {"1": 1})


@pytest.mark.parametrize("score", ["0.69999998", "0.6999999999999999"])
def test_a_score_of_64_bits_just_below_the_threshold_is_not_flagged(tmp_path, score):
    source = parquet_source(
        tmp_path, f"select {ROW.replace('0.9', f'{score}::double')}", columns=BY, threshold=0.7
    )

    assert [part.size for part in scan(source).strata] == [0, 1]


def test_a_challenger_flags_32_bit_scores_at_its_threshold(tmp_path):
    challenger = {"name": "c", "score": "other", "threshold": 0.7}
    select = f"select {ROW}, 0.7::float as other"
    source = parquet_source(tmp_path, select, columns=BY, challenger=challenger)

    assert scan(source).strata[0].candidates[0].challenged is True


def test_local_times_are_read_by_the_rules_for_zones_that_windows_have(tmp_path, monkeypatch):
    duckdb.clock_changes.cache_clear()
    monkeypatch.setattr(duckdb, "ZoneInfo", lambda _: ZoneInfo("Asia/Tokyo"))
    rows = NAIVE.replace("timestamp ", "")
    source = parquet_source(tmp_path, f"select {rows}", columns=BY, time_zone="America/Vancouver")

    assert source.span()[0] == datetime(2026, 3, 3, 14, 30, tzinfo=UTC)
    assert scan(source, day(3)).size == 1
    duckdb.clock_changes.cache_clear()


@pytest.mark.parametrize("zone", ["Europe/Prague", "Australia/Lord_Howe", "America/St_Johns"])
def test_a_local_time_is_the_later_of_both_where_the_clock_repeats_it(zone):
    known = ZoneInfo(zone)
    first, changes = duckdb.clock_changes(zone)

    of_2026 = [(at, after) for at, after in changes if at.year == 2026]
    for at, after in of_2026:
        for local in (at, at.replace(second=59)):
            assert local.replace(tzinfo=known, fold=1).utcoffset() == timedelta(seconds=after)
    assert datetime(1970, 1, 1, tzinfo=known).utcoffset() == timedelta(seconds=first)
    assert len(of_2026) == 2


LINES = [f"m{n},2026-03-03T12:00:00Z,0.{n % 10}1,x" for n in range(60)]
HEADER = "mail_id,scored_at,score,text"


def csv(folder, text, name="p.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return DuckdbSource(settings_with(path=name, columns=BY), folder)


def test_lines_that_end_with_cr_alone_are_read(tmp_path):
    assert scan(csv(tmp_path, "\r".join([HEADER, *LINES]))).size == 60


def test_the_first_line_that_ends_otherwise_is_named(tmp_path):
    head, tail = "\r\n".join([HEADER, *LINES[:30], ""]), "\n".join(LINES[30:])

    assert "line 32 of p.csv has another line end (LF) than line 1 (CR LF)" in refused(
        csv(tmp_path, f"{head}{tail}\n")
    )


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "compressed by gzip; end its name with .csv.gz"),
        (b"PAR1....", "a Parquet file; end its name with .parquet"),
        ("a,b\n".encode("utf-16"), "UTF-16; save it as UTF-8"),
    ],
)
def test_a_file_of_another_format_is_called_by_it(tmp_path, content, what):
    assert refused(csv(tmp_path, content)).endswith(f"p.csv cannot be read as CSV: it is {what}")


def swallowing(first, last, column=3):
    """Lines of which one begins a cell with a quote, and a later one ends a cell with one."""
    lines = [line.split(",") for line in LINES]
    lines[first][column], lines[last][column] = (
        f'"{lines[first][column]}',
        f'{lines[last][column]}"',
    )
    return "\n".join([HEADER, *(",".join(line) for line in lines)])


@pytest.mark.parametrize("column", [0, 3])
@pytest.mark.parametrize("last", [11, 40])
def test_a_quote_that_swallows_rows_is_refused_with_its_lines(tmp_path, last, column):
    said = refused(csv(tmp_path, swallowing(10, last, column)))

    assert f"a quote in line 12 opens a cell that goes on to line {last + 2}, over" in said


def test_a_text_of_several_lines_with_as_many_separators_is_read(tmp_path):
    text = '"Hello\nsome, other, words, here\nand, more, of, them"'

    assert (
        scan(csv(tmp_path, "\n".join([HEADER, *LINES, f"z,2026-03-03T12:00:00Z,0.9,{text}"]))).size
        == 61
    )
