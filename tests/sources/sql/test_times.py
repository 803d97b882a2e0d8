"""Times with and without a zone, as numbers and as text, and windows over them."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.domain.errors import SourceRefused
from monitor.domain.model import BadRow, Window
from monitor.domain.truth import TruthColumns
from monitor.sources.sql_times import first_local, local_times
from tests.sources.prediction_files import TWO, WEEK, refused
from tests.sources.sql.databases import also_in_files, drawn, make_table, source_of

NAIVE = {
    "postgresql": "timestamp",
    "mariadb": "datetime(6)",
    "sqlite": "text",
    "duckdb": "timestamp",
    "spark": "timestamp",
}
PRAGUE = ZoneInfo("Europe/Prague")


OFFSETS = (
    "2026-03-02T23:59:59.999999Z",
    "2026-03-03 01:59:59+02:00",
    "2026-03-03T01:59:59+0200",
    "2026-03-03 01:59:59+02",
    "2026-03-03 01:59:59 +02:00",
    "2026-03-02 18:29:59-05:30",
    "2026-03-02 23:59:59 UTC",
    "2026-03-02t23:59:59z",
    " 2026-03-02T23:59Z ",
)
"""One day in nine spellings."""
NO_TIMES = ("2026-02-30T00:00:00Z", "1772496000", "infinity", "03/02/2026")
CLOCK_CHANGES = {
    "2026-03-29T01:59:59": "2026-03-29T00:59:59",
    "2026-03-29T03:00:00": "2026-03-29T01:00:00",
    "2026-10-25T01:59:59": "2026-10-24T23:59:59",
    "2026-10-25T02:00:00": "2026-10-25T01:00:00",  # twice on the clock: the second is taken
    "2026-10-25T02:30:00": "2026-10-25T01:30:00",
    "2026-10-25T03:00:00": "2026-10-25T02:00:00",
}
"""Local times of Prague, and the same in UTC."""


def with_times(place, kind, *times):
    kinds = {"id": place.kinds["text"], "at": kind, "score": place.kinds["double"]}
    rows = [{"id": str(n), "at": at, "score": 0.9, "text": ""} for n, at in enumerate(times)]
    place.make("scored", {**kinds, "text": place.kinds["text"]}, rows)


@also_in_files
def test_local_times_around_a_change_of_clocks_become_utc(place):
    assert_local_times_become_utc(place, NAIVE[place.name])


def test_texts_of_local_times_in_files_become_utc(duckdb_place):
    assert_local_times_become_utc(duckdb_place, "varchar")


def assert_local_times_become_utc(place, kind):
    with_times(place, kind, *(local.replace("T", " ") for local in CLOCK_CHANGES))
    source = source_of(place, time_zone="Europe/Prague")
    second = timedelta(seconds=1)

    for number, utc in enumerate(CLOCK_CHANGES.values()):
        at = datetime.fromisoformat(utc).replace(tzinfo=UTC)

        assert drawn(source.scan(Window(at, at + second), TWO, 5, "s")) == [str(number)]
    assert drawn(source.scan(Window(at - second, at), TWO, 5, "s")) == []


@given(minutes=st.integers(0, 60 * 96), step=st.integers(0, 60), autumn=st.booleans())
@settings(max_examples=80, derandomize=True, deadline=None)
def test_a_local_time_is_on_the_side_of_a_bound_that_its_instant_is(minutes, step, autumn):
    start = datetime(2026, 10, 24, tzinfo=UTC) if autumn else datetime(2026, 3, 28, tzinfo=UTC)
    bound = start + timedelta(minutes=minutes)
    local = bound.astimezone(PRAGUE).replace(tzinfo=None) + timedelta(minutes=4 * step - 120)
    instant = local.replace(tzinfo=PRAGUE, fold=1).astimezone(UTC)
    if instant.astimezone(PRAGUE).replace(tzinfo=None) != local:
        return  # no clock ever shows it

    first = first_local(bound, PRAGUE)

    assert (local >= first) == (instant >= bound)
    read = local_times("Europe/Prague").instant(local)
    assert read == (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_times_without_a_zone_are_refused_unless_the_config_names_one(place):
    with_times(place, NAIVE[place.name], "2026-03-03 06:00:00")

    said = refused(source_of(place))

    assert "holds times without a time zone, the first is '2026-03-03 06:00:00" in said
    assert "set source.time_zone" in said
    assert source_of(place, time_zone="UTC").scan(WEEK, TWO, 5, "s").size == 1


@pytest.mark.parametrize("unit", ["seconds", "milliseconds", "microseconds"])
def test_times_may_be_numbers_since_1970(place, unit):
    at = datetime(2026, 3, 3, 6, tzinfo=UTC)
    size = {"seconds": 1, "milliseconds": 1_000, "microseconds": 1_000_000}[unit]
    edges = [WEEK.start, at, WEEK.end]
    with_times(place, "bigint", *(int(each.timestamp()) * size for each in edges))
    source = source_of(place, time_unit=unit)

    frame = source.scan(WEEK, TWO, 5, "s")

    assert sorted(drawn(frame)) == ["0", "1"]
    assert frame.newest == at
    assert source.span() == (WEEK.start, WEEK.end)


def test_numbers_without_a_unit_are_refused(place):
    with_times(place, "bigint", 1_772_496_000)

    said = refused(source_of(place))

    if place.name == "sqlite":
        assert "no value of column 'at' (columns.time) is a time" in said
    else:
        assert "column 'at' (columns.time) is BIGINT" in said
        assert "source.time_unit" in said


ODD: dict[str, list[Any]] = {
    "real": [float("inf"), float("-inf"), 1e300],
    "bigint": [2**62, -(2**63), 253_402_300_800],
    "text": ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+14:00", "infinity"],
}


@pytest.mark.parametrize("kind", ODD)
def test_times_that_no_calendar_has_are_counted_as_unreadable_by_sqlite(sqlite_place, kind):
    at = datetime(2026, 3, 3, 6, tzinfo=UTC)
    numbers = {} if kind == "text" else {"time_unit": "seconds"}
    good = at.isoformat() if kind == "text" else int(at.timestamp())
    with_times(sqlite_place, kind, *ODD[kind], good)
    source = source_of(sqlite_place, **numbers)

    frame = source.scan(WEEK, TWO, 5, "s")

    assert (frame.size, frame.bad_rows) == (1, {BadRow.TIME_UNPARSABLE: 3})
    assert source.span() == (at, at)
    with_times(sqlite_place, kind, *ODD[kind])
    assert "no value of column 'at' (columns.time) is a time" in refused(source)


def test_a_number_that_is_no_time_of_a_calendar_is_refused_where_all_times_are_asked_for(place):
    with_times(place, "bigint", 2**62)

    if place.name == "sqlite":  # which reads it as no time at all
        assert source_of(place, time_unit="microseconds").span() is None
        return
    with pytest.raises(SourceRefused, match=r"years 1 to 9999 .*correct .*source\.time_unit"):
        source_of(place, time_unit="microseconds").span()


@also_in_files
def test_a_date_is_midnight_of_the_configured_zone(place):
    with_times(place, "date", "2026-03-03", None)

    source = source_of(place, time_zone="Europe/Prague")

    assert source.span() == (datetime(2026, 3, 2, 23, tzinfo=UTC),) * 2
    frame = source.scan(WEEK, TWO, 5, "s")
    assert (frame.size, frame.rows) == (1, 2)


@pytest.mark.parametrize("kind", ["text", "integer[]"])
@pytest.mark.postgresql
def test_a_column_that_holds_no_times_is_refused(postgres_place, kind):
    with_times(postgres_place, kind)

    assert "wanted times; cast it where it is written" in refused(source_of(postgres_place))


@pytest.mark.parametrize("place", ["sqlite", "duckdb"], indirect=True)
def test_an_offset_in_a_text_is_heard_and_what_is_no_time_is_counted(place):
    with_times(place, place.kinds["text"], *OFFSETS, *NO_TIMES)
    day = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC))

    frame = source_of(place).scan(day, TWO, 5, "s")

    assert (frame.size, dict(frame.bad_rows)) == (9, {"time unparsable": 4})


def test_the_session_of_mariadb_moves_no_timestamp(mariadb_place):
    mariadb_place.run("set global time_zone = '+05:00'")
    try:
        with_times(mariadb_place, "timestamp null")
        mariadb_place.run("insert into scored values ('a', from_unixtime(1772496000), 0.9, '')")
        source = source_of(mariadb_place)

        assert source.span() == (datetime.fromtimestamp(1772496000, UTC),) * 2
    finally:
        mariadb_place.run("set global time_zone = 'SYSTEM'")


ODD_TIMES = {
    "postgres": ("timestamptz", ["infinity", "-infinity", "0044-03-15 BC", "12026-01-01"]),
    "mariadb": ("datetime", ["0000-00-00"]),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("postgres", marks=pytest.mark.postgresql),
        pytest.param("mariadb", marks=pytest.mark.mariadb),
    ],
)
def test_a_time_that_no_calendar_has_is_in_no_window_and_tells_of_no_truth_when(request, name):
    place = request.getfixturevalue(f"{name}_place")
    kind, odd = ODD_TIMES[name]
    with_times(place, kind, "2026-03-03", *(odd if name == "postgres" else []))
    if name == "mariadb":
        place.run("set sql_mode = ''", "insert into scored values ('1', 0, 0.9, '')")
    source = source_of(place, time_zone="UTC")

    frame = source.scan(WEEK, TWO, 5, "s")
    truths = source.truths(TruthColumns(None, "id", "score", "at")).of(["0", "1"])

    day = datetime(2026, 3, 3, tzinfo=UTC)
    assert (frame.rows, source.span()) == (1, (day, day))
    assert [truths[each][0].known > 0 for each in ("0", "1")] == [True, False]


def test_the_earliest_time_of_an_id_in_the_window_is_its_prediction_time(place):
    days = [("a", 3), ("a", 5), ("b", 4), ("c", 4), ("a", 30)]
    usual = {"score": 0.9, "text": "", "country": "CZ", "predicted": True}
    make_table(
        place,
        [
            {"id": item, "time": datetime(2026, 3, day, 7, tzinfo=UTC), **usual}
            for item, day in days
        ],
    )

    times = source_of(place).prediction_times(["a", "b", "missing"], WEEK)

    assert times == {
        "a": datetime(2026, 3, 3, 7, tzinfo=UTC),
        "b": datetime(2026, 3, 4, 7, tzinfo=UTC),
    }


def test_the_first_and_the_last_day_of_the_calendar_have_a_span_in_every_zone(place):
    ends = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)]  # noqa: DTZ001  local times
    with_times(place, NAIVE[place.name], *map(str, ends))

    for zone in ("Europe/Prague", "America/New_York"):
        found = source_of(place, time_zone=zone).span()

        assert found is not None
        assert [at.year for at in found] == [1, 9999]
