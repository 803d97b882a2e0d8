"""Monitors of the same files or lake draw together what each would have drawn alone."""

import pytest

from monitor.domain.ports import PlannedScan
from monitor.plugins.lake.source import LakeSource
from monitor.sources import sql_draw
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.plugins.lake.lake_tables import Delta, mails
from tests.sources.prediction_files import TWO, WEEK, copy_to

MAILS = """
select 'm' || i as mail_id, timestamptz '2026-03-01' + interval (i * 300) second as scored_at,
    (i % 100) / 100 as travel, (i * 7 % 100) / 100 as finance, 'subject ' || i as subject
from range(3000) t(i)
"""
COLUMNS = {"id": "mail_id", "time": "scored_at", "show": ["subject"]}


def source_of(path, score="travel"):
    settings = {"path": path.name, "columns": COLUMNS | {"score": score}, "threshold": 0.5}
    return DuckdbSource(DuckdbSettings.model_validate(settings), path.parent)


def shared(*sources):
    planned = [PlannedScan(source, TWO, 40) for source in sources]
    sources[0].read_for(planned, WEEK, "round 1")
    return sources


def scanned(sources):
    return [source.scan(WEEK, TWO, 40, "round 1") for source in sources]


def test_files_that_changed_since_are_read_anew(tmp_path):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    source, _ = shared(source_of(path), source_of(path, "finance"))
    copy_to(path, MAILS.replace("'m' ||", "'n' ||"))

    [frame] = scanned([source])

    assert {c.id[0] for part in frame.strata for c in part.candidates} == {"n"}


def test_files_that_change_while_they_are_read_serve_nobody(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    copy_to(path, MAILS)
    first, second = source_of(path), source_of(path, "finance")
    draw = sql_draw.groups_of

    def changed(*arguments):
        drawn = draw(*arguments)
        copy_to(path, MAILS.replace("'m' ||", "'n' ||"))
        return drawn

    monkeypatch.setattr("monitor.sources.table_source.groups_of", changed)

    assert [source.cached for source in shared(first, second)] == [None, None]


class TestLake:
    @pytest.fixture
    def lake(self, tmp_path):
        lake = Delta(tmp_path)
        lake.write(mails(50))
        return lake

    def test_a_snapshot_is_read_once_and_its_frames_name_it(self, lake, monkeypatch):
        expected = scanned([lake.source()]) * 2
        together = shared(lake.source(), lake.source())
        monkeypatch.setattr(LakeSource, "open_table", None)

        assert scanned(together) == expected

    def test_a_newer_snapshot_is_read_by_itself(self, lake):
        _, second = shared(lake.source(), lake.source())
        lake.write(mails(7, first=100), mode="overwrite")

        assert scanned([second]) == scanned([lake.source()])
