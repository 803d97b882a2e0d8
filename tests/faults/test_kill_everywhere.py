"""R1: `kill -9` at every crash point of a whole round; the next life makes it whole."""

import pytest

from tests.faults.sizes import SOAK

OUTSIDE = {"commit", "file", "after scan", "after send", "after collect", "after deliver"}
OUTSIDE |= {"after mlflow create_run", "after mlflow log_batch", "after close"}


@pytest.mark.parametrize(("kind", "every_nth"), [("sqlite", 8), ("postgresql", 30)])
def test_a_round_killed_at_any_point_is_whole_after_the_next_life(lives, kind, every_nth):
    every_nth = 1 if SOAK else every_nth

    done = lives("sweeps.everywhere", store=kind, every=SOAK, every_nth=every_nth)

    assert done["violations"] == []
    assert done["kills"] > 80 / every_nth
    assert set(done["points"]) >= OUTSIDE
