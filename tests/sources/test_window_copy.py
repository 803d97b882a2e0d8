"""A window read once for several monitors gives each of them what its own scan would have found."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pytest
from structlog.testing import capture_logs

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.model import BandEdges, Window
from monitor.domain.ports import PlannedScan, SharesScans
from monitor.files import engine
from monitor.sources import window_copy
from monitor.sources.duckdb import DuckdbSettings, DuckdbSource
from tests.plugins.lake.lake_tables import Delta, mails
from tests.sources.prediction_files import TWO, WEEK, copy_to

BANDS = BandEdges(flagged=(0.7,), passed=(0.1, 0.3)).strata()
MAILS = """
select 'm' || i as mail_id, timestamptz '2026-03-01' + interval (i * 300) second as scored_at,
    case when i % 97 = 0 then null else (i % 100) / 100 end as travel,
    (i * 7 % 100) / 100 as finance, 'v' || (i // 2000) as version,
    case i % 3 when 0 then 'travel' when 1 then 'finance' else 'other' end as topic,
    'team ' || i % 3 as team, 'subject ' || i as subject
from range(3000) t(i)
"""
COLUMNS = {"id": "mail_id", "time": "scored_at", "show": ["subject"]}


@pytest.fixture(params=["p.parquet", "p.csv", "p.duckdb"])
def path(request, tmp_path):
    whole = tmp_path / request.param
    if whole.suffix == ".duckdb":
        with duckdb.connect(str(whole)) as connection:
            connection.execute(f"create table mails as {MAILS}")
    elif whole.suffix == ".csv":
        texts = MAILS.replace("timestamptz '2026-03-01'", "timestamp '2026-03-01'")
        with duckdb.connect() as connection:
            connection.execute(f"copy ({texts}) to '{whole}'")
    else:
        copy_to(whole, MAILS)
    return whole


def source_of(path, score="travel", **changes):
    settings = {"path": path.name, "columns": COLUMNS | {"score": score}, "threshold": 0.5}
    if path.suffix == ".duckdb":
        settings["table"] = "mails"
    if path.suffix == ".csv":
        settings["time_zone"] = "UTC"
    columns = settings["columns"] | changes.pop("columns", {})
    settings = settings | changes | {"columns": columns}
    return DuckdbSource(DuckdbSettings.model_validate(settings), path.parent)


def shared(*sources, seed="round 1", window=WEEK):
    sources[0].read_for(planned(*sources), window, seed)
    return sources


def planned(*sources):
    """A copy serves scans by all strata, so none of these is foreseen."""
    return [PlannedScan(source, (), 0) for source in sources]


KINDS = {
    "scores": [{}, {"score": "finance"}],
    "classes": [
        {
            "threshold": None,
            "columns": {"predicted": "topic"},
            "positive": one,
            "negative": [two, "other"],
        }
        for one, two in (("travel", "finance"), ("finance", "travel"))
    ],
    "versions and segments": [
        {"columns": {"model_version": "version", "segments": ["team"]}},
        {"score": "finance", "columns": {"model_version": "version"}},
    ],
    "challengers": [{"challenger": {"score": "finance", "threshold": 0.4}}, {"score": "finance"}],
}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_each_source_finds_what_its_own_scan_finds(path, kinds, monkeypatch):
    alone = [source_of(path, **kind) for kind in kinds]
    together = shared(*(source_of(path, **kind) for kind in kinds))
    expected = [
        [source.scan(WEEK, strata, 40, "round 1") for strata in (TWO, BANDS)] for source in alone
    ]
    if path.suffix != ".csv":  # rows without a time are looked for in all of it
        monkeypatch.setattr(DuckdbSource, "opened", None)

    found = [
        [source.scan(WEEK, strata, 40, "round 1") for strata in (TWO, BANDS)] for source in together
    ]

    assert found == expected


def test_a_window_is_cut_by_other_strata_from_the_same_rows(path):
    alone, together = source_of(path), shared(source_of(path), source_of(path, "finance"))[0]

    again = together.scan_again(together.scan(WEEK, TWO, 3000, "s"), BANDS, 25, "s")

    assert again == alone.scan(WEEK, BANDS, 25, "s")


def test_another_window_or_seed_is_read_by_itself(path):
    alone, (source, _) = source_of(path), shared(source_of(path), source_of(path, "finance"))
    other = Window(WEEK.start, WEEK.end.replace(day=5))

    assert source.scan(other, TWO, 9, "round 1") == alone.scan(other, TWO, 9, "round 1")
    assert source.scan(WEEK, TWO, 9, "round 2") == alone.scan(WEEK, TWO, 9, "round 2")


def test_files_that_changed_since_are_read_anew(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    source, _ = shared(source_of(path), source_of(path, "finance"))
    copy_to(path, MAILS.replace("'m' ||", "'n' ||"))

    frame = source.scan(WEEK, TWO, 9, "round 1")

    assert {c.id[0] for part in frame.strata for c in part.candidates} == {"n"}


def test_a_source_whose_column_is_missing_is_left_out_and_says_so_itself(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    broken, good = source_of(path, "travle"), source_of(path, "finance")

    shared(broken, good)

    assert (broken.copied, good.copied is None) == (None, False)
    with pytest.raises(SourceRefused, match=r"no column 'travle'.*did you mean 'travel'"):
        broken.scan(WEEK, TWO, 9, "round 1")


def there(copy):
    """Count the tables that DuckDB has of a copy: one or none."""
    with engine.session(alone=False) as connection:
        found = connection.execute(
            "select count(*) from duckdb_tables() where table_name = ?", [copy.table.relation]
        ).fetchall()
    return found[0][0]


@pytest.mark.parametrize("column", ["score", "predicted"])
def test_a_challenger_that_cannot_be_read_is_told_by_its_monitor_and_costs_the_others_nothing(
    path, column
):
    challenger = {column: "v8"} | ({"threshold": 0.4} if column == "score" else {})
    classes = {"positive": "yes", "negative": "no"} if column == "predicted" else {}
    kinds: list[Any] = [{"challenger": challenger, **classes}, {"score": "finance"}]
    broken, good = shared(*(source_of(path, **kind) for kind in kinds))

    found = [source.scan(WEEK, TWO, 40, "round 1") for source in (broken, good)]

    assert (broken.copied, good.copied.readers) == (None, {id(good)})
    assert f"has no column 'v8' (challenger.{column})" in found[0].challenger_fault
    assert found == [source_of(path, **kind).scan(WEEK, TWO, 40, "round 1") for kind in kinds]


def test_the_rows_go_with_their_last_reader(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    first, second = shared(source_of(path), source_of(path, "finance"))
    copy = first.copied

    assert there(copy) == 1
    first.release()
    assert there(copy) == 1
    second.release()
    assert there(copy) == 0


def test_a_database_that_was_started_anew_has_no_such_rows(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    source, other = shared(source_of(path), source_of(path, "finance"))
    engine.forget()

    assert source.scan(WEEK, TWO, 9, "s") == source_of(path).scan(WEEK, TWO, 9, "s")
    source.release()
    other.release()


def test_types_that_would_come_back_as_others_are_not_shared(tmp_path):
    path = tmp_path / "p.duckdb"
    huge = MAILS.replace("'m' || i as mail_id", "i::hugeint as mail_id")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"create table mails as {huge}")
    source, _ = shared(source_of(path), source_of(path, "finance"))

    frame = source.scan(WEEK, TWO, 9, "s")

    assert source.copied is None
    assert frame == source_of(path).scan(WEEK, TWO, 9, "s")


@pytest.fixture
def small_engine(tmp_path, monkeypatch):
    """A DuckDB of little memory, started where no folder can be made."""
    (tmp_path / "read_only").mkdir()
    (tmp_path / "read_only" / ".tmp").touch()  # where DuckDB itself would make one
    monkeypatch.chdir(tmp_path / "read_only")
    monkeypatch.setattr(engine, "MEMORY", "40MB")
    engine.forget()
    yield
    engine.forget()


MANY = MAILS.replace("range(3000)", "range(600_000)").replace("i * 300", "i")


def test_rows_that_do_not_fit_into_memory_go_to_a_folder_that_is_closed_to_others(
    tmp_path, small_engine
):
    path = tmp_path / "p.parquet"
    copy_to(path, MANY)
    source, other = shared(source_of(path), source_of(path, "finance"))
    folder = Path(engine.spill_folder(os.getpid()))

    spilled = [*folder.iterdir()]
    found = source.scan(WEEK, BANDS, 40, "round 1")

    assert spilled
    assert folder.parent == Path(tempfile.gettempdir())
    assert folder.stat().st_mode & 0o077 == 0
    assert source.copied.is_there
    source.release()
    other.release()
    assert found == source.scan(WEEK, BANDS, 40, "round 1")


def test_rows_that_fit_nowhere_are_not_shared_and_each_source_reads_for_itself(
    tmp_path, small_engine, monkeypatch
):
    path = tmp_path / "p.parquet"
    copy_to(path, MANY)
    monkeypatch.setattr(engine, "spill_folder", lambda _: "")
    source, other = source_of(path), source_of(path, "finance")

    with pytest.raises(SourceUnavailable, match="Out of Memory"):
        source.read_for(planned(source, other), WEEK, "round 1")

    assert (source.copied, other.copied) == (None, None)
    assert source.scan(WEEK, TWO, 9, "round 1").size > 500_000


def test_a_fault_while_the_rows_are_scanned_drops_them_and_the_table_is_read(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    source, other = shared(source_of(path), source_of(path, "finance"))
    copy, expected = source.copied, source_of(path).scan(WEEK, TWO, 9, "round 1")
    with engine.session(alone=False) as connection:
        connection.execute(f"alter table {copy.table.relation} drop column travel")

    with capture_logs() as logs:
        found = source.scan(WEEK, TWO, 9, "round 1")

    assert found == expected
    assert [line["event"] for line in logs] == ["rows of a shared window dropped"]
    assert there(copy) == 0
    assert not other.copied.serves(WEEK, other.state())
    other.release()
    source.release()


def test_leaving_raises_nothing_and_leaves_no_lock(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    source, other = shared(source_of(path), source_of(path, "finance"))
    copy = source.copied
    source.release()
    monkeypatch.setattr(window_copy, "session", None)

    with capture_logs() as logs:
        other.release()

    assert [line["event"] for line in logs] == ["rows of a shared window not dropped"]
    assert copy._lock.acquire(blocking=False)


def test_the_last_two_readers_may_leave_at_the_same_moment(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    for _ in range(20):
        sources = shared(*(source_of(path) for _ in range(4)))
        copy = sources[0].copied
        with capture_logs() as logs, ThreadPoolExecutor(4) as pool:
            [*pool.map(DuckdbSource.release, sources)]

        assert (logs, there(copy)) == ([], 0)


@pytest.mark.parametrize("zone", ["Pacific/Pago_Pago", "Pacific/Kiritimati"])
@pytest.mark.parametrize("column_zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_times_without_a_zone_are_shared_to_the_hour_whatever_the_zone_of_the_window(
    tmp_path, zone, column_zone
):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS.replace("timestamptz", "timestamp"))
    window = Window(*(at.astimezone(ZoneInfo(zone)) for at in (WEEK.start, WEEK.end)))
    first, second = (source_of(path, time_zone=column_zone) for _ in range(2))
    shared(first, second, window=window)

    found = first.scan(window, TWO, 9, "round 1")

    assert first.copied.serves(WEEK, first.state())
    there = WEEK.start.astimezone(ZoneInfo(column_zone)).replace(tzinfo=UTC)
    shift = (there - WEEK.start).total_seconds()
    in_utc = MAILS.replace("timestamptz", "timestamp").replace("i * 300", f"i * 300 - {shift:.0f}")
    copy_to(tmp_path / "utc.parquet", in_utc)
    other = source_of(tmp_path / "utc.parquet", time_zone="UTC")
    assert found.strata == other.scan(WEEK, TWO, 9, "round 1").strata


def test_a_column_that_has_the_name_of_the_hash_is_not_hidden(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, f"select *, 1 as {window_copy.HASHED} from ({MAILS})")

    source, _ = shared(source_of(path), source_of(path, "finance"))

    assert source.copied is None


def test_tables_are_told_apart_by_what_is_read_of_them(tmp_path):
    path = tmp_path / "p.parquet"
    usual = source_of(path).table

    assert source_of(path, "finance").table == usual
    others = [
        source_of(tmp_path / "other.parquet"),
        source_of(path, where={"team": "team 1"}),
        source_of(path, time_zone="Europe/Prague"),
        source_of(path, columns={"id": "subject"}),
        source_of(path, columns={"time": "sent_at"}),
        source_of(path, columns={"model_version": "version"}),
    ]
    assert usual not in {source.table for source in others}
    assert isinstance(source_of(path), SharesScans)


def test_only_rows_that_count_are_shared(path):
    kinds: list[Any] = [{"where": {"team": "team 1"}}]
    kinds += [{"where": {"team": "team 1"}, "score": "finance"}]
    together = shared(*(source_of(path, **kind) for kind in kinds))

    found = [source.scan(WEEK, BANDS, 40, "s") for source in together]

    assert found == [source_of(path, **kind).scan(WEEK, BANDS, 40, "s") for kind in kinds]


def test_a_file_that_is_gone_is_no_reading(tmp_path):
    source = source_of(tmp_path / "p.parquet")

    with pytest.raises(SourceRefused, match=r"no file matches p\.parquet"):
        source.read_for(planned(source), WEEK, "s")
    assert source.copied is None


class TestLake:
    @pytest.fixture
    def lake(self, tmp_path):
        lake = Delta(tmp_path)
        lake.write(mails(50))
        return lake

    def test_a_snapshot_is_read_once_and_its_frames_name_it(self, lake):
        first, second = lake.source(), lake.source()
        expected = lake.source().scan(WEEK, TWO, 9, "s")
        first.read_for(planned(first, second), WEEK, "s")

        found = [source.scan(WEEK, TWO, 9, "s") for source in (first, second)]

        assert found == [expected, expected]
        assert first.copied.readers == {id(first), id(second)}

    def test_a_newer_snapshot_is_read_by_itself(self, lake):
        first, second = lake.source(), lake.source()
        first.read_for(planned(first, second), WEEK, "s")
        lake.write(mails(7, first=100), mode="overwrite")

        assert second.scan(WEEK, TWO, 9, "s") == lake.source().scan(WEEK, TWO, 9, "s")
