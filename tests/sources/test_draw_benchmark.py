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
def test_a_query_by_hand_and_both_kinds_of_round_draw_the_same_items(path, strata):
    works = InDuckdb(path, draw.WINDOW, draw.bands(strata), CANDIDATES)

    by_hand, later, first = works.by_hand(), works.later(), works.first()

    assert later == first
    assert len(later.strata) == strata == len(by_hand)
    for part, (_, size, drawn) in zip(later.strata, by_hand, strict=True):
        assert part.size == size
        assert [candidate.id for candidate in part.candidates] == [item["id"] for item in drawn]
