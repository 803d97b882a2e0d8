"""Which values of a segment column are told apart, and how sizes add up."""

from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.model import Candidate, Stratum, StratumFrame
from monitor.domain.segments import (
    MOST_VALUES,
    OTHER,
    folded,
    largest_values,
    scaled,
    with_segments,
)

FLAGGED, PASSED = Stratum("flagged", flagged=True), Stratum("passed", flagged=False)
SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(0, 500), max_size=9)


def test_the_twenty_largest_values_are_kept_the_first_by_name_of_equally_large_ones():
    assert largest_values([{"b": 1, "a": 1, "c": 1, "d": 0}], most=2) == {"a", "b"}
    assert largest_values([{"a": 0, "b": 1}], most=2) == {"b"}
    assert len(largest_values([{f"{n:02}": 1 for n in range(30)}])) == MOST_VALUES == 20


@given(SIZES, st.integers(0, 4000))
def test_scaled_sizes_add_up_and_stay_near_their_share(sizes, total):
    rows = sum(sizes.values())

    found = scaled(sizes, total)

    if rows == 0:
        assert found == sizes
    else:
        assert sum(found.values()) == total
        for value, size in sizes.items():
            assert abs(found[value] - size * total / rows) < 1


@given(SIZES, st.sets(st.text("abcdef", min_size=1, max_size=2)))
def test_folding_loses_no_item(sizes, kept):
    found = folded(sizes, frozenset(kept))

    assert sum(found.values()) == sum(sizes.values())
    assert set(found) <= {*kept, OTHER}


def test_candidates_and_sizes_are_folded_alike_over_all_strata():
    drawn = (Candidate("i", 0.9, ("x",)), Candidate("j", 0.8, ("y",)))
    many = {f"v{number:02}": 1 for number in range(20)}
    parts = [
        StratumFrame(FLAGGED, 2, drawn, ({"x": 1, "y": 1},)),
        StratumFrame(PASSED, 25, (), (many | {"x": 5},)),
    ]

    flagged, passed = with_segments(parts, ["column"])

    part = StratumFrame(FLAGGED, 1, (Candidate("i", 0.9),))
    assert with_segments([part], []) == (part,)
    assert flagged.segments == ({"x": 1, OTHER: 1},)
    assert [candidate.segments for candidate in flagged.candidates] == [("x",), (OTHER,)]
    assert passed.segments[0][OTHER] == 1
    assert sum(passed.segments[0].values()) == 25
