"""The DuckDB source and the source in memory keep one contract; what is read, and how."""

import gzip
import re

import pytest

from monitor.domain.model import BandEdges
from monitor.files.relations import opened
from monitor.sources.duckdb import ENGINE, DuckdbSource
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_query import Scan
from monitor.testing import MemorySource, SourceContract, draw_order
from tests.sources.prediction_files import (
    BY_COUNTRY,
    GOOD,
    TWO,
    WEEK,
    WITH_COUNTRY,
    InFolder,
    csv_source,
    parquet_source,
    settings_with,
    with_country,
    write_csv,
)

COLUMNS_OF_CSV = ("mail_id", "scored_at", "score", "text")


class TestMemorySource(SourceContract):
    def source(self, rows):
        return MemorySource(rows, threshold=0.5, show=("text",), segments=("country",))


class TestCsv(InFolder, SourceContract):
    def source(self, rows):
        write_csv(self.folder / "p.csv", with_country(rows), WITH_COUNTRY)
        return DuckdbSource(settings_with(path="p.csv", columns=BY_COUNTRY), self.folder)


class TestMemorySourceWithPredictedClass(SourceContract):
    def source(self, rows):
        return MemorySource(rows, show=("text",), segments=("country",))


def test_an_id_with_leading_zeros_and_an_id_named_na_stay_as_they_are(tmp_path):
    rows = [("00123", *GOOD[1:]), ("NA", *GOOD[1:]), ("1e5", *GOOD[1:])]

    frame = csv_source(tmp_path, rows).scan(WEEK, TWO, 5, "s")

    assert {candidate.id for candidate in frame.strata[0].candidates} == {"00123", "NA", "1e5"}


def test_several_files_with_columns_in_another_order_are_one_source(tmp_path):
    csv_source(tmp_path, [GOOD])
    path = tmp_path / "more" / "q.csv"
    path.parent.mkdir()
    write_csv(
        path, [("0.1", "b", "2026-03-04 00:00:00Z", "x")], ("score", "mail_id", "scored_at", "text")
    )

    settings = settings_with(path=["p.csv", "more/*.csv"])
    frame = DuckdbSource(settings, tmp_path).scan(WEEK, TWO, 5, "s")

    assert [part.size for part in frame.strata] == [1, 1]


def test_a_gzipped_csv_is_read(tmp_path):
    with gzip.open(tmp_path / "p.csv.gz", "wt") as stream:
        stream.write("mail_id,scored_at,score,text\na,2026-03-03T00:00:00Z,0.9,x\n")

    settings = settings_with(path="p.csv.gz")

    assert DuckdbSource(settings, tmp_path).scan(WEEK, TWO, 5, "s").flagged_size == 1


def test_a_file_name_with_brackets_and_a_quote_is_read_as_it_is(tmp_path):
    write_csv(tmp_path / "it's [1].csv", [GOOD])

    settings = settings_with(path="it's [1].csv")

    assert DuckdbSource(settings, tmp_path).scan(WEEK, TWO, 5, "s").size == 1


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_separator_is_seen_in_the_header(tmp_path, separator, start, end):
    lines = [COLUMNS_OF_CSV, ("#1", GOOD[1], "0.9", '"a\nb"')]
    text = start + "".join(separator.join(line) + end for line in lines)
    (tmp_path / "p.csv").write_bytes(text.encode())

    source = DuckdbSource(settings_with(path="p.csv"), tmp_path)

    assert source.show(["#1"], WEEK) == {"#1": {"text": "a\nb"}}


def test_the_unnamed_first_column_that_pandas_writes_does_no_harm(tmp_path):
    frame = csv_source(tmp_path, [("0", *GOOD)], header=("", *COLUMNS_OF_CSV)).scan(
        WEEK, TWO, 5, "s"
    )

    assert [candidate.id for candidate in frame.strata[0].candidates] == ["a"]


def test_columns_named_like_words_of_the_query_are_not_mixed_up(tmp_path):
    header = ("version", "id", "t", "score", "flagged", "bucket")
    rows = [("a", "7", GOOD[1], "0.9", "x", "eu"), ("b", "7", GOOD[1], "0.9", "x", "us")]
    columns = {"id": "version", "time": "t", "score": "score", "model_version": "id"}

    source = csv_source(
        tmp_path, rows, header=header, columns=columns, where={"bucket": "eu", "flagged": "x"}
    )

    frame = source.scan(WEEK, TWO, 5, "s")
    assert (frame.model_version, [c.id for c in frame.strata[0].candidates]) == ("7", ["a"])


def test_a_long_scan_writes_nothing_to_standard_output(tmp_path, capfd):
    source = csv_source(tmp_path, [GOOD])

    with opened(source.files) as table:
        found = table.rows("select current_setting('enable_progress_bar')")

    assert found == [(False,)]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("positive", "flagged"), [(None, "1"), (1, "1"), (True, "true"), (0, "0"), ("no", "no")]
)
def test_zeros_and_ones_need_no_negative(positive, flagged):
    columns = {"id": "mail_id", "time": "scored_at", "predicted": "class"}
    chosen = {} if positive is None else {"positive": positive}

    found = settings_with(threshold=None, columns=columns, **chosen).negatives

    assert flagged not in found
    assert {"0", "false"} & set(found) or {"1", "true"} & set(found)


@pytest.mark.parametrize(
    ("edges", "sizes", "bad"),
    [
        (BandEdges(), [2, 1], {}),
        (BandEdges(unscored=True), [1, 1, 1, 0], {}),
        (BandEdges(flagged=(0.7,)), [0, 1, 1], {"score missing": 1}),
    ],
)
def test_an_item_without_score_goes_where_the_bands_allow_it(tmp_path, edges, sizes, bad):
    rows = [("a", GOOD[1], "0.9", "1"), ("b", GOOD[1], "", "1"), ("c", GOOD[1], "0.3", "0")]
    columns = {"id": "mail_id", "time": "scored_at", "predicted": "text", "score": "score"}
    source = csv_source(tmp_path, rows, threshold=None, columns=columns)

    frame = source.scan(WEEK, edges.strata(), 5, "s")

    assert [part.size for part in frame.strata] == sizes
    assert dict(frame.bad_rows) == bad


def test_a_large_stratum_loses_the_share_of_repeated_ids_among_its_candidates(tmp_path):
    select = (
        "select (i % 8000)::varchar as mail_id, timestamptz '2026-03-03 00:00:00Z' as scored_at, "
        "0.9 as score, 't' as text from range(10000) t(i)"
    )

    frame = parquet_source(tmp_path, select).scan(WEEK, TWO, 2000, "s")

    assert frame.size + frame.bad_rows["duplicate id"] == frame.rows == 10_000
    assert frame.bad_rows["duplicate id"] == pytest.approx(2000, rel=0.1)


def test_rows_without_a_time_fall_to_windows_by_their_share_of_all_rows(tmp_path):
    times = [f"2026-03-{day:02d}T00:00:00Z" for day in range(1, 29)]
    rows = [(str(n), time, "0.9", "") for n, time in enumerate([*times, "", "", "", "soon"])]

    frame = csv_source(tmp_path, rows).scan(WEEK, TWO, 5, "s")

    assert dict(frame.bad_rows) == {"time missing": 1, "time unparsable": 1}
    assert frame.rows == 7 + 2


def test_reading_a_week_of_a_year_leaves_most_of_the_file_unread(tmp_path):
    select = (
        "select i::varchar as mail_id, timestamp '2026-01-01' + interval (i * 60) second as "
        "scored_at, (i % 100) / 100 as score, '' as text from range(525600) t(i)"
    )
    source = parquet_source(tmp_path, select, time_zone="America/New_York")

    with source.opened() as reading:
        scan = Scan(source, source.query(source.describe_table(reading)), TWO, 5)
        statement = SharedQuery([scan]).draw(WEEK, "s", [{0: "g"}], None)
        sql, values = ENGINE.compiled(statement)
        [(_, plan)] = reading.connection.table.rows(f"explain analyze {sql}", values)

    [(read, total)] = re.findall(r"Row Groups Scanned: (\d+) / (\d+)", plan)
    assert int(total) >= 4
    assert int(read) <= 2


def test_two_hundred_strata_are_cut_and_drawn_as_the_plain_rule_says(tmp_path):
    source = parquet_source(
        tmp_path,
        "select 'mail-' || i as mail_id, (i * 7919 % 10007) / 10007 as score, '' as text, "
        "timestamptz '2026-03-02' + interval (i * 60) second as scored_at from range(6000) t(i)",
    )
    halves = [place / 200 for place in range(1, 100)]
    many = BandEdges(tuple(0.5 + each for each in halves), tuple(halves)).strata()

    frame = source.scan(WEEK, many, 3, "round 1")

    scores = {f"mail-{i}": i * 7919 % 10007 / 10007 for i in range(6000)}
    in_order = sorted(scores, key=lambda each: draw_order("round 1", each))
    assert len(frame.strata) == 200
    for part in frame.strata:
        low = -1 if part.stratum.low is None else part.stratum.low
        high = 2 if part.stratum.high is None else part.stratum.high
        up = part.stratum.flagged
        mine = [i for i in in_order if low <= scores[i] < high and (scores[i] >= 0.5) == up]
        assert part.size == len(mine)
        assert [candidate.id for candidate in part.candidates] == mine[:3]


@pytest.mark.parametrize(
    ("new_rows", "version", "others"),
    [(1, "7", {"model version 8 instead of 7": 1}), (9, "8", {"model version 7 instead of 8": 51})],
)
def test_a_new_version_with_less_than_a_tenth_of_a_window_does_not_replace_the_other(
    tmp_path, new_rows, version, others
):
    versions = ["7"] * (60 - new_rows) + ["8"] * new_rows
    rows = [(f"m{i}", f"2026-03-03T00:00:{i:02}Z", "0.9", of) for i, of in enumerate(versions)]
    columns = {"id": "id", "time": "t", "score": "score", "model_version": "v"}

    source = csv_source(tmp_path, rows, header=("id", "t", "score", "v"), columns=columns)

    frame = source.scan(WEEK, TWO, 5, "s")
    assert (frame.model_version, frame.notes) == (version, others)
