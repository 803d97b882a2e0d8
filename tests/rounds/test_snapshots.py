"""A round keeps to the snapshot that it was drawn from, for as long as that is there."""

import pytest
from deltalake import DeltaTable

from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
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


def test_a_round_that_is_done_again_is_drawn_from_the_snapshot_it_had(scene, lake):
    scene.run(1)
    before = {row["id"] for row in scene.rows("select id from items")}
    rewrite(lake, suffix="x", text="")
    again = Scene(scene.database, settings(sample=BANDS, snapshot="0"), source=lake.source())
    again.name = "again"

    again.run(1)

    redrawn = again.round(1)
    assert (redrawn.state, redrawn.snapshot) == (RoundState.LABELING, "0")
    ids = again.rows("select id from items where round_id = :id", id=redrawn.id)
    assert not any(row["id"].endswith("x") for row in ids)
    assert len(ids) == len(before)

    # Where the snapshot is gone, it is drawn from the newest.
    clean_up(lake)
    once_more = Scene(scene.database, again.settings, source=lake.source(), name="once more")
    once_more.run(1)

    newest = DeltaTable(lake.address).version()
    assert str(once_more.round(1).snapshot).startswith(f"{newest}.")
