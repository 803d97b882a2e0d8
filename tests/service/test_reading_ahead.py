"""Monitors whose truth lies in one file read it together, once for each of its states."""

from datetime import timedelta

import duckdb
import pytest

from monitor.domain.sample_settings import Bands, Sample
from monitor.files import relations
from monitor.labeling.column import ColumnSettings
from monitor.service import shared_reads
from monitor.service.change_detection import ChangeDetector
from monitor.service.loop import one_pass
from monitor.service.shared_reads import Prefetcher
from monitor.sources import duckdb as duckdb_source
from monitor.storage.labels import label_store
from tests.rounds.scene import Scene, settings
from tests.rounds.sinks import application_of
from tests.truth_files import labeler_of_files

NAMES = ("first", "second", "third")
SMALL = settings(sample=Sample(max_labels=12, bands=Bands(flagged=1, passed=1)))
LABELS = """
select monitors.name, count(distinct label_events.item_id) as n
from label_events
join rounds on rounds.id = label_events.round_id
join monitors on monitors.id = rounds.monitor_id
group by monitors.name order by monitors.name
"""


def tasks_of(scene):
    return scene.read(label_store.all_tasks, [scene.round(1).id])


class Fleet:
    """Monitors that wait for one file of truth."""

    def __init__(self, database, folder):
        self.path = folder / "truth.parquet"
        asked = {"kind": "column", "path": "truth.parquet", "id": "id", "value": "truth"}
        labeling = ColumnSettings.model_validate(asked | {"matures": "5d"})
        self.scenes = [Scene(database, SMALL, name=name) for name in NAMES]
        self.now = self.scenes[0].now
        for scene in self.scenes:
            scene.week(1, count=200)
            scene.labeler = labeler_of_files(labeling, folder, clock=lambda: self.now)
        self.application = application_of(self.scenes)
        self.idle = ChangeDetector(database, lambda: self.now)

    def write(self, known):
        """Write the truth of the first items, and of one that nobody asks about."""
        items = list(self.scenes[0].truth.items())[:known]
        rows = [f"('{item}', '{answer}')" for item, answer in [("of nobody", 1), *items]]
        duckdb.sql(f"copy (from (values {', '.join(rows)}) as t(id, truth)) to '{self.path}'")

    def tick(self):
        self.now += timedelta(minutes=1)
        for scene in self.scenes:
            scene.now = self.now
        return one_pass(self.application, self.application.monitors, idle=self.idle)

    def labeled(self):
        return {row["name"]: row["n"] for row in self.scenes[0].rows(LABELS)}

    def asked(self):
        tasks = "select count(*) as n from tasks"
        return self.scenes[0].rows(tasks)[0]["n"]


@pytest.fixture
def fleet(database, tmp_path):
    fleet = Fleet(database, tmp_path)
    fleet.write(0)
    fleet.tick()
    return fleet


@pytest.fixture
def reads(monkeypatch):
    """Every time that a file with the truth is opened."""
    run, seen = relations.opened, []

    def noted(files, *more):
        seen.append(str(files))
        return run(files, *more)

    monkeypatch.setattr(duckdb_source, "opened", noted)
    return seen


def test_one_reading_of_a_file_that_changed_answers_all_monitors_and_one_that_stays_is_not_read(
    fleet, reads
):
    fleet.tick()
    assert reads == []
    fleet.write(len(fleet.scenes[0].truth))

    done = fleet.tick()

    assert done.errors == {}
    assert reads == ["truth.parquet"]
    assert sum(fleet.labeled().values()) == fleet.asked()
    assert set(fleet.labeled()) == set(NAMES)


def test_monitors_with_more_items_than_fit_into_memory_share_several_readings(
    fleet, reads, monkeypatch
):
    monkeypatch.setattr(shared_reads, "MOST", fleet.asked() // 3 + 1)
    fleet.write(len(fleet.scenes[0].truth))

    fleet.tick()

    assert len(reads) == 2
    assert sum(fleet.labeled().values()) == fleet.asked()


def test_what_was_read_is_forgotten_though_a_monitor_of_the_file_waits_for_nothing(fleet, reads):
    fleet.write(len(fleet.scenes[0].truth))
    names = ("first", "second", "not drawn yet")
    labelers = {name: [scene.labeler] for name, scene in zip(names, fleet.scenes, strict=True)}
    ahead = Prefetcher(fleet.application.database, lambda: fleet.now, labelers)

    ahead.before("first")
    for scene in (*fleet.scenes[:2], fleet.scenes[0]):
        scene.labeler.collect(tasks_of(scene), None)

    assert len(reads) == 2  # one for both who wait, and one for who comes again
