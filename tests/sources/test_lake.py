"""Delta and Iceberg tables keep the contract of sources, and each scan reads one snapshot."""

from __future__ import annotations

import shutil

import pytest

from monitor.domain.errors import SnapshotGone, SourceRefused, SourceUnavailable
from monitor.domain.ports import as_counted
from monitor.testing import MemorySource, SourceContract
from monitor.testing.source_contract import example_rows
from tests.sources.lake_tables import Delta, Iceberg, mails
from tests.sources.prediction_files import TWO, WEEK


class TestDelta(SourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def source(self, rows):
        lake = Delta(self.folder)
        lake.write(rows, mode="overwrite")
        return lake.source()


class TestIceberg(SourceContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

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

    shown = as_counted(source, frame.snapshot).show(["m0", "m1", "m2"], WEEK)

    assert shown["m1"] == {"text": "mail 1"}
    assert source.show(["m0"], WEEK) == {}
    assert source.scan(WEEK, TWO, 5, "s").size == 5


def test_a_second_scan_reads_the_snapshot_of_the_first(lake):
    lake.write(mails(30))
    source = lake.source()
    before = source.scan(WEEK, TWO, 30, "s")
    lake.write(mails(5, first=100))

    again = source.scan_again(before, TWO, 30, "s")

    assert again == before


def test_another_process_draws_the_same_from_the_snapshot(lake):
    lake.write(example_rows())
    before = lake.source().scan(WEEK, TWO, 20, "s")
    lake.write(mails(5, first=100))

    again = lake.source().at(before.snapshot).scan(WEEK, TWO, 20, "s")

    assert again == before


def test_a_lake_and_a_source_in_memory_draw_the_same(lake):
    rows = [*example_rows(500), *mails(3)]
    rows += [{**row, "id": f"žluť {n} 猫"} for n, row in enumerate(example_rows(50))]
    lake.write(rows)

    frame = lake.source().scan(WEEK, TWO, 40, "round 1")

    memory = MemorySource(rows, threshold=0.5, show=("text",), segments=("country",))
    assert frame.strata == memory.scan(WEEK, TWO, 40, "round 1").strata


def test_rows_without_a_time_are_counted_with_those_of_the_window(lake):
    untimed = [{**row, "time": None} for row in mails(4, first=50)]
    lake.write([*mails(20), *mails(20, first=100, day=20), *untimed])

    frame = lake.source().scan(WEEK, TWO, 5, "s")

    assert frame.size == 20
    assert sum(frame.bad_rows.values()) == 2  # the window has half of the rows with a time


def test_a_snapshot_that_was_cleaned_up_is_told_from_a_lake_that_is_down(tmp_path):
    lake = Delta(tmp_path)
    lake.write(mails(3))
    source = lake.source()
    frame = source.scan(WEEK, TWO, 5, "s")
    lake.write(mails(3), mode="overwrite")
    from deltalake import DeltaTable

    DeltaTable(lake.address).vacuum(0, dry_run=False, enforce_retention_duration=False)

    with pytest.raises(SnapshotGone, match="not there any more"):
        as_counted(source, frame.snapshot).show(["m0"], WEEK)
    with pytest.raises(SnapshotGone, match="not there any more"):
        lake.source().at(frame.snapshot).scan(WEEK, TWO, 5, "s")


def test_an_expired_snapshot_of_iceberg_is_gone(tmp_path):
    lake = Iceberg(tmp_path)
    lake.write(mails(3))
    frame = lake.source().scan(WEEK, TWO, 5, "s")
    lake.write(mails(3), mode="overwrite")
    lake.table().maintenance.expire_snapshots().by_id(int(frame.snapshot)).commit()

    with pytest.raises(SnapshotGone, match=f"no snapshot {frame.snapshot} any more"):
        lake.source().at(frame.snapshot).show(["m0"], WEEK)


def test_a_table_that_is_not_there_is_refused_by_its_name(lake):
    with pytest.raises(SourceRefused, match=rf"predictions is not there .*source\.{lake.extra}"):
        lake.source().scan(WEEK, TWO, 5, "s")


def test_a_table_that_nobody_wrote_to_is_refused(tmp_path):
    lake = Iceberg(tmp_path)
    lake.table()

    with pytest.raises(SourceRefused, match="nothing was ever written to"):
        lake.source().scan(WEEK, TWO, 5, "s")


def test_a_missing_column_is_refused_with_those_there_are(lake):
    lake.write(mails(3))
    columns = {"id": "mail", "time": "scored_at", "score": "score"}

    with pytest.raises(SourceRefused, match="has no column 'mail'.*did you mean 'mail_id'"):
        lake.source(columns=columns).scan(WEEK, TWO, 5, "s")


def test_files_that_vanished_make_a_round_wait(lake):
    lake.write(mails(3))
    for path in lake.folder.rglob("*.parquet"):
        path.unlink()

    with pytest.raises(SourceUnavailable):
        lake.source().scan(WEEK, TWO, 5, "s")


def test_half_a_commit_is_no_snapshot(tmp_path):
    lake = Delta(tmp_path)
    lake.write(mails(3))
    log = tmp_path / "predictions" / "_delta_log"
    shutil.copy(log / "00000000000000000000.json", log / "00000000000000000001.json.tmp")

    frame = lake.source().scan(WEEK, TWO, 5, "s")

    assert (frame.size, frame.snapshot) == (3, "0")
