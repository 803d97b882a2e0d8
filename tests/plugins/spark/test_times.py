"""Times with and without a zone, as dates and numbers; what a session is set to moves no window."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.model import BandEdges
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import BY_COUNTRY

pytestmark = pytest.mark.usefixtures("spark")


@contextmanager
def set_to(session, **changes):
    named = {name.replace("__", "."): value for name, value in changes.items()}
    before = {name: session.conf.get(name) for name in named}
    for name, value in named.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def test_what_the_session_is_set_to_changes_nothing(tmp_path, spark):
    start = datetime(2026, 3, 1, tzinfo=UTC)
    rows = [
        {"id": str(n), "at": start + n * timedelta(hours=1), "score": n % 100 / 100, "country": "a"}
        for n in range(300)
    ]
    write(tmp_path, [*rows, {"id": None, "at": None, "score": None}])
    strata = BandEdges(flagged=(0.8,), passed=(0.2,)).strata()
    source = source_of(tmp_path, columns=BY_COUNTRY)
    frames = []

    for zone in ("UTC", "America/New_York", "Asia/Kolkata"):
        for ansi in ("true", "false"):
            changes = {"spark__sql__session__timeZone": zone, "spark__sql__ansi__enabled": ansi}
            with set_to(spark, **changes):
                frames.append((source.scan(WEEK, strata, 9, "s"), source.span()))

    assert frames[0][0].size == 168
    assert all(frame == frames[0] for frame in frames)


def test_only_the_part_of_the_time_column_is_read_that_may_be_in_the_window(tmp_path, spark):
    write(tmp_path, [{"id": "1", "at": datetime(2026, 3, 3, tzinfo=UTC), "score": 0.9}])
    plans = []
    asked = type(spark).sql

    def seen(session, text, **options):
        rows = asked(session, text, **options)
        plans.append(rows._jdf.queryExecution().toString())
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(spark), "sql", seen)
        source_of(tmp_path).scan(WEEK, TWO, 5, "s")

    scans = [plan for plan in plans if "GreaterThanOrEqual(at,2026-03-02" in plan]
    assert len(scans) == 3  # counts, the draw, and the counts again
    assert all("LessThan(at,2026-03-09" in plan for plan in scans)
