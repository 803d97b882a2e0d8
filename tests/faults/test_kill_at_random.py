"""R2: `kill -9` at random points and times, over one to three rounds and several lives."""

import pytest

from tests.faults.sizes import sized


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_rounds_of_lives_that_are_killed_at_random_come_out_whole(lives, tell_figures, kind):
    runs = sized(small=10, soak=500)

    done = lives("at_random", store=kind, runs=runs, seed=2)

    assert done["violations"] == []
    assert done["kills"] >= 4 * runs
    tell_figures(
        "R2",
        what=f"kill -9 at random points and times of 1-3 rounds, {kind}",
        size=f"{runs} runs, {done['kills']} kills",
        violations=len(done["violations"]),
    )
