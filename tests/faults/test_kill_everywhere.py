"""R1: `kill -9` at every crash point of a whole round; the next life makes it whole."""

import pytest

from tests.faults.sizes import SOAK, sized


@pytest.mark.parametrize(("kind", "every_nth"), [("sqlite", 8), ("postgresql", 20)])
def test_a_round_killed_at_any_point_is_whole_after_the_next_life(lives, kind, every_nth):
    every_nth = 1 if SOAK else every_nth

    done = lives("sweeps.everywhere", store=kind, every=SOAK, every_nth=every_nth)

    assert done["violations"] == []
    assert done["kills"] > 80 / every_nth


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
@pytest.mark.parametrize("story", ["where_a_late_round_fires", "where_an_alert_ends"])
def test_alerts_of_late_rounds_come_once_and_whole_wherever_it_is_killed(lives, story, kind):
    done = lives(f"sweeps.{story}", store=kind, every_nth=sized(small=24, soak=1))

    assert done["violations"] == []
    assert done["kills"] > sized(small=0, soak=8)


def test_the_round_that_is_killed_comes_by_all_that_is_done_outside(lives):
    points = lives("sweeps.points", store="sqlite")

    assert points["violations"] == []
    wanted = {"commit", "file", "after scan", "after send", "after collect", "after deliver"}
    wanted |= {"after mlflow create_run", "after mlflow log_batch", "after close"}
    assert wanted <= set(points["names"])
