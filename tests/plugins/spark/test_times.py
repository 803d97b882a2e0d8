"""Times with and without a zone, as dates and numbers; what a session is set to moves no window."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from monitor.domain.model import BandEdges, Window
from tests.plugins.spark.places import BY_COUNTRY, TWO, WEEK, drawn, refused, source_of, write

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


@pytest.mark.parametrize(
    ("local", "utc"),
    [
        ("2026-03-29 01:59:59", "2026-03-29T00:59:59"),
        ("2026-03-29 03:00:00", "2026-03-29T01:00:00"),
        ("2026-10-25 01:59:59", "2026-10-24T23:59:59"),
        ("2026-10-25 02:30:00", "2026-10-25T01:30:00"),  # twice on the clock: the second is taken
        ("2026-10-25 03:00:00", "2026-10-25T02:00:00"),
    ],
)
def test_local_times_around_a_change_of_clocks_become_utc(tmp_path, spark, local, utc):
    with_times(tmp_path, NAIVE, datetime.fromisoformat(local))
    wanted = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    source = source_of(tmp_path, time_zone="Europe/Prague")

    with set_to(spark, spark__sql__session__timeZone="America/New_York"):
        sizes = [
            source.scan(Window(wanted + n * SECOND, wanted + (n + 1) * SECOND), TWO, 5, "s").size
            for n in (-1, 0, 1)
        ]
        span = source.span()

    assert span == (wanted, wanted)
    assert sizes == [0, 1, 0]


def test_times_without_a_zone_are_refused_unless_the_config_names_one(tmp_path):
    with_times(tmp_path, NAIVE, datetime.fromisoformat("2026-03-03 06:00:00"))

    said = refused(source_of(tmp_path))

    assert "holds times without a time zone, the first is '2026-03-03 06:00:00'" in said
    assert source_of(tmp_path, time_zone="UTC").scan(WEEK, TWO, 5, "s").size == 1


def test_dates_are_their_midnight_in_the_zone_of_the_config(tmp_path):
    with_times(tmp_path, pa.date32(), *(date(2026, 3, day) for day in (2, 3, 4)))
    source = source_of(tmp_path, time_zone="Europe/Prague")
    midnight = datetime(2026, 3, 2, 23, tzinfo=UTC)

    sizes = {
        hours: drawn(source.scan(Window(midnight + timedelta(hours=hours), WEEK.end), TWO, 9, "s"))
        for hours in (-1, 0, 1)
    }

    assert {hours: sorted(ids) for hours, ids in sizes.items()} == {
        -1: ["1", "2"],
        0: ["1", "2"],
        1: ["2"],
    }
    assert source.span() == (midnight - timedelta(days=1), midnight + timedelta(days=1))


@pytest.mark.parametrize("unit", ["seconds", "milliseconds", "microseconds"])
def test_times_may_be_numbers_since_1970(tmp_path, unit):
    at = datetime(2026, 3, 3, 6, tzinfo=UTC)
    size = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}[unit]
    edges = [int(each.timestamp()) * size for each in (WEEK.start, at, WEEK.end)]
    with_times(tmp_path, pa.int64(), *edges)
    source = source_of(tmp_path, time_unit=unit)

    frame = source.scan(WEEK, TWO, 5, "s")

    assert sorted(drawn(frame)) == ["0", "1"]
    assert frame.newest == at
    assert source.span() == (WEEK.start, WEEK.end)


def test_times_of_text_are_refused(tmp_path):
    with_times(tmp_path, pa.string(), "2026-03-03T06:00:00Z")

    assert "column 'at' (columns.time) is VARCHAR; wanted times" in refused(source_of(tmp_path))


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
    assert len(scans) == 2  # sizes, then counts and draw in one read
    assert all("LessThan(at,2026-03-09" in plan for plan in scans)
