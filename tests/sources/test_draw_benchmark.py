"""What the benchmark of draws compares draws the same items."""

import pytest

from benchmarks import draw
from benchmarks.draw_engines import InDuckdb, write

ROWS, CANDIDATES = 20_000, 30


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "p.parquet", ROWS)
    return tmp_path / "p.parquet"


@pytest.mark.parametrize("strata", [8, 60])
def test_both_kinds_of_round_draw_the_same_items(path, strata):
    works = InDuckdb(path, draw.WINDOW, draw.bands(strata), CANDIDATES)

    later = works.later()

    assert later == works.first()
    assert [len(part.candidates) for part in later.strata] == [CANDIDATES] * strata
    assert sum(part.size for part in later.strata) == ROWS
