"""Whether the population moved: known distances, bars by their formulas, simulated quiet."""

import math

import numpy as np
import pytest
from scipy import stats

from monitor.stats.drift.shift import FEWEST, FLOORS, LEVEL, MEMORY, window_distances

UP = [False, False, True]
WEEKS = [[9000, 500, 300], [9100, 480, 310], [8900, 510, 300], [9050, 490, 290]]


def by_kind(found):
    return {move.kind: move for move in found}


def distances(now, usual):
    """Values by kind, after three windows like the usual one; the last stratum is flagged."""
    found = window_distances(now, [usual] * 3, np.arange(len(now)) == len(now) - 1)
    return {move.kind: move.value for move in found}


# --- independent values ---------------------------------------------------------------------


def test_psi_is_the_sum_of_both_relative_entropies():
    now, usual = [30, 50, 20], [60, 30, 10]
    both = stats.entropy(now, usual) + stats.entropy(usual, now)

    assert distances(now, usual)["psi"] == pytest.approx(both, rel=1e-12)


def test_half_an_item_counts_where_a_stratum_or_class_is_empty_on_one_side():
    found = distances([0, 10, 0], [5, 15, 0])

    p, q = np.array([0.5 / 10, 1.0]), np.array([0.25, 0.75])
    assert found["psi"] == pytest.approx(float((p - q) @ np.log(p / q)), rel=1e-12)
    assert distances([9, 0], [8, 1])["flagged_rate"] == pytest.approx(math.log(0.5 / 9 / (3 / 24)))


def test_ks_is_that_of_the_items_laid_out_in_order():
    now, usual = [30, 50, 20], [60, 30, 110]
    first, second = (np.repeat([0.0, 1.0, 2.0], sizes) for sizes in (now, usual))

    exact = float(stats.ks_2samp(first, second, method="asymp").statistic)

    assert distances(now, usual)["ks"] == pytest.approx(exact, rel=1e-12)
    assert distances([0, 0, 9], [9, 0, 0])["ks"] == 1


def test_the_flagged_rate_moves_by_its_log_odds():
    assert distances([900, 40, 60], [950, 30, 20])["flagged_rate"] == pytest.approx(
        math.log(60 / 940) - math.log(20 / 980)
    )


def test_the_wobble_bar_is_the_prediction_limit_of_windows_along_one_direction():
    """Of two strata only the log odds move: the bar on them is that of a t interval."""
    log_odds = np.array([-0.8, -0.5, -1.1, -0.9, -0.7])
    share = 1 / (1 + np.exp(-log_odds))
    weeks = (10**9 * np.column_stack([1 - share, share])).round().astype(int)

    found = by_kind(window_distances([10**9, 10**9], weeks, [False, True]))["flagged_rate"]

    t = float(stats.t.ppf(0.5 + LEVEL / 2, df=4))
    bar = t * log_odds.std(ddof=1) * math.sqrt(1 + 1 / 5)
    assert found.bar == pytest.approx(bar, rel=0.02)  # odds are pooled, not their logs
    assert found.value == pytest.approx(0 - log_odds.mean(), abs=0.02)


def test_sampling_bars_are_those_of_two_samples():
    same = [[400, 50, 50]] * 4
    per_item = 1 / 500 + 1 / 2000

    found = by_kind(window_distances([400, 50, 50], same, UP))

    rate = 250 / 2500
    assert found["psi"].bar == pytest.approx(stats.chi2.ppf(LEVEL, 2) * per_item)
    assert found["ks"].bar == pytest.approx(stats.kstwobign.ppf(LEVEL) * math.sqrt(per_item))
    assert found["flagged_rate"].bar == pytest.approx(
        stats.norm.ppf(0.5 + LEVEL / 2) * math.sqrt(per_item / (rate * (1 - rate)))
    )
    assert {move.value for move in found.values()} == {0}
    always_empty = [[400, 0, 50, 50]] * 4
    with_empty = by_kind(
        window_distances([400, 0, 50, 50], always_empty, [False, False, False, True])
    )
    assert {k: m.bar for k, m in with_empty.items()} == {k: m.bar for k, m in found.items()}


def test_the_only_stratum_with_items_cannot_move():
    found = by_kind(window_distances([50, 0], [[70, 0]] * 3, [False, True]))

    assert (found["psi"].value, found["psi"].bar) == (0, FLOORS["psi"])
    assert not any(move.is_unusual for move in found.values())


def test_with_very_many_items_and_no_wobble_the_floors_decide():
    huge = [[10**12, 10**12, 10**11]] * 5

    assert {m.kind: m.bar for m in window_distances(huge[0], huge, UP)} == dict(FLOORS)
    assert dict(FLOORS) == {"psi": 0.01, "ks": 0.02, "flagged_rate": 0.1}


# --- what must always hold ------------------------------------------------------------------


def test_a_past_of_three_windows_with_items_is_needed():
    assert FEWEST == 3
    assert window_distances([9, 9, 9], WEEKS[:2], UP) == ()
    assert window_distances([9, 9, 9], [*WEEKS[:2], [0, 0, 0]], UP) == ()
    assert len(window_distances([9, 9, 9], WEEKS[:3], UP)) == 3
    assert window_distances([9, 9, 9], [], UP) == ()
    assert window_distances([0, 0, 0], WEEKS, UP) == ()


def test_only_the_newest_windows_with_items_are_looked_back_at():
    old, new = [[100, 100, 1000]] * 30, [[9000, 500, 300]] * MEMORY

    assert MEMORY == 26
    assert window_distances(WEEKS[0], old + new, UP) == window_distances(WEEKS[0], new, UP)
    assert window_distances(WEEKS[0], old + new[1:], UP) != window_distances(WEEKS[0], new, UP)
    empty = [[0, 0, 0]] * 9
    assert window_distances(WEEKS[0], new + empty, UP) == window_distances(WEEKS[0], new, UP)


# --- refused --------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"now \(3,\) and is_flagged \(2,\) must have the shape"):
        window_distances([1, 2, 3], WEEKS, [False, True])
    with pytest.raises(ValueError, match=r"^sizes must be 0 or more$"):
        window_distances([1, 2, -3], WEEKS, UP)
    with pytest.raises(ValueError, match=r"^sizes must be 0 or more$"):
        window_distances([1, 2, 3], [[1, 2, -3]], UP)


# --- simulation -----------------------------------------------------------------------------


@pytest.mark.simulation
@pytest.mark.parametrize("wobble", ["none", "along one direction", "in every stratum"])
def test_ordinary_windows_are_seldom_unusual(wobble):
    rng = np.random.default_rng(8)
    log_share = np.log([0.77, 0.09, 0.05, 0.03, 0.02, 0.015, 0.015, 0.01])
    up = [False] * 5 + [True] * 3
    slope = np.linspace(-1, 1, 8)

    def window():
        moved = log_share.copy()
        if wobble == "along one direction":
            moved += rng.normal(0, 0.15) * slope
        if wobble == "in every stratum":
            moved += rng.normal(0, 0.15, 8)
        share = np.exp(moved)
        return rng.multinomial(30_000, share / share.sum())

    replicates, unusual = 250, 0
    for _ in range(replicates):
        *earlier, now = (window() for _ in range(9))
        unusual += any(move.is_unusual for move in window_distances(now, earlier, up))

    assert unusual / replicates <= 0.025  # 1 % expected; three standard errors above
