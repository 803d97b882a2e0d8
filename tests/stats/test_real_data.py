"""The benchmark on real predictions: rounds drawn and estimated as the monitor's first one is."""

import csv
import gzip

import numpy as np
import pytest

from benchmarks import real_data
from benchmarks.real_data import Window, as_rounds, cut, drawn_round, estimated
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS
from monitor.stats.estimation.posterior import estimates


def some_window(items=3000):
    rng = np.random.default_rng(1)
    score = rng.beta(0.4, 2.0, items)
    return Window("some", score, score >= 0.4, rng.random(items) < 0.9 * score)


def write_data(folder):
    window = some_window()
    columns = {"ts": ("2016-04-02", "2017-04-02"), "year": ("2015", "2016")}
    for (time, years), file in zip(columns.items(), real_data.FILES.values(), strict=True):
        with gzip.open(folder / file, "wt", encoding="utf-8", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow([time, "score", "pred", "y"])
            for i, score in enumerate(window.score):
                classes = int(window.is_flagged[i]), int(window.is_positive[i])
                writer.writerow([years[i % 2], score, *classes])


def test_rounds_of_a_real_window_spend_their_labels_on_items_that_it_has():
    strata = cut(some_window(), 300)

    labeled, positive = drawn_round(strata, 300, 40, np.random.default_rng(2))

    assert set(labeled.sum(axis=1)) == {300}
    assert (labeled <= strata.size).all()
    assert (positive <= strata.positive).all()
    assert (labeled - positive <= strata.size - strata.positive).all()
    assert len(np.unique(labeled, axis=0)) > 1  # by what wave 1 found


def test_intervals_of_real_windows_are_those_of_the_monitors_estimate_round_by_round():
    strata = cut(some_window(), 300)
    labeled, positive = drawn_round(strata, 300, 6, np.random.default_rng(4))

    found = estimated(as_rounds(strata, 300, labeled), positive)

    ends = []
    for n, y in zip(labeled, positive, strict=True):
        counts = Counts.of_arrays(
            size=strata.size, labeled=n, positive=y, is_flagged=strata.is_flagged
        )
        rows = estimates(counts, estimands=("window",), points=POINTS, cells=True)
        ends.append([(row.low, row.high) for row in rows])
    low, high = np.moveaxis(np.array(ends, dtype=float), 2, 0)
    width = (high - low).mean()
    assert np.sort(found.low, axis=1) == pytest.approx(np.sort(low.T, axis=1), abs=0.05 * width)
    assert np.sort(found.high, axis=1) == pytest.approx(np.sort(high.T, axis=1), abs=0.05 * width)


def test_coverage_on_real_predictions_is_said_for_each_window(tmp_path, capsys, monkeypatch):
    write_data(tmp_path)
    monkeypatch.setattr(real_data, "BUDGETS", (300,))

    real_data.main(data=tmp_path, seeds=3)

    said = capsys.readouterr().out
    for name in ("world-series 2016", "world-series 2017", "census 2015", "census 2016"):
        assert said.count(name) >= 2  # metrics
    assert "within .95 +- .02 +- 3 se" in said
    assert "a random sample needs" in said
