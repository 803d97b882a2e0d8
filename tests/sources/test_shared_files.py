"""Monitors of the same files or lake draw together what each would have drawn alone."""

from typing import Any

import duckdb
import pytest

from monitor.domain.model import BandEdges
from monitor.domain.ports import PlannedScan
from monitor.plugins.lake.source import LakeSource
from monitor.sources import sql_draw
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
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


@pytest.fixture(params=["p.parquet", "p.csv"])
def path(request, tmp_path):
    whole = tmp_path / request.param
    if whole.suffix == ".csv":
        texts = MAILS.replace("timestamptz '2026-03-01'", "timestamp '2026-03-01'")
        with duckdb.connect() as connection:
            connection.execute(f"copy ({texts}) to '{whole}'")
    else:
        copy_to(whole, MAILS)
    return whole


def source_of(path, score="travel", **changes):
    settings = {"path": path.name, "columns": COLUMNS | {"score": score}, "threshold": 0.5}
    if path.suffix == ".csv":
        settings["time_zone"] = "UTC"
    columns = settings["columns"] | changes.pop("columns", {})
    settings = settings | changes | {"columns": columns}
    return DuckdbSource(DuckdbSettings.model_validate(settings), path.parent)


def planned(sources, strata=TWO, at_most=40):
    return [PlannedScan(source, strata, at_most) for source in sources]


def shared(*sources, seed="round 1", window=WEEK, strata=TWO):
    sources[0].read_for(planned(sources, strata), window, seed)
    return sources


def scanned(sources, strata=TWO):
    return [source.scan(WEEK, strata, 40, "round 1") for source in sources]


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
        {"score": "finance", "columns": {"model_version": "version", "segments": ["team"]}},
    ],
    "challengers": [{"challenger": {"score": "finance", "threshold": 0.4}}, {"score": "finance"}],
}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_each_source_finds_what_its_own_scan_finds(path, kinds):
    expected = scanned([source_of(path, **kind) for kind in kinds], BANDS)
    together = shared(*(source_of(path, **kind) for kind in kinds), strata=BANDS)

    assert [source.cached is not None for source in together] == [True] * len(kinds)
    assert scanned(together, BANDS) == expected


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


@pytest.mark.parametrize("column", ["score", "predicted"])
def test_a_challenger_that_cannot_be_read_is_told_by_its_monitor_and_costs_the_others_nothing(
    path, column
):
    challenger = {column: "v8"} | ({"threshold": 0.4} if column == "score" else {})
    classes = {"positive": "yes", "negative": "no"} if column == "predicted" else {}
    kinds: list[Any] = [{"challenger": challenger, **classes}, {"score": "finance"}]
    broken, good = shared(*(source_of(path, **kind) for kind in kinds))

    found = scanned([broken, good])

    assert f"has no column 'v8' (challenger.{column})" in found[0].challenger_fault
    assert found == scanned([source_of(path, **kind) for kind in kinds])


def test_only_rows_that_count_are_shared(path):
    kinds: list[Any] = [{"where": {"team": "team 1"}}]
    kinds += [{"where": {"team": "team 1"}, "score": "finance"}]

    found = scanned(shared(*(source_of(path, **kind) for kind in kinds)))

    assert found == scanned([source_of(path, **kind) for kind in kinds])


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

    def test_a_frame_that_nobody_asked_for_is_released(self, lake, monkeypatch):
        first, _ = shared(lake.source(), lake.source())
        first.release()
        monkeypatch.setattr(LakeSource, "open_table", None)

        with pytest.raises(TypeError):
            scanned([first])
