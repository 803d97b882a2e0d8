"""A table that another connection changes between the counts and the draw."""

from datetime import UTC, datetime

import pytest

from monitor.domain.errors import SourceUnavailable
from monitor.domain.model import BandEdges
from monitor.domain.ports import PlannedScan
from monitor.sources import sql_draw
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import drawn, make_table, source_of

AT = datetime(2026, 3, 3, tzinfo=UTC)
BANDS = BandEdges(flagged=(0.8,), passed=(0.2,)).strata()


def rows_of(generation):
    return [
        {"id": f"{generation}-{n}", "time": AT, "score": n / 40, "predicted": True, "text": ""}
        for n in range(20 + generation % 7)
    ]


@pytest.fixture
def before_each_draw(monkeypatch):
    """Do something after rows were counted, before they are drawn; returns how often it was."""

    def patched(change):
        drawn_from = sql_draw.drawn_from
        done: list[int] = []

        def after_a_change(*arguments):
            done.append(len(done) + 1)
            change(len(done))
            return drawn_from(*arguments)

        monkeypatch.setattr(sql_draw, "drawn_from", after_a_change)
        return done

    return patched


def replaced_by_another(place):
    """Prepare a table of which another connection can replace all rows by those of a generation."""
    if place.name == "sqlite":  # else a reader holds up the writer
        place.run("pragma journal_mode = wal")
    make_table(place, rows_of(0))

    def change(generation):
        place.run("delete from scored")
        place.add("scored", [stored(place, row) for row in rows_of(generation)])

    return change


def stored(place, row):
    return {
        **{name: row[name] for name in ("id", "score", "predicted", "text")},
        "at": place.moment(row["time"]),
    }


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_counts_and_draw_are_of_one_state_whatever_another_connection_writes(
    place, before_each_draw, times, together
):
    changes = before_each_draw(replaced_by_another(place))
    scans = [PlannedScan(source_of(place), strata, 999) for strata in (BANDS, TWO)]

    for generation in range(times):
        if together:
            scans[0].source.read_for(scans, WEEK, "s")
        for scan in scans if together else scans[:1]:
            frame = scan.source.scan(WEEK, scan.strata, 999, "s")

            assert sorted(drawn(frame)) == sorted(row["id"] for row in rows_of(generation))
            assert [part.size for part in frame.strata] == [
                len(part.candidates) for part in frame.strata
            ]
    assert len(changes) == times


def test_a_view_that_computes_its_rows_anew_each_time_is_not_drawn_from(sqlite_place):
    make_table(sqlite_place, rows_of(0))
    # 20,000 rows, so that two halves of them practically never have the same size.
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)"
    columns = "id || '-' || i as id, at, score, predicted, text, country"
    # Of a condition on both tables, since SQLite asks others once for all rows of one of them.
    is_in = "(random() + i + scored.rowid) % 2 = 0"
    half = f"{numbers} select {columns} from scored, n where {is_in}"
    sqlite_place.run(f"create view scored_anew as {half}")

    with pytest.raises(SourceUnavailable, match="or name a table where this is a view"):
        source_of(sqlite_place, table="scored_anew").scan(WEEK, BANDS, 99_999, "s")


@pytest.fixture
def table_without_snapshots(mariadb_place):
    """Make a table whose transactions see no one state; returns how to add a row of an id."""
    make_table(mariadb_place, rows_of(0))
    mariadb_place.run("alter table scored engine = MyISAM")

    def add(name):
        mariadb_place.add("scored", [stored(mariadb_place, {**rows_of(0)[0], "id": name})])

    return add


def test_a_table_without_snapshots_that_keeps_changing_is_said_and_tried_again(
    mariadb_place, table_without_snapshots, before_each_draw
):
    before_each_draw(lambda number: table_without_snapshots(str(number)))

    with pytest.raises(SourceUnavailable, match="changed while they were counted and drawn, 3"):
        source_of(mariadb_place).scan(WEEK, BANDS, 999, "s")


def test_a_table_without_snapshots_that_changed_once_is_counted_again(
    mariadb_place, table_without_snapshots, before_each_draw
):
    before_each_draw(lambda number: number > 1 or table_without_snapshots("late"))

    frame = source_of(mariadb_place).scan(WEEK, BANDS, 999, "s")

    assert frame.size == len(drawn(frame)) == 21
    assert "late" in drawn(frame)
