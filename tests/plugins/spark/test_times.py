"""Times with and without a zone, as dates and numbers; what a session is set to moves no window."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from monitor.domain.model import BandEdges, Window
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import BY_COUNTRY, drawn
from tests.sources.sql.test_times import CLOCK_CHANGES

pytestmark = pytest.mark.usefixtures("spark")
NAIVE = pa.timestamp("us")
SECOND = timedelta(seconds=1)


def with_times(folder, kind, *times):
    rows = [{"id": str(n), "at": at, "score": 0.9, "text": ""} for n, at in enumerate(times)]
    write(folder, rows, at=kind)


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


def test_local_times_around_a_change_of_clocks_become_utc(tmp_path, spark):
    with_times(tmp_path, NAIVE, *map(datetime.fromisoformat, CLOCK_CHANGES))
    source = source_of(tmp_path, time_zone="Europe/Prague")
    instants = [datetime.fromisoformat(utc).replace(tzinfo=UTC) for utc in CLOCK_CHANGES.values()]

    with set_to(spark, spark__sql__session__timeZone="America/New_York"):
        found = [drawn(source.scan(Window(at, at + SECOND), TWO, 5, "s")) for at in instants]
        span = source.span()

    assert span == (min(instants), max(instants))
    assert found == [[str(number)] for number in range(len(instants))]


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
    with_times(tmp_path, pa.timestamp("us", tz="UTC"), datetime(2026, 3, 3, tzinfo=UTC))
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
