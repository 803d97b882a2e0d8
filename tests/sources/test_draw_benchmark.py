"""What the benchmark of draws compares draws the same items."""

from __future__ import annotations

import pytest

from benchmarks import draw

ROWS, CANDIDATES = 20_000, 30


@pytest.fixture
def path(tmp_path):
    draw.write(tmp_path / "p.parquet", ROWS)
    return tmp_path / "p.parquet"


@pytest.mark.parametrize("strata", [8, 60])
def test_the_query_of_before_and_both_kinds_of_round_draw_the_same_items(path, strata):
    edges = draw.bands(strata)

    before = draw.sorted_whole(path, edges.strata(), CANDIDATES)
    later, first = (way(path, edges, CANDIDATES) for way in (draw.later, draw.first))

    assert later == first
    assert len(later.strata) == strata == len(before)
    for part, (_, _, size, _, drawn) in zip(later.strata, before, strict=True):
        assert part.size == size
        assert [candidate.id for candidate in part.candidates] == [item["id"] for item in drawn]


@pytest.mark.slow
def test_it_prints_each_work_beside_the_bare_scan(capsys):
    draw.main(rows=(2000,), threads=(1,), repeats=1, works=("bare", "later"))

    title, _, bare, later = capsys.readouterr().out.splitlines()
    assert title == "2,000 rows, 8 strata x 1000, threads 1"
    assert bare.startswith("bare ")
    assert " 1.0 " in bare
    assert later.endswith(" MB")
