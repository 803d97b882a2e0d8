"""The run-length mixture: an independent product, invariants, refusals."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.stats.history import change_point, run_length
from monitor.stats.history.change_point import (
    ClassHistory,
    last_steps,
    pool,
    pooling_steps,
)
from monitor.stats.history.run_length import SHIFTS, RunLength

UNSHIFTED = ((0.0, 1.0),)
PLAIN = RunLength(hazard=0.35, shifts=UNSHIFTED)


def mixture_by_product(rounds, reference, hazard, restart, shifts):
    """Weights and alphas after the last round in 40 digits, from whole stretches of data at once.

    Z_T = (1-h)^T m_0(1..T) + sum_j Z_{j-1} h (1-h)^(T-j) sum_d u_d m_jd(j..T), with m a ratio of
    Beta functions and u_d the share of shift d.
    """
    y = np.array([reference[0], *(pair[0] for pair in rounds)])
    n = np.array([reference[1], *(pair[1] for pair in rounds)])
    a0 = mpmath.mpf(1) / (2 * y.shape[1])
    h = mpmath.mpf(hazard)
    shares = [mpmath.mpf(weight) / sum(w for _, w in shifts) for _, weight in shifts]

    def start(first, s, shift):
        a = a0 + int(y[: max(first, 1), s].sum())
        b = a0 + int((n - y)[: max(first, 1), s].sum())
        if not first:
            return a, b
        mean = 1 / (1 + (b / a) * mpmath.exp(-mpmath.mpf(shift)))
        worth = min(a + b, mpmath.mpf(restart) / min(mean, 1 - mean))
        return worth * mean, worth * (1 - mean)

    def stretch(first, last, shift=0.0):  # rounds first..last under what began at `first`
        product = mpmath.mpf(1)
        for s in range(y.shape[1]):
            a, b = start(first, s, shift)
            seen = slice(max(first, 1), last + 1)
            up, down = int(y[seen, s].sum()), int((n - y)[seen, s].sum())
            product *= mpmath.beta(a + up, b + down) / mpmath.beta(a, b)
        return product

    total = [mpmath.mpf(1)]
    for last in range(1, len(rounds) + 1):
        parts = [(1 - h) ** last * stretch(0, last)]
        parts += [
            total[j - 1] * h * (1 - h) ** (last - j) * share * stretch(j, last, shift)
            for j in range(1, last + 1)
            for share, (shift, _) in zip(shares, shifts, strict=True)
        ]
        total.append(mpmath.fsum(parts))
    ups = y[1:].sum(axis=0), *(y[j:].sum(axis=0) for j in range(1, len(rounds) + 1))
    begun = [(0, 0.0), *((j, shift) for j in range(1, len(rounds) + 1) for shift, _ in shifts)]
    alphas = [
        [float(start(j, s, shift)[0] + int(ups[j][s])) for s in range(y.shape[1])]
        for j, shift in begun
    ]
    return [float(part / total[-1]) for part in parts], alphas


# --- independent numbers -------------------------------------------------------------------------


@pytest.mark.parametrize("shifts", [UNSHIFTED, SHIFTS], ids=["unshifted", "shifted"])
def test_the_mixture_agrees_with_a_forty_digit_product_over_whole_stretches_of_rounds(shifts):
    rng = np.random.default_rng(5)
    labeled = rng.integers(0, 60, size=(7, 3))
    labeled[2, 1] = labeled[4, 0] = 0  # strata that a round did not label
    positive = rng.binomial(labeled, [0.9, 0.5, 0.01])
    pairs = [(y.tolist(), n.tolist()) for y, n in zip(positive, labeled, strict=True)]
    with mpmath.workdps(40):
        weights, alphas = mixture_by_product(pairs[1:], pairs[0], 0.5, 3, shifts)

    steps = pooling_steps(pairs[1:], reference=pairs[0], settings=RunLength(0.5, shifts=shifts))

    assert steps[-1].mixture.weight == pytest.approx(weights, rel=1e-10, abs=1e-14)
    assert steps[-1].mixture.alpha == pytest.approx(np.array(alphas), rel=1e-10)


# --- properties ----------------------------------------------------------------------------------


@st.composite
def histories(draw, most_rounds=6):
    """Rounds of one class: one to four strata, some of them unlabeled in some rounds."""
    strata = draw(st.integers(1, 4))
    rounds = []
    for _ in range(draw(st.integers(1, most_rounds))):
        labeled = draw(st.lists(st.integers(0, 300), min_size=strata, max_size=strata))
        rounds.append(([draw(st.integers(0, n)) for n in labeled], labeled))
    return rounds


QUICK = settings(max_examples=25, deadline=None, derandomize=True)


@QUICK
@given(histories(), st.integers(1, 3))
def test_only_the_heaviest_components_are_kept_and_their_weights_sum_to_one(rounds, keep):
    everything = pooling_steps(rounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_length, "MOST_COMPONENTS", keep)
        kept = pooling_steps(rounds)

    assert all(step.mixture.weight.size <= keep for step in kept)
    assert all(step.mixture.weight.sum() == pytest.approx(1, abs=1e-12) for step in kept)
    for full, cut in zip(everything, kept, strict=True):
        if full.started.size > keep:  # the first cut: from here on the two differ
            heaviest = np.sort(full.mixture.weight)[-keep:]
            assert np.sort(cut.mixture.weight) == pytest.approx(heaviest / heaviest.sum())
            break


def test_without_a_reference_the_first_round_is_its_own_posterior_and_cannot_be_a_change():
    (step,) = pooling_steps([([7, 1], [9, 50])])

    assert step.started.tolist() == [0]
    assert step.mixture.weight.tolist() == [1.0]
    assert step.mixture.alpha.tolist() == [[7.25, 1.25]]
    assert step.mixture.beta.tolist() == [[2.25, 49.25]]


def test_what_has_no_labels_takes_no_step_and_changes_no_betas():
    rounds = [([7], [9]), ([3], [9])]
    before, after = pooling_steps([([8, 2], [10, 40]), ([5, 0], [10, 0])], settings=PLAIN)

    assert pool([([0, 0, 0], [0, 0, 0])]).alpha.tolist() == [[1 / 6] * 3]  # the prior
    assert pool(rounds, reference=([0], [0])).weight.tolist() == pool(rounds).weight.tolist()
    assert pool([], reference=([79], [100])).alpha.tolist() == [[79.5]]
    assert after.started.tolist() == [0, 2]
    assert after.mixture.alpha[0].tolist() == [
        before.mixture.alpha[0, 0] + 5,
        before.mixture.alpha[0, 1],
    ]


def test_the_most_likely_start_is_that_of_the_heaviest_components_together():
    quiet, fell = ([80], [100]), ([40], [100])

    steps = pooling_steps([quiet, quiet, fell, fell])

    assert [step.most_likely_start() for step in steps] == [0, 0, 3, 3]
    shares = [steps[-1].mixture.weight[steps[-1].started == t].sum() for t in (0, 3)]
    assert shares[1] > 0.9
    assert shares[0] < 0.1


# --- refused inputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "found"),
    [
        (([5], [4]), r"round 2: needs 0 <= positive <= labeled"),
        (([-1], [4]), r"round 2: needs 0 <= positive <= labeled"),
        (([1], [float("nan")]), r"round 2: needs 0 <= positive <= labeled"),
        (([1, 2], [4]), r"round 2: positive \(2,\) and labeled \(1,\)"),
        (([], []), r"round 2: positive \(0,\) and labeled \(0,\)"),
        (([1, 1], [4, 4]), r"round 2 has 2 strata where 1 were expected"),
    ],
)
def test_a_round_of_impossible_counts_is_named(pair, found):
    with pytest.raises(ValueError, match=found):
        pool([([1], [4]), pair])


def test_no_round_and_no_reference_and_an_impossible_reference_are_refused():
    with pytest.raises(ValueError, match="at least one round or a reference"):
        pool([])
    with pytest.raises(ValueError, match="round 1 has 1 strata where 2 were expected"):
        pool([([1], [4])], reference=([1, 1], [4, 4]))
    with pytest.raises(ValueError, match="reference: needs 0 <= positive"):
        pool([], reference=([5], [4]))


@pytest.mark.parametrize(
    "chosen",
    [
        {"hazard": 0.0},
        {"hazard": 1.0},
        {"hazard": float("nan")},
        {"restart": 0.0},
        {"restart": float("inf")},
        {"shifts": ()},
        {"shifts": ((0.0, 0.0),)},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(chosen):
    (name,) = chosen

    with pytest.raises(ValueError, match=f"^{name} (must|are)"):
        RunLength(**chosen)


# --- many histories at once ----------------------------------------------------------------------


SETTINGS = RunLength(hazard=0.1, restart=2.0)


@st.composite
def class_histories(draw, strata=2):
    rounds = draw(st.integers(1, 14))
    shape = (rounds + 1, strata)
    labeled = draw(arrays(float, shape, elements=st.sampled_from([0.0, 0.0, 1.5, 20.0, 61.2])))
    labeled[1:][draw(arrays(bool, rounds))] = 0  # rounds without any label take no step
    positive = labeled * draw(arrays(float, shape, elements=st.floats(0, 1, width=16)))
    return ClassHistory(positive[1:], labeled[1:], positive[0], labeled[0])


def alone(history):
    return pooling_steps(
        list(zip(history.positive, history.labeled, strict=True)),
        reference=(history.reference_positive, history.reference_labeled),
        settings=SETTINGS,
    )


def parts(mixture):
    return mixture.weight.tolist(), mixture.alpha.tolist(), mixture.beta.tolist()


@settings(max_examples=40)
@given(st.lists(class_histories(), min_size=1, max_size=6))
def test_each_ends_bit_for_bit_as_it_does_alone(histories):
    found = last_steps(histories, SETTINGS)

    for history, end in zip(histories, found, strict=True):
        *before, last = alone(history)
        assert parts(end.step.mixture) == parts(last.mixture)
        assert end.step.started.tolist() == last.started.tolist()
        if before:
            assert parts(end.before) == parts(before[-1].mixture)
    assert last_steps([], SETTINGS) == []


@pytest.mark.parametrize("at_once", [1, 7])
def test_more_histories_than_go_at_once_end_in_the_order_in_which_they_were_given(
    monkeypatch, at_once
):
    monkeypatch.setattr(change_point, "AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    labeled = np.full((20, 1), 30.0)
    positive = rng.binomial(30, 0.2, (20, 1)).astype(float)
    nothing = np.zeros(1)
    lengths = [3, 20, 1, 11, 20, 4, 9, 8, 17]
    histories = [ClassHistory(positive[:t], labeled[:t], nothing, nothing) for t in lengths]

    found = last_steps(histories, SETTINGS)

    assert [parts(end.step.mixture) for end in found] == [
        parts(alone(history)[-1].mixture) for history in histories
    ]
