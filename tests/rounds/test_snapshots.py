"""A round keeps to the snapshot that it was drawn from, for as long as that is there."""

import pytest
from deltalake import DeltaTable

from monitor.domain.sample_settings import Bands, Sample
from tests.plugins.lake.lake_tables import Delta
from tests.rounds.scene import MONDAY, WEEK, Scene, settings, week_of_rows

BANDS = Sample(max_labels=200, bands=Bands(flagged=2, passed=4))


@pytest.fixture
def lake(tmp_path):
    return Delta(tmp_path)


@pytest.fixture
def scene(database, lake):
    scene = Scene(database, settings(sample=BANDS), source=lake.source())
    rows, scene.truth = week_of_rows(MONDAY - WEEK, count=2000, share=0.2)
    lake.write(rows)
    return scene


def rewrite(lake, *, suffix, text):
    """Put other rows into the place of those of the week."""
    rows, _ = week_of_rows(MONDAY - WEEK, count=2000, share=0.2)
    others = [{**row, "id": f"{row['id']}{suffix}", "text": text} for row in rows]
    lake.write(others, mode="overwrite")


def clean_up(lake):
    DeltaTable(lake.address).vacuum(0, dry_run=False, enforce_retention_duration=False)


def texts(scene):
    """What is out, by item."""
    return {task.item_id: task.shown["text"] for task in scene.tasks}
