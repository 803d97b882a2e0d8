"""A store whose rounds have parts goes on after an upgrade as the version before would have."""

import json
from pathlib import Path

import pytest
from sqlalchemy import text

from monitor.rounds.parts.registry import have_other_counts
from monitor.storage import schema
from monitor.storage.database import Database
from tests.faults.few_points import few_points
from tests.storage.old_stores import columns_of_rows, make_store_of, rows_of
from tests.storage.released import with_parts

OLD = json.loads((Path(with_parts.__file__).parent / "parts" / "0018.json").read_text())
CHECKS = {"tp": 7, "fn": 1, "tn": 5, "fp": 2}


@pytest.fixture(autouse=True)
def coarsely():
    """Estimate by as many points as the old store did."""
    with few_points(2**8):
        yield


@pytest.fixture
def old(store_url):
    """A store of schema 0018, with a checked class in the first version of its first round."""
    database = Database(store_url)
    make_store_of(database, "0018", OLD["rows"])
    with database.write() as connection:
        row = "insert into label_checks values (1, 1, true, :tp, :fn, :tn, :fp)"
        connection.execute(text(row), CHECKS)
    yield database
    database.close()


def same(value):
    """Compare numbers as computed on another machine."""
    if isinstance(value, dict):
        return {name: same(of) for name, of in value.items()}
    if isinstance(value, list):
        return [same(of) for of in value]
    return pytest.approx(value, rel=1e-6, abs=1e-9) if isinstance(value, float) else value


def test_rounds_estimates_alerts_and_reports_are_as_before_and_go_on_as_they_would_have(old):
    columns = columns_of_rows(OLD["rows"])
    before = rows_of(old, columns)

    schema.upgrade(old)

    assert rows_of(old, columns) == before
    scene = with_parts.begin(old)
    assert scene.part(1, "checks", version=1) == {"flagged": CHECKS}
    assert not scene.read(have_other_counts, scene.round(1), scene.labels(1))
    with_parts.go_on(scene)
    assert with_parts.outcome(scene) == same(OLD["outcome"])
    assert scene.round(5).state == "closed"
