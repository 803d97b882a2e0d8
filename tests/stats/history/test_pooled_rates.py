"""Rates drawn toward a history that agrees: never far off one that does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.stats.history.pooled_rates import pooled_rates

SIZE = np.array([500.0, 9000.0])
HISTORY = (
    np.array([0.3, 0.7]),
    np.array([[90.0, 8.0], [160.0, 30.0]]),
    np.array([[20.0, 400.0], [30.0, 900.0]]),
)


# --- independent numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(("y", "n"), [((30, 4), (40, 200)), ((1, 4), (1, 200))])
def test_the_weight_of_the_history_is_the_documented_one(y, n):
    y, n = np.array(y, dtype=np.float64), np.array(n, dtype=np.float64)
    parts = [
        [stats.beta(a, b) for a, b in zip(*each, strict=True)]
        for each in zip(HISTORY[1], HISTORY[2], strict=True)
    ]
    mean = [0.3 * one.mean() + 0.7 * other.mean() for one, other in zip(*parts, strict=True)]
    totals = [sum(N * beta.mean() for N, beta in zip(SIZE, each, strict=True)) for each in parts]
    known = (
        sum(
            w * (sum(N**2 * beta.var() for N, beta in zip(SIZE, each, strict=True)) + total**2)
            for w, each, total in zip(HISTORY[0], parts, totals, strict=True)
        )
        - sum(w * total for w, total in zip(HISTORY[0], totals, strict=True)) ** 2
    )
    middle = (y / n + mean) / 2
    noise = sum(N**2 * c * (1 - c) / of for N, c, of in zip(SIZE, middle, n, strict=True))
    apart = sum(N * (k / of - m) for N, k, of, m in zip(SIZE, y, n, mean, strict=True))
    weight = 0.75 * noise / (noise + known) * np.exp(-0.75 * apart**2 / (noise + known))

    found = pooled_rates(HISTORY, y, n, SIZE)

    assert 0.1 < weight < 0.7
    assert found == pytest.approx((1 - weight) * y / n + weight * np.array(mean), rel=1e-12)


# --- properties ----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 300), st.floats(0, 1), st.floats(0.01, 0.99), st.floats(1, 1e5))
def test_rates_lie_between_those_of_the_round_and_of_the_history(n, part, rate, worth):
    y = round(part * n)
    history = [1.0], [[rate * worth]], [[(1 - rate) * worth]]

    (found,) = pooled_rates(history, [y], [n], [700])

    assert min(y / n, rate) - 1e-12 <= found <= max(y / n, rate) + 1e-12
    assert abs(found - y / n) <= 0.75 * abs(rate - y / n) + 1e-12


def test_a_stratum_without_labels_has_the_rate_of_the_history_and_no_say():
    mean = pooled_rates(HISTORY, [0, 0], [0, 0], SIZE)

    found = pooled_rates(HISTORY, [30, 0], [40, 0], SIZE)

    assert mean == pytest.approx(HISTORY[0] @ (HISTORY[1] / (HISTORY[1] + HISTORY[2])), rel=1e-12)
    assert found[1] == mean[1]
    alone = HISTORY[0], HISTORY[1][:, :1], HISTORY[2][:, :1]
    assert found[0] == pytest.approx(pooled_rates(alone, [30], [40], SIZE[:1])[0], rel=1e-12)


def test_many_histories_at_once_give_what_each_gives_alone():
    y, n = np.array([[30.0, 4.0], [39.0, 0.0]]), np.array([40.0, 200.0])
    weight, alpha, beta = (np.stack([part, part]) for part in HISTORY)

    found = pooled_rates((weight, alpha, beta), y, n, SIZE)

    for row in (0, 1):
        assert found[row] == pytest.approx(pooled_rates(HISTORY, y[row], n, SIZE), rel=1e-12)
