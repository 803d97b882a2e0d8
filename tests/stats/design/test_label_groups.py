"""Labels of items that belong together."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from statsmodels.regression.linear_model import WLS

from monitor.stats.core.counts import Counts
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.design.label_groups import LabelGroups, group_effects, size_gap
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.random_shares import log_e_path_of_shares
from monitor.stats.estimation.cell_matrix import matrix_draws
from monitor.stats.estimation.posterior import estimates

FLAGGED, PASSED = 0, 1


def _sample(seed, *, size=20, groups=30):
    """Labels of groups with their own rates in two flagged cells, and 100 passed ones alone."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(4, 1, groups)
    items = [
        (g, int(rng.integers(2)), bool(rng.random() < rate[g]))
        for g in range(groups)
        for _ in range(rng.integers(1, size))
    ]
    passed = [(f"p{i}", 2, i < 3) for i in range(100)]
    return items, [*items, *passed]


def _ends(row):
    return row.low, row.high


def _counts(items, size=(4_000, 900, 40_000)):
    stratum = np.array([h for _, h, _ in items])
    positive = np.array([y for *_, y in items])
    return Counts(
        np.array(size),
        np.bincount(stratum, minlength=3),
        np.bincount(stratum, weights=positive, minlength=3).astype(np.int64),
        np.array([True, True, False]),
    )


def test_excess_over_independent_items_agrees_with_cluster_robust_errors_of_statsmodels():
    flagged, items = _sample(seed=1)
    counts = _counts(items)
    w = np.array([counts.size[h] / counts.labeled[h] for _, h, _ in flagged])
    y = np.array([float(y) for *_, y in flagged])
    names = np.array([name for name, *_ in flagged])
    model = WLS(y, np.ones(len(y)), weights=w)
    plain = {"use_correction": False}
    clustered, single = (
        float(model.fit(cov_type="cluster", cov_kwds={"groups": of, **plain}).cov_params()[0, 0])
        for of in (names, np.arange(len(y)))
    )
    n, groups = len(y), len(set(names.tolist()))
    excess = clustered * groups / (groups - 1) - single * n / (n - 1)
    p = float(w @ y / w.sum())
    worth = cell_counts(counts.size[:2], counts.labeled[:2], counts.positive[:2])
    totals = np.array([w[names == name].sum() for name in set(names.tolist())])
    t = [special.stdtrit(each.sum() ** 2 / (each**2).sum() - 1, 0.975) for each in (totals, w)]
    expected = (1 + excess * float(worth.labeled[0]) / (p * (1 - p))) * (t[0] / t[1]) ** 2

    effect, _ = group_effects(LabelGroups.of(items), counts)

    assert effect == pytest.approx(expected, rel=1e-9)
    assert effect > 2


def test_labels_that_are_all_equal_are_worth_one_a_group():
    items = [*((i // 10, 0, True) for i in range(200)), *((f"p{i}", 1, i < 2) for i in range(100))]
    counts = Counts.of_matrix(tp=200, fp=0, fn=2, tn=98, flagged_size=900, passed_size=9_000)

    effect, _ = group_effects(LabelGroups.of(items), counts)

    assert effect == pytest.approx(10)


def test_groups_of_flagged_positives_widen_recall_though_passed_items_are_independent():
    flagged = [(i // 10, FLAGGED, i % 10 < 8) for i in range(50)]
    passed = [(f"p{i}", PASSED, i < 40) for i in range(100)]
    counts = Counts.of_matrix(tp=40, fp=10, fn=40, tn=60, flagged_size=500, passed_size=1_000)

    grouped, alone = (
        group_effects(LabelGroups.of([*items, *passed]), counts)
        for items in (flagged, [(f"f{i}", h, y) for i, (_, h, y) in enumerate(flagged)])
    )

    assert alone == pytest.approx((1, 1))
    assert grouped[1] > 5


def test_the_window_is_estimated_as_without_groups_and_the_rate_by_fewer_labels():
    _, items = _sample(seed=3)
    plain = _counts(items)
    grouped = replace(plain, group_effects=(4.0, 1.0))

    for cells in (True, False):
        before, after = (
            {
                each.estimand: np.ptp(_ends(each))
                for each in estimates(of, metrics=("precision",), cells=cells)
            }
            for of in (plain, grouped)
        )
        assert after["window"] == before["window"]
        assert after["rate"] > 1.5 * before["rate"]


def test_the_rate_of_a_class_is_that_of_its_labels_over_the_design_effect():
    counts = Counts.of_matrix(tp=80, fp=20, fn=4, tn=96, flagged_size=900, passed_size=9_000)
    grouped = replace(counts, group_effects=(4.0, 1.0))
    fewer = Counts.of_matrix(tp=20, fp=5, fn=4, tn=96, flagged_size=900, passed_size=9_000)

    ours, theirs = (
        matrix_draws(of, seed=1, points=2**8, cells=True).of("rate") for of in (grouped, fewer)
    )

    assert np.allclose(ours.tp, theirs.tp)
    assert np.allclose(ours.fn, theirs.fn)


def _by_sizes(of_large, of_small, seed=6):
    """Flagged labels of 20 groups of 10 items each and 100 of one, at a precision each."""
    rng = np.random.default_rng(seed)
    items = [(f"g{i // 10}", FLAGGED, bool(rng.random() < of_large)) for i in range(200)]
    items += [(f"s{i}", FLAGGED, bool(rng.random() < of_small)) for i in range(100)]
    items += [(f"p{i}", PASSED, i < 2) for i in range(100)]
    tp = sum(h == FLAGGED and yes for _, h, yes in items)
    counts = Counts.of_matrix(tp=tp, fp=300 - tp, fn=2, tn=98, flagged_size=900, passed_size=9_000)
    return LabelGroups.of(items), counts


def test_large_groups_with_another_rate_show_in_the_gap_and_would_break_the_bound():
    groups, counts = _by_sizes(of_large=0.9, of_small=0.6)
    by_group = (20 * 0.9 + 100 * 0.6) / 120
    limit, usual = Limit("precision", 0.8, "at_least"), np.array([0.65, 0.02])

    gap, errors = size_gap(groups, counts, flagged=True)
    log_e = log_e_path_of_shares(limit, [counts], usual, groups=groups)[-1]

    assert gap == pytest.approx(by_group - 0.8, abs=0.05)
    assert errors > 4
    assert counts.positive[0] / counts.labeled[0] >= 0.79
    assert log_e.max() > 3
    assert size_gap(groups, counts, flagged=False) == (0.0, 0.0)


def test_groups_alike_in_all_sizes_seldom_show_a_gap():
    far = [size_gap(*_by_sizes(0.8, 0.8, seed), flagged=True)[1] > 3 for seed in range(300)]

    assert sum(far) <= 5


def _mean_of_e(limit, sizes, groups, rates, alike, guess):
    """Mean of each alternative's e over all answers; a group answers ``alike`` or item by item."""
    names = sorted({name for name, _ in groups})
    total = 0.0
    free = names if alike else list(range(len(groups)))
    for answers in product((False, True), repeat=len(free)):
        of = dict(zip(free, answers, strict=True))
        items = [(name, h, of[name] if alike else of[i]) for i, (name, h) in enumerate(groups)]
        chances = (
            [rates[next(h for n, h in groups if n == name)] for name in names]
            if alike
            else [rates[h] for _, h in groups]
        )
        chance = np.prod([p if yes else 1 - p for p, yes in zip(chances, answers, strict=True)])
        stratum = np.array([h for _, h, _ in items])
        positive = np.array([y for *_, y in items], dtype=float)
        counts = Counts(
            np.array(sizes),
            np.bincount(stratum, minlength=len(sizes)),
            np.bincount(stratum, positive, minlength=len(sizes)).astype(np.int64),
            np.array([True] * (len(sizes) - 1) + [False]),
        )
        log_e = log_e_path_of_shares(limit, [counts], guess, groups=LabelGroups.of(items))
        total = total + chance * np.exp(log_e[-1])
    return total


STRUCTURES = {
    "pairs": [("a", 0), ("a", 0), ("b", 0), ("b", 0), ("c", 0), ("d", 1)],
    "one large group": [("a", 0)] * 5 + [("b", 0), ("c", 1)],
    "groups in two cells": [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 1), ("d", 2)],
}


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("groups", STRUCTURES.values(), ids=STRUCTURES)
def test_the_mean_of_the_evidence_is_one_at_most_however_labels_of_a_group_depend(groups, alike):
    strata = max(h for _, h in groups) + 1
    if alike and strata > 2:
        groups = [(f"{name}{h}", h) for name, h in groups]
        groups += groups
    limit = Limit("precision", 0.8, "at_least")
    sizes = [40, 60, 500][-strata:]
    rates = np.array([0.7, 52 / 60, 0.1] if strata == 3 else [0.8, 0.1])  # precision is 0.8
    guess = np.array([0.7, 0.9, 0.1])[-strata:]

    mean = _mean_of_e(limit, sizes, groups, rates, alike, guess)

    assert np.all(mean <= 1 + 1e-9)
    assert mean.max() > 0.5


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=30))
def test_missing_labels_never_raise_the_evidence(labels):
    limit, guess = Limit("precision", 0.8, "at_least"), np.array([0.85, 0.1])
    known = [(name, FLAGGED, yes) for name, yes in labels] + [("p", PASSED, False)]
    lost = [(name, h, None if i == 0 else y) for i, (name, h, y) in enumerate(known)]

    def evidence(items):
        answered = [(h, y) for _, h, y in items if y is not None]
        n, y, m = (
            np.bincount([h for h, yes in pairs if chosen(yes)], minlength=2)
            for pairs, chosen in (
                (answered, lambda _: True),
                (answered, lambda yes: yes),
                ([(h, y) for _, h, y in items], lambda yes: yes is None),
            )
        )
        counts = Counts(np.array([300, 900]), n, y, np.array([True, False]))
        return log_e_path_of_shares(limit, [counts], guess, [m], groups=LabelGroups.of(items))[-1]

    assert np.all(evidence(lost) <= evidence(known) + 1e-9)
