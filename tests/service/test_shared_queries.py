"""Monitors of a block over one table of a database are counted and drawn by the same statements."""

from datetime import timedelta

import pytest

from monitor.config.load import load_config
from monitor.service import loop
from monitor.service.shared_scans import SharedScans
from monitor.sources import sql_draw
from monitor.wiring import build
from tests.service.test_shared_scans import ALL_OUT, place_of_a_block, states

SQL = 'kind: sql\n      url: "sqlite:///p.sqlite"\n      table: scored'


@pytest.fixture
def place(bare):
    """A folder with a block over a SQLite file."""
    place_of_a_block(bare)
    bare.stored_predictions()
    text = (bare.folder / "config.yaml").read_text()
    bare.write("config.yaml", text.replace("path: predictions.parquet", SQL, 1))
    return bare


def applied(place, now):
    return build(load_config(place.folder / "config.yaml"), clock=lambda: now)


@pytest.fixture
def draws(monkeypatch):
    """How many monitors each draw was for."""
    found = []
    drawn_from = sql_draw.drawn_from

    def noted(reading, shared, *others):
        found.append(len(shared.scans))
        return drawn_from(reading, shared, *others)

    monkeypatch.setattr(sql_draw, "drawn_from", noted)
    return found


def test_first_and_later_rounds_of_a_block_are_drawn_together(place, draws):
    first = applied(place, place.now)
    assert loop.advance_all(first.monitors, SharedScans(first.monitors).shared) == {}
    assert (draws, states(first)) == ([3], ALL_OUT)
    first.database.close()
    later = applied(place, place.now + timedelta(days=1))

    loop.advance_all(later.monitors, SharedScans(later.monitors).shared)

    assert draws == [3, 3]
    assert all(context.source.cached is None for context in later.monitors)
    later.database.close()


def test_a_monitor_whose_column_is_missing_says_so_and_the_others_are_drawn(place, draws):
    renamed = "alter table scored rename column score_finance to score_money"
    place.query(renamed, store="p.sqlite")

    ran = place.run("run-once")

    assert (ran.code, draws) == (65, [2])
    assert any("mail-finance" in line and "score_finance" in line for line in ran.lines)
    application = applied(place, place.now)
    assert [state for _, state in states(application).values()] == ["open", "labeling", "labeling"]
    application.database.close()
