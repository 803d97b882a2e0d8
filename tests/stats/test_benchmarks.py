"""The short cuts of the benchmarks: the same intervals as the monitor's, to the digit."""

import re
from importlib import import_module

import numpy as np
import pytest

from benchmarks.cell_rounds import cut_into_cells, judged
from benchmarks.coverage_grid import (
    NAMED,
    Setting,
    class_probabilities,
    grid,
    make_cell,
    second_cells,
)
from benchmarks.fast_rounds import Design, FastRounds
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.posterior import estimates
from tests.stats.samples import of_strata

POINTS = 2**9
SIZE = np.array([120, 300, 40, 9000, 800, 300])
LABELED = np.array([20, 30, 40, 90, 40, 40])
FINITE = Design(SIZE, LABELED, 3, positive=np.array([80, 270, 39, 3, 40, 90]))
INFINITE = Design(SIZE, LABELED, 3, rate=np.array([0.7, 0.9, 0.99, 0.001, 0.05, 0.3]))
PURE = Design(
    size=np.array([500, 9000]), labeled=np.array([30, 60]), flagged=1, rate=np.array([0.99, 1e-3])
)


@pytest.mark.parametrize("design", [FINITE, INFINITE, PURE], ids=["window", "rates", "pure"])
def test_ends_misses_and_points_are_those_of_the_monitors_estimate(design):
    positive = design.simulate(5, np.random.default_rng(4))
    rounds = FastRounds(design, positive, points=POINTS)
    ends, missed, points = rounds.ends(5), rounds.misses(), rounds.points(5)

    for index, found in enumerate(positive):
        counts = of_strata(
            design.size, design.labeled, found, np.arange(len(design.size)) < design.flagged
        )
        rows = estimates(
            counts, estimands=("window",) if design.rate is None else ("rate",), points=POINTS
        )
        for place, (row, truth) in enumerate(zip(rows, design.truths, strict=True)):
            assert ends[place, :, index] == pytest.approx([row.low, row.high], abs=1e-8)
            assert missed[place, :, index].tolist() == [truth < row.low, truth > row.high]
        assert points[:, index] == pytest.approx([row.point for row in rows], abs=1e-8)


@pytest.mark.parametrize(
    ("benchmark", "changed", "asked", "words"),
    [
        (
            "coverage",
            {"second_cells": lambda: second_cells(2)},
            {"grid": "second", "replicates": 20},
            r"2 settings, 40 rounds(.|\n)*never under 0\.93(.|\n)*Other methods",
        ),
        (
            "coverage",
            {},
            {"by": "cells", "grid": "first", "settings": 3, "replicates": 16},
            "precision: never under 0.93 where        10\\+ are expected",
        ),
    ],
)
def test_a_benchmark_of_a_tiny_size_says_what_it_found(
    benchmark, changed, asked, words, monkeypatch, capsys
):
    module = import_module(f"benchmarks.{benchmark}")
    for name, value in changed.items():
        monkeypatch.setattr(module, name, value)

    module.main(**asked)

    assert re.search(words, capsys.readouterr().out)


@pytest.mark.parametrize("setting", [NAMED[12], NAMED[18], *grid(6)])
def test_a_cell_has_the_precision_the_recall_and_the_labels_it_is_asked_for(setting):
    design = make_cell(setting).design

    expected = (setting.precision, setting.recall)
    rounding = 1e-3 if setting.times is None else 3 / design.size[: design.flagged].sum() + 0.05
    assert design.truths == pytest.approx(expected, abs=rounding)
    assert design.labeled.sum() <= setting.labels


@pytest.mark.parametrize("times", [None, 4], ids=["rates", "window"])
def test_those_of_score_cells_are_those_of_the_monitors_estimate_too(times):
    names, points = ("precision", "recall", "f1"), 2**9
    setting = Setting(0.1, 0.9, 0.8, 120, times=times)
    claims = class_probabilities(setting.k, setting.precision, setting.recall)
    design = cut_into_cells(setting, [(claim, claim) for claim in claims])
    positive = design.answers(2, 8, np.random.default_rng(5))
    positive[0, ~design.is_flagged] = 0  # recall then reaches to 1

    found = judged(design, names, 2, positive, points=points)

    for index, answers in enumerate(positive):
        counts = of_strata(design.size, design.plans[2], answers, design.is_flagged)
        rows = estimates(
            counts, metrics=names, estimands=(design.estimand,), points=points, cells=True
        )
        for place, row in enumerate(rows):
            truth = float(metric(row.metric)(design.truth))
            told = [found.point[place, index], found.low[place, index], found.high[place, index]]
            assert told == pytest.approx([row.point, row.low, row.high], abs=1e-6)
            assert row.interval is not None
            assert found.below[place, index] == (truth < row.interval.low)
            assert found.above[place, index] == (truth > row.interval.high)
