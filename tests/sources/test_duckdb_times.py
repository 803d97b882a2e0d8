"""Times in files as pandas writes them, and such as no calendar has."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Window
from monitor.sources.duckdb import DuckdbSource
from tests.sources.prediction_files import TWO, WEEK, parquet_source, settings_with


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
