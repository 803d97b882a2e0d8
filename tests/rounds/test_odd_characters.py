"""What strangers wrote into predictions goes through a whole round, on both databases."""

from typing import Any, cast

import pytest

from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.engine import engine
from tests.rounds.scene import MONDAY, WEEK, Scene, settings, week_of_rows

ODD = "C\x00Z\x1b[31m"
SHOWN = r"C\x00Z\x1b[31m"


@pytest.fixture
def scene(database, tmp_path):
    """A monitor whose ids, texts, segment values and model version hold what no text should."""
    rows, _ = week_of_rows(MONDAY - WEEK, count=400)
    with engine() as connection:
        connection.execute(
            "create temp table p (id varchar, t timestamptz, score double, text varchar, "
            "land varchar, version varchar)"
        )
        connection.executemany(
            "insert into p values (?, ?, ?, ?, ?, ?)",
            [
                (f"{row['id']}\x00", row["time"], row["score"], f"{ODD}\nhello", ODD, "v\x001")
                for row in rows
            ],
        )
        connection.execute(f"copy p to '{tmp_path}/p.parquet' (format parquet)")
    columns: dict[str, Any] = {
        "id": "id",
        "time": "t",
        "score": "score",
        "model_version": "version",
    }
    columns |= {"show": ["text"], "segments": ["land"]}
    source = DuckdbSettings.model_validate(
        {"path": "p.parquet", "columns": columns, "threshold": 0.5}
    )
    asked = settings(labels=20)
    return Scene(database, asked, cast("Any", DuckdbSource(source, tmp_path)))


def test_a_round_of_odd_ids_texts_values_and_versions_is_drawn(scene):
    scene.run(1)

    drawn = scene.rows("select id from items")
    assert str(scene.round(1).state) == "labeling", scene.round(1).reason
    assert len(drawn) == 20
    assert all(row["id"].endswith(r"\x00") for row in drawn)
    assert scene.rows("select model_version from histories") == [{"model_version": r"v\x001"}]
    assert {task.shown["text"] for task in scene.tasks} == {f"{SHOWN}\nhello"}
    assert {value for _, _, value, _ in scene.part(1, "segments", version=0)} == {SHOWN}
