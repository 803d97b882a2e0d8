"""The benchmark that plays the demo with other seeds."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.demo_seeds import DESIGNS, REDRAWS, HalfYear, Strata, show, show_intervals
from monitor.demo.digits import DigitScenario


def test_the_demo_is_played_by_cells_and_by_bands_on_the_same_weeks(capsys):
    scenario = DigitScenario(
        rounds=6, drop_round=2, images=1500, reference=2000, labels=300, lost_pixels=0.3
    )
    half_year = HalfYear.of(scenario, intervals=True)
    weeks = [week.confusion for week in half_year.weeks]

    strata = {by: Strata.of(half_year.weeks[0], by, scenario.labels) for by in DESIGNS}
    played = {by: half_year.play(by, intervals=True) for by in DESIGNS}

    assert len(strata["cells"].is_flagged) > 2 * len(strata["bands"].is_flagged)
    for by, outcome in played.items():
        true = {(each.number, each.metric): each.true for each in outcome.intervals}
        assert true == {
            (number, name): getattr(week, name)
            for number, week in enumerate(weeks, start=1)
            for name in ("precision", "recall")
        }
        assert len(outcome.intervals) == 2 * (5 + REDRAWS)
        assert all(each.low <= each.point <= each.high for each in outcome.intervals)
        show(by, [outcome], scenario.drop_round)
        show_intervals(by, [outcome, replace(outcome, seed=9)], scenario.drop_round)
    assert "cells recall    before" in capsys.readouterr().out
