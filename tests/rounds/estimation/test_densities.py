"""Densities and the next round reach the report of a round."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from monitor.domain.sample_settings import Bands, Margin, Sample
from tests.rounds.estimation.test_curves import reports
from tests.rounds.scene import MONDAY, WEEK, Scene, settings


@pytest.fixture
def scene(database):
    sample = Sample(max_labels=300, bands=Bands(flagged=2, passed=3), margin=Margin(precision=0.05))
    return Scene(database, settings(sample=sample))


def test_a_density_belongs_to_each_estimate_and_its_interval_holds_95_percent_of_it(scene):
    scene.play(1)
    scene.play(2)

    for report in reports(scene):
        found = [(row.metric, row.basis) for row in report.densities]
        assert found == [(m, b) for m in ("precision", "recall") for b in ("round", "pooled")]
        for row in report.densities:
            estimand = {"round": "window", "pooled": "rate"}[row.basis]
            own = report.estimate(row.metric, basis=row.basis, estimand=estimand)
            x = np.linspace(own.low, own.high, 400)
            inside = np.trapezoid(np.interp(x, row.x, row.density), x)
            assert inside == pytest.approx(0.95, abs=0.03), (row.metric, row.basis)


def test_a_metric_without_an_estimate_has_no_density(scene):
    scene.week(1, share=0.0)
    scene.run(1)
    scene.answer()
    scene.run()

    for report in reports(scene):
        there = {row.metric for row in report.estimates if row.point is not None}
        assert {row.metric for row in report.densities} <= there


def test_a_report_says_what_the_settings_ask_of_the_next_round(scene):
    scene.play(1)

    [report] = reports(scene)

    assert report.next_round.slot == MONDAY + WEEK
    assert report.next_round.max_labels == 300
    assert report.next_round.margins == {"precision": 0.05}
    assert report.next_round.hours == timedelta(days=5) / timedelta(hours=1)
