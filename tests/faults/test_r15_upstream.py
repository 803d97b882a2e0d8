"""R15: faults of what writes the predictions; mended within the grace none costs a round."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from monitor.domain.errors import SourceRefused
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import Columns, DuckdbSettings
from tests.rounds.scene import MONDAY, THRESHOLD, WEEK, Scene, settings
from tests.storage.payloads import PAYLOADS

PASS = timedelta(hours=6)
GRACE = WEEK / 4
ROWS = 400
BEFORE = 3
"""Rounds before the fault, which say what is usual."""

USUAL = {
    "id": "'m' || {week} || '-' || i",
    "at": "timestamptz '{start}' + i * interval 25 minute",
    "score": "case when i % 10 = 0 then 0.7 else 0.2 end",
    "text": "'message ' || i",
}


def write_week(folder, number, *, times=1):
    """Write the predictions of the week before the slot of round `number`, in one file."""
    start = (MONDAY + (number - 2) * WEEK).isoformat()
    listed = ", ".join(
        f"{sql.format(week=number, start=start)} as {name}" for name, sql in USUAL.items()
    )
    path = folder / f"week-{number}.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"copy (select {listed} from range({ROWS}) t(i), range({times}) u(j)) to '{path}'"
        )
    return path


def duplicated_ids(folder, number):
    write_week(folder, number, times=2)


def a_renamed_file(folder, _):
    for path in sorted(folder.glob("*.parquet")):
        path.rename(path.with_suffix(".moving"))


def a_half_written_file(folder, number):
    path = write_week(folder, number)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def mend(folder: Path, number):
    for path in folder.glob("*.moving"):
        path.rename(path.with_suffix(".parquet"))
    write_week(folder, number)


def source(folder, path, **more):
    columns = Columns(id="id", time="at", score="score", show=("text",))
    return DuckdbSource(
        DuckdbSettings(path=path, columns=columns, threshold=THRESHOLD, **more), folder
    )


@pytest.fixture
def scene(database, tmp_path):
    """A monitor whose labels are never in, so that its rounds are drawn and no more."""
    scene: Any = Scene(database, settings(hooks=("ops",), deadline=timedelta(days=90)))
    scene.source = source(tmp_path, "*.parquet")
    for number in range(1, BEFORE + 1):
        write_week(tmp_path, number)
        scene.run(number)
    scene.now += WEEK
    return scene


def passes(scene, until):
    """Run passes up to a time; says at how many the round waited."""
    waited = 0
    while scene.now <= until:
        try:
            scene.run()
        except SourceRefused:
            waited += 1
        scene.now += PASS
    return waited


@pytest.mark.parametrize("fault", [duplicated_ids, a_renamed_file, a_half_written_file])
def test_what_is_mended_within_the_grace_costs_no_round(scene, tmp_path, fault):
    slot = scene.now
    fault(tmp_path, BEFORE + 1)
    waited = passes(scene, slot + GRACE / 2)
    mend(tmp_path, BEFORE + 1)
    passes(scene, slot + GRACE + 2 * PASS)

    found = scene.rows("select state, rows from rounds order by slot")
    assert waited == GRACE / 2 // PASS + 1
    assert [(row["state"], row["rows"]) for row in found] == [("labeling", ROWS)] * (BEFORE + 1)
    assert scene.notices("ops") == []
    assert scene.concerns(BEFORE + 1) == {}


def test_what_stands_in_a_row_is_not_told_outside_though_the_fault_quotes_it(scene, tmp_path):
    canary = "canary of a payload"
    (tmp_path / "week-4.csv").write_text(f"id,at,score,text\nm1,2025-03-20,{canary},\n")
    scene.source = source(tmp_path, "*.csv", time_zone="UTC")
    passes(scene, scene.now + GRACE)

    [reason] = scene.rows("select reason from rounds where state = 'abandoned'")
    outside = scene.rows(PAYLOADS)
    assert canary in reason["reason"]
    assert "the reason is in pr-monitor show 4 -m mail" in str(outside)
    assert canary not in str(outside)
