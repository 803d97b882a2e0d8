"""R1: `kill -9` at every crash point of a whole round; the next life makes it whole."""

import pytest

from tests.faults.sizes import SOAK, sized


@pytest.mark.parametrize(
    ("kind", "real", "every_nth"),
    [("sqlite", True, 1 if SOAK else 4), ("postgresql", False, 1 if SOAK else 10)],
)
def test_a_round_killed_at_any_point_is_whole_after_the_next_life(
    lives, tell_figures, kind, real, every_nth
):
    """SQLite before MLflow's own store; PostgreSQL before a recorded one, which is as forgetful."""
    done = lives("everywhere", store=kind, real_mlflow=real, every=SOAK, every_nth=every_nth)

    assert done["violations"] == []
    assert done["kills"] > 80 / every_nth
    tell_figures(
        "R1",
        what=f"kill -9 at every crash point of a round, {kind}",
        size=f"{done['kills']} kills",
        violations=len(done["violations"]),
    )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_a_round_that_fires_after_a_newer_one_closed_is_whole_wherever_it_is_killed(
    lives, tell_figures, kind
):
    done = lives("where_a_late_round_fires", store=kind, every_nth=sized(small=12, soak=1))

    assert done["violations"] == []
    assert done["kills"] > sized(small=4, soak=8)
    tell_figures(
        "R1",
        what=f"kill -9 where a round fires that closes after a newer one, {kind}",
        size=f"{done['kills']} kills",
        violations=len(done["violations"]),
    )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_a_round_that_ends_an_alert_ends_it_once_wherever_it_is_killed(lives, tell_figures, kind):
    done = lives("where_an_alert_ends", store=kind, every_nth=sized(small=12, soak=1))

    assert done["violations"] == []
    assert done["kills"] > sized(small=4, soak=8)
    tell_figures(
        "R1",
        what=f"kill -9 where a round ends an alert by evidence of recovery, {kind}",
        size=f"{done['kills']} kills",
        violations=len(done["violations"]),
    )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_a_second_wave_goes_out_once_and_whole_wherever_it_is_killed(lives, tell_figures, kind):
    done = lives("where_a_second_wave_goes_out", store=kind)

    assert done["violations"] == []
    assert done["kills"] > 8
    tell_figures(
        "R1",
        what=f"kill -9 while a first round hands out its second wave, {kind}",
        size=f"{done['kills']} kills",
        violations=len(done["violations"]),
    )


def test_the_round_that_is_killed_comes_by_all_that_is_done_outside(lives):
    points = lives("points", store="sqlite")

    assert points["violations"] == []
    wanted = {"commit", "file", "after scan", "after send", "after collect", "after deliver"}
    wanted |= {"after mlflow create_run", "after mlflow log_batch", "after close"}
    assert wanted <= set(points["names"])
