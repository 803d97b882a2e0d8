"""Times in files: offsets, zones, changes of clocks."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Window
from monitor.sources.duckdb import DuckdbSource
from tests.sources.prediction_files import (
    TWO,
    WEEK,
    csv_source,
    parquet_source,
    settings_with,
)

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


def test_an_offset_in_a_text_is_heard_and_what_is_no_time_is_counted(tmp_path):
    day = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC))
    rows = [(f"m{n}", text, "0.9", "") for n, text in enumerate((*OFFSETS, *NO_TIMES))]

    frame = csv_source(tmp_path, rows).scan(day, TWO, 5, "s")

    assert (frame.size, dict(frame.bad_rows)) == (9, {"time unparsable": 4})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", None])
def test_times_as_pandas_writes_them_are_read_in_every_unit(tmp_path, unit, zone):
    last = pd.Timedelta(1, unit)
    edge = pd.Timestamp("2026-03-03", tz="UTC")
    times = pd.DatetimeIndex([edge - last, edge, edge + last], name="scored_at").as_unit(unit)
    times = times.tz_convert(zone) if zone else times.tz_localize(None)
    rows = pd.DataFrame({"mail_id": list("abc"), "scored_at": times, "score": 0.9, "text": ""})
    rows.to_parquet(tmp_path / "p.parquet")
    source = DuckdbSource(settings_with(time_zone=None if zone else "UTC"), tmp_path)
    day = timedelta(days=1)

    sizes = [
        source.scan(window, TWO, 5, "s").size
        for window in (Window(edge - day, edge), Window(edge, edge + day))
    ]

    assert sizes == [1, 2]
    assert source.span() == (edge - last.floor("us"), edge + last.floor("us"))


CLOCK_CHANGES = {
    "2026-03-29T01:59:59": "2026-03-29T00:59:59",
    "2026-03-29T03:00:00": "2026-03-29T01:00:00",
    "2026-10-25T01:59:59": "2026-10-24T23:59:59",
    "2026-10-25T02:00:00": "2026-10-25T01:00:00",  # twice on the clock: the second is taken
    "2026-10-25T02:30:00": "2026-10-25T01:30:00",
    "2026-10-25T03:00:00": "2026-10-25T02:00:00",
}
"""Local times of Prague, and the same in UTC."""


def test_local_times_in_texts_around_a_change_of_clocks_become_utc(tmp_path):
    rows = [(local, local, "0.9", "") for local in CLOCK_CHANGES]
    source = csv_source(tmp_path, rows, time_zone="Europe/Prague")

    for local, utc in CLOCK_CHANGES.items():
        at = datetime.fromisoformat(utc).replace(tzinfo=UTC)
        frame = source.scan(Window(at, at + timedelta(seconds=1)), TWO, 5, "s")
        assert [candidate.id for candidate in frame.strata[0].candidates] == [local]


@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_infinite_times_lie_in_no_window_and_far_ones_are_refused_by_their_number(tmp_path, kind):
    rows = f"""
        select 'm' || i as mail_id, 0.9 as score, '' as text, case i when 1 then {kind} 'infinity'
            when 2 then '-infinity' else {kind} '2026-03-03 06:00:00' end as scored_at
        from range(10) t(i)
    """
    known = datetime(2026, 3, 3, 6, tzinfo=UTC)

    source = parquet_source(tmp_path, rows, time_zone="UTC")
    assert (source.scan(WEEK, TWO, 5, "s").size, source.span()) == (8, (known, known))

    far = parquet_source(tmp_path, rows.replace("'infinity'", "'29000-01-01'"), time_zone="UTC")
    with pytest.raises(SourceRefused, match=r"'scored_at' \(columns\.time\) .* years 1 to 9999"):
        far.span()
