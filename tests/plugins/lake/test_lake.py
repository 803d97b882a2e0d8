"""Delta and Iceberg tables keep the contract of sources, and each scan reads one snapshot."""

import shutil
import traceback
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from monitor.domain.errors import SnapshotMissing, SourceRefused, SourceUnavailable
from monitor.domain.model import Window
from monitor.domain.ports import at_snapshot
from monitor.plugins.lake.source import near
from monitor.sources.duckdb import DuckdbSource
from monitor.testing import SourceContract
from monitor.testing.source_contract import example_rows
from tests.plugins.lake.lake_tables import (
    Delta,
    Iceberg,
    delete_by_positions,
    delete_by_vector,
    mails,
)
from tests.sources.prediction_files import TWO, WEEK, InFolder, settings_with


class TestDelta(InFolder, SourceContract):
    def source(self, rows):
        lake = Delta(self.folder)
        lake.write(rows, mode="overwrite")
        return lake.source()


class TestIceberg(InFolder, SourceContract):
    def source(self, rows):
        lake = Iceberg(self.folder)
        lake.write(rows, mode="overwrite")
        return lake.source()


@pytest.fixture(params=[Delta, Iceberg], ids=["delta", "iceberg"])
def lake(request, tmp_path):
    return request.param(tmp_path)


def ids_of(frame):
    return {candidate.id for part in frame.strata for candidate in part.candidates}


def test_what_is_shown_is_of_the_snapshot_that_was_counted(lake):
    lake.write(mails(3))
    source = lake.source()
    frame = source.scan(WEEK, TWO, 5, "s")
    lake.write(mails(5, first=10), mode="overwrite")

    shown = at_snapshot(source, frame.snapshot).show(["m0", "m1", "m2"], WEEK)

    assert shown["m1"] == {"text": "mail 1"}
    assert source.show(["m0"], WEEK) == {}
    assert source.scan(WEEK, TWO, 5, "s").size == 5


def test_another_process_draws_the_same_from_the_snapshot(lake):
    lake.write(example_rows())
    before = lake.source().scan(WEEK, TWO, 20, "s")
    lake.write(mails(5, first=100))

    again = lake.source().at(before.snapshot).scan(WEEK, TWO, 20, "s")

    assert again == before


TIMES = {
    "a time with a zone": (pa.timestamp("us", tz="UTC"), {}),
    "a time without a zone": (pa.timestamp("us"), {"time_zone": "America/New_York"}),
    "a day": (pa.date32(), {"time_zone": "Asia/Tokyo"}),
}


@pytest.mark.parametrize(
    ("kind", "name"), list(zip(TIMES, ["scored.at", 'a"quote', "Select"], strict=True))
)
def test_a_window_is_the_same_whatever_its_times_are_and_are_called(lake, tmp_path, kind, name):
    times, changes = TIMES[kind]
    at = [datetime(2026, 2, 20, tzinfo=UTC) + n * timedelta(hours=7) for n in range(90)]
    column = pa.array(at, pa.timestamp("us", tz="UTC")).cast(pa.timestamp("us")).cast(times)
    ids = [f"m{n}" for n in range(90)]
    table = pa.table({"mail_id": ids, name: column, "score": [0.9] * 90})
    lake.write_arrow(table)
    pq.write_table(table, tmp_path / "p.parquet")
    columns = {"id": "mail_id", "time": name, "score": "score"}

    frame = lake.source(columns=columns, **changes).scan(WEEK, TWO, 90, "s")

    files = settings_with(path="p.parquet", columns=columns, **changes)
    assert frame == DuckdbSource(files, tmp_path).scan(WEEK, TWO, 90, "s")
    assert 0 < frame.size < 90


@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE", "TIMESTAMP WITH TIME ZONE"])
def test_files_that_may_hold_rows_of_a_window_are_the_same_in_every_zone(kind):
    far = Window(*(at.astimezone(ZoneInfo("Pacific/Pago_Pago")) for at in (WEEK.start, WEEK.end)))

    found = near(far, "scored_at", kind)

    assert found is not None
    assert found == near(WEEK, "scored_at", kind)


def test_files_whose_statistics_show_no_row_of_the_window_are_not_read(lake):
    lake.write(mails(20, first=100, day=20))
    far = set(lake.folder.rglob("*.parquet"))
    lake.write(mails(5))
    for path in far:
        path.unlink()

    frame = lake.source().scan(WEEK, TWO, 5, "s")

    assert frame.size == 5


def test_a_snapshot_that_was_cleaned_up_is_told_from_a_lake_that_is_down(tmp_path):
    lake = Delta(tmp_path)
    lake.write(mails(3))
    source = lake.source()
    frame = source.scan(WEEK, TWO, 5, "s")
    lake.write(mails(3), mode="overwrite")
    DeltaTable(lake.address).vacuum(0, dry_run=False, enforce_retention_duration=False)

    with pytest.raises(SnapshotMissing, match="not there any more"):
        at_snapshot(source, frame.snapshot).show(["m0"], WEEK)
    with pytest.raises(SnapshotMissing, match="not there any more"):
        lake.source().at(frame.snapshot).scan(WEEK, TWO, 5, "s")


def test_a_snapshot_whose_part_of_the_log_was_cleaned_up_is_gone(tmp_path):
    lake = Delta(tmp_path)
    for first in range(3):
        lake.write(mails(3, first=10 * first))
    DeltaTable(lake.address).create_checkpoint()
    for version in range(2):
        (tmp_path / "predictions" / "_delta_log" / f"{version:020}.json").unlink()

    with pytest.raises(
        SnapshotMissing, match=r"has no snapshot 0 any more; its newest is 2\.\w{8}"
    ):
        lake.source().at("0").scan(WEEK, TWO, 5, "s")
    assert lake.source().scan(WEEK, TWO, 5, "s").size == 9


UNUSABLE_CATALOGS = {
    "no uri": ({"type": "sql"}, "URI missing"),
    "no such type": ({"type": "sqlite", "uri": "sqlite:///x"}, "not a valid CatalogType"),
    "no address": ({"type": "sql", "uri": "canary"}, "Could not parse SQLAlchemy URL"),
    "no such database": ({"type": "sql", "uri": "nothing://ada:canary@h/d"}, "Can't load plugin"),
    "not installed": ({"type": "glue"}, r"pip install 'pyiceberg\[glue\]'"),
    "no such class": ({"py-catalog-impl": "canary.of.nobody"}, "Could not initialize Catalog"),
    "no structure": ({"type": "rest", "uri": "http://127.0.0.1:9", "auth": "x"}, "no attribute"),
    "no scheme": ({"type": "rest", "uri": "127.0.0.1"}, "No scheme supplied"),
}


@pytest.mark.parametrize(
    ("catalog", "said"), UNUSABLE_CATALOGS.values(), ids=list(UNUSABLE_CATALOGS)
)
def test_a_catalog_whose_settings_are_wrong_is_refused_with_the_setting(tmp_path, catalog, said):
    source = Iceberg(tmp_path).source(catalog={"name": "test", **catalog})

    with pytest.raises(SourceRefused, match=rf"by source\.catalog: .*{said}.*correct it"):
        source.scan(WEEK, TWO, 5, "s")


STORES = {
    "NoSuchBucket": ("Server returned 404 Not Found: <Code>NoSuchBucket</Code>", "is not there"),
    "AccessDenied": ("403 Forbidden: <Code>AccessDenied</Code>", "may not read it"),
    "no such file of credentials": (
        "Unable to open service account file from /no/such: No such file or directory",
        r"by source\.(storage|catalog): ",
    ),
    "no such setting": (
        "Generic Config error: duration not found",
        r"by source\.(storage|catalog)",
    ),
}


@pytest.mark.parametrize(("said", "told"), STORES.values(), ids=list(STORES))
def test_a_bucket_or_credentials_that_lack_are_not_taken_for_a_snapshot_that_went(
    lake, monkeypatch, said, told
):
    def fail(*_):
        raise OSError(said)

    source = lake.source()
    monkeypatch.setattr(type(source._lake), "_table", fail)

    with pytest.raises(SourceRefused, match=told):
        source.at("1").scan(WEEK, TWO, 5, "s")


def test_a_table_whose_own_metadata_went_is_told_from_a_snapshot_that_did(tmp_path):
    lake = Iceberg(tmp_path)
    lake.write(mails(3))
    for path in tmp_path.rglob("*.metadata.json"):
        path.unlink()

    with pytest.raises(SourceUnavailable, match="cannot be read now") as caught:
        lake.source().at("1").scan(WEEK, TWO, 5, "s")
    assert not isinstance(caught.value, SnapshotMissing)


def test_an_expired_snapshot_of_iceberg_is_gone(tmp_path):
    lake = Iceberg(tmp_path)
    lake.write(mails(3))
    frame = lake.source().scan(WEEK, TWO, 5, "s")
    lake.write(mails(3), mode="overwrite")
    lake.table().maintenance.expire_snapshots().by_id(int(frame.snapshot)).commit()

    with pytest.raises(SnapshotMissing, match=f"no snapshot {frame.snapshot} any more"):
        lake.source().at(frame.snapshot).show(["m0"], WEEK)


def test_no_secret_that_a_library_quotes_is_told(lake, monkeypatch):
    given = {"secret_key": "canary/1", "uri": "postgresql://ada:canary2@host/db"}
    quotes = "no answer of s3://b/x?X-Amz-Signature=canary3 with canary%2F1 for canary2"

    def fail(*_):
        raise OSError(quotes)

    table = "https://ada:canary4@host/x"
    changes = {"delta": table, "storage": given} if lake.extra == "delta" else {"catalog": given}
    source = lake.source(**changes)
    monkeypatch.setattr(type(source._lake), "_table", fail)

    with pytest.raises(SourceUnavailable, match="no answer of s3://b/x") as caught:
        source.scan(WEEK, TWO, 5, "s")

    assert "canary" not in "".join(traceback.format_exception(caught.value)).replace(quotes, "")
    assert "canary" not in f"{caught.value} {source.place}"


def test_files_that_vanished_make_a_round_wait(lake):
    lake.write(mails(3))
    for path in lake.folder.rglob("*.parquet"):
        path.unlink()

    with pytest.raises(SourceUnavailable):
        lake.source().scan(WEEK, TWO, 5, "s")


@pytest.mark.parametrize(
    ("make", "delete"), [(Delta, delete_by_vector), (Iceberg, delete_by_positions)]
)
def test_rows_that_other_writers_deleted_beside_the_file_are_left_out(tmp_path, make, delete):
    lake = make(tmp_path)
    lake.write(mails(10))
    before = lake.source().scan(WEEK, TWO, 20, "s")
    delete(lake, [3, 4])

    frame = lake.source().scan(WEEK, TWO, 20, "s")

    assert ids_of(before) - ids_of(frame) == {"m3", "m4"}
    assert frame.size == 8
    assert lake.source().show(["m3", "m5"], WEEK) == {"m5": {"text": "mail 5"}}


@pytest.mark.parametrize("writes", [1, 3])
def test_a_table_that_took_the_place_of_another_is_not_taken_for_it(tmp_path, writes):
    lake = Delta(tmp_path)
    for place in range(2):
        lake.write(mails(3, first=3 * place))
    frame = lake.source().scan(WEEK, TWO, 9, "s")
    shutil.rmtree(tmp_path / "predictions")
    for _ in range(writes):
        lake.write([{**row, "text": "of another"} for row in mails(3)])

    with pytest.raises(SnapshotMissing):
        lake.source().at(frame.snapshot).show(["m0"], WEEK)
    assert set(lake.source().at("0").show(["m0"], WEEK)) == {"m0"}  # as earlier releases named it
