"""Sizes that are estimated from the rows of a log which keeps a sample."""

import numpy as np
import pytest

from monitor.stats.core.counts import Counts
from monitor.stats.core.metrics import METRICS, Matrix
from monitor.stats.core.sampled_sizes import class_rows, size_variance, with_size_noise
from monitor.stats.design.double_sampling import ShareNoise
from monitor.stats.estimation.cell_matrix import cell_matrix
from monitor.stats.estimation.posterior import estimates

SHARE = np.array([1.0, 0.1, 0.05])
SIZE = np.array([200, 6_000, 4_000])
UP = np.array([True, False, False])
MATRIX = Matrix(*(np.full(2**14, value) for value in (160.0, 40.0, 60.0, 9_940.0)))


def logged(size=SIZE, share=SHARE):
    nothing = np.zeros_like(size)
    return Counts(size, nothing, nothing, UP, np.rint(size * share).astype(int))


def test_the_variance_of_sizes_and_of_their_mix_is_that_of_repeated_logs():
    rng, rates = np.random.default_rng(1), np.array([0.01, 0.2])
    items, share = SIZE[1:], SHARE[1:]
    spread = size_variance(items, items * share, of_window=True)

    estimated = rng.binomial(items, share, (40_000, 2)) / share
    positives = ((rates - rates @ items / items.sum()) * estimated).sum(axis=1)

    assert estimated.sum(axis=1).var() == pytest.approx(spread.sum(), rel=0.03)
    noise = ShareNoise.of(None, items, spread).variance(rates)
    assert positives.var() == pytest.approx(noise, rel=0.03)


def test_the_totals_of_a_class_vary_and_its_own_rate_stays():
    counts = logged()

    drawn = with_size_noise(MATRIX, counts, seed=1)

    variance = size_variance(SIZE, counts.rows, of_window=True)[1:].sum()
    assert drawn.passed.std() == pytest.approx(np.sqrt(variance), rel=0.01)
    assert drawn.passed.mean() == pytest.approx(10_000)
    assert np.ptp(METRICS["precision"](drawn)) == 0
    assert METRICS["recall"](drawn).std() > 0.002


def test_sizes_that_were_counted_stay_as_they_are():
    nothing = np.zeros(3, dtype=int)
    counts = Counts(SIZE, nothing, nothing, UP)

    assert with_size_noise(MATRIX, counts, seed=1) is MATRIX
    assert class_rows(counts) is None


def test_a_class_has_as_many_rows_as_know_its_size_as_well():
    alike, other = class_rows(logged(share=np.array([1, 0.1, 0.1]))), class_rows(logged())

    assert str(alike) == "[ 200 1000]"
    assert str(other) == f"[200 {round(10_000**2 / (60_000 + 80_000))}]"


def test_a_log_of_everything_says_what_a_window_says():
    labeled, positive = np.array([[100, 50, 50], [80, 0, 4]])

    whole, log = (Counts(SIZE, labeled, positive, UP, rows) for rows in (None, SIZE))

    for estimand in ("rate", "window"):
        assert np.array_equal(cell_matrix(log, estimand).fn, cell_matrix(whole, estimand).fn)
    assert estimates(log, cells=True) == estimates(whole, cells=True)
