"""Intervals where a judge was asked about a sample only: the noise of the estimated shares."""

import numpy as np
import pytest

from benchmarks.first_phase import Asked, of_round, of_rounds
from monitor.domain.settings import Pooling
from monitor.rounds.estimation.history import class_labels, history_states
from monitor.rounds.estimation.tally import Completed
from monitor.stats.core.counts import FirstPhase
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.double_sampling import ShareNoise
from monitor.stats.estimation.cell_matrix import cell_matrix, plain_counts
from monitor.stats.estimation.posterior import estimates
from tests.stats.samples import of_strata

PARENT = np.array([0, 1, 0, 1, 2, 3, 2, 3])  # two cells a class, no before yes
UP = np.arange(8) < 4
SIZE = np.array([60, 40, 240, 360, 9_500, 700, 500, 300])
LABELED = np.array([20, 10, 15, 25, 40, 30, 30, 40])
POSITIVE = np.array([4, 6, 14, 25, 0, 1, 20, 38])


def counts(judged=None, *, size=SIZE, positive=POSITIVE):
    sample = None if judged is None else FirstPhase(np.asarray(judged), PARENT)
    return of_strata(size, LABELED, positive, UP, sample)


def tenth():
    return counts(np.maximum(SIZE // 10, LABELED))


def intervals(of, estimand):
    rows = estimates(of, metrics=("precision", "recall"), estimands=(estimand,), cells=True)
    return [row.interval for row in rows]


def test_the_variance_of_the_shares_is_that_of_repeated_first_phases():
    rng, rates = np.random.default_rng(1), np.array([0.01, 0.1, 0.8, 0.9])
    items, share, most = np.array([9_000, 1_000]), np.array([0.04, 0.3]), np.array([300, 400])
    yes = rng.binomial(items, share, (20_000, 2))
    drawn = rng.hypergeometric(yes, items - yes, most)
    by_yes = np.stack([items - items / most * drawn, items / most * drawn], axis=2)
    pairs = np.array([[0.01, 0.8], [0.1, 0.9]])
    of_window = np.stack([items - yes, yes], axis=2)

    estimated = (by_yes * pairs).sum(axis=(1, 2))
    own = (of_window * pairs).sum(axis=(1, 2))

    noise = [
        [
            ShareNoise.of(
                FirstPhase(np.array([*(most - row), *row]), np.array([0, 1, 0, 1])),
                [*(items - items / most * row), *(items / most * row)],
                in_window=in_window,
            ).variance(rates)
            for row in drawn[:400]
        ]
        for in_window in (False, True)
    ]
    of_rate, of_rest = np.mean(noise, axis=1)
    assert of_rate == pytest.approx(estimated.var(), rel=0.05)
    assert of_rest == pytest.approx((estimated - own).var(), rel=0.05)
    assert of_rest < 0.98 * of_rate


def test_what_was_judged_whole_counts_as_a_judge_that_is_a_column():
    counted, whole = counts(), counts(SIZE)

    for estimand in ("rate", "window"):
        mine, theirs = (cell_matrix(each, estimand, points=2**8) for each in (whole, counted))
        assert mine.tp == pytest.approx(theirs.tp, rel=1e-3)
        assert mine.fn == pytest.approx(theirs.fn, rel=1e-2)


def test_labels_that_show_no_positive_leave_the_shares_without_noise():
    nothing = np.zeros(8, dtype=np.int64)

    mine, theirs = (plain_counts(counts(judged, positive=nothing)) for judged in (SIZE // 10, None))

    assert mine.labeled.tolist() == theirs.labeled.tolist()
    assert cell_counts([9500, 500], [40, 30], [0, 0]).labeled[0] > 0


def test_rounds_are_pooled_by_the_shares_of_each_and_the_items_of_the_present():
    usual = tenth()
    moved = SIZE.copy()
    moved[[4, 6, 5, 7]] = [4_750, 250, 1_750, 750]  # half of the low scores, 2.5 times the others
    now = counts(np.maximum(moved // 10, LABELED), size=moved)

    pooled = class_labels([usual, now], now.size, PARENT)

    own = np.array([4_750, 700 * 2.5, 250, 300 * 2.5])
    at_own = cell_counts(own, LABELED[4:], POSITIVE[4:], usual.first_phase.taken(~UP))
    assert pooled.positive[0, 1] / pooled.labeled[0, 1] == pytest.approx(
        at_own.positive[0] / at_own.labeled[0]
    )
    assert pooled.labeled[0, 1] == pytest.approx(at_own.labeled[0])


def test_a_history_without_a_first_phase_is_pooled_as_before_one_existed():
    played = [Completed(counts(), np.zeros(8, dtype=np.int64)) for _ in range(3)]

    [state] = history_states(played, None, Pooling(), cells=PARENT, since=2)

    one = plain_counts(counts())
    assert np.floor(state.now.labeled + 1e-9).astype(int).tolist() == one.labeled.tolist()


@pytest.mark.simulation
def test_intervals_of_a_round_hold_the_truth_and_would_not_if_shares_were_taken_as_known():
    design = Asked.of("Phi1", "weak", "TPR .9, FPR .01")

    held, _ = of_round(design, 300, 250, seed=5)

    window, rate, known = held
    assert window.min() > 0.92
    assert rate.min() > 0.92
    assert known[1] < 0.90  # recall


@pytest.mark.simulation
def test_pooled_intervals_hold_the_truth_and_would_not_if_shares_were_taken_as_known():
    design = Asked.of("Phi1", "weak", "TPR .9, FPR .01")

    held, _ = of_rounds(design, 300, 100, seed=6)

    pooled, known = held
    assert pooled.min() > 0.92
    assert known[1] < 0.88


def test_a_verdict_that_is_labeled_out_still_leaves_its_unjudged_items_open():
    """A flagged class that is labeled whole beside passed cells of which 40 of 45 are judged."""
    rng, held, reps = np.random.default_rng(5), 0, 60
    parent = np.array([0, *np.repeat(np.arange(1, 9), 2)])
    for _ in range(reps):
        yes = rng.binomial(45, 0.05, 8)  # by a judge that is always right
        judged_yes = rng.hypergeometric(yes, 45 - yes, 40)
        judged = np.stack([40 - judged_yes, judged_yes], axis=1).ravel()
        in_yes = np.rint(45 / 40 * judged_yes).astype(int)
        labeled = np.stack([np.minimum(40 - judged_yes, 35), judged_yes], axis=1).ravel()
        found = of_strata(
            [20, *np.stack([45 - in_yes, in_yes], axis=1).ravel()],
            [20, *labeled],
            [15, *np.stack([0 * yes, judged_yes], axis=1).ravel()],
            [True, *[False] * 16],
            FirstPhase(np.array([20, *judged]), parent),
        )
        recall = intervals(found, "window")[1]
        held += recall.low <= 15 / (15 + yes.sum()) <= recall.high

    assert held / reps > 0.9
