"""Agreement of annotators against other implementations and published examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.estimation.posterior import estimate
from monitor.stats.labels.agreement import (
    Agreement,
    NoAgreement,
    cohen_kappa,
    disagreement,
    fleiss_kappa,
    krippendorff_alpha,
)
from tests.stats.samples import known, of_strata

NAN = float("nan")
PAIRS = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
ALIKE = NoAgreement.ALL_EQUAL
KRIPPENDORFF: list[
    list[float]
] = [  # Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section C
    [1, 1, NAN, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [NAN, 5, 5, 5],
    [NAN, NAN, 1, 1],
    [NAN, NAN, 3, NAN],
]


def test_cohens_kappa_of_three_categories_is_that_of_statsmodels():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    table = np.array([[44, 5, 1], [7, 20, 3], [9, 5, 6]])
    first = np.repeat([0, 0, 0, 1, 1, 1, 2, 2, 2], table.ravel())
    second = np.repeat([0, 1, 2] * 3, table.ravel())
    wanted = inter_rater.cohens_kappa(table)

    agreement = cohen_kappa(first, second)

    half = 1.959963984540054 * wanted.std_kappa
    assert (agreement.value, agreement.low, agreement.high) == pytest.approx(
        (wanted.kappa, wanted.kappa - half, wanted.kappa + half)
    )


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=40))
def test_cohens_kappa_is_that_of_scikit_learn(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]

    found = known(cohen_kappa(first, second))

    if len({*first, *second}) == 1:
        assert found == Agreement(None, None, None, len(pairs), ALIKE)
    elif found.value is not None:
        assert found.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
        assert -1 <= found.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.high <= 1


def test_items_that_one_of_two_did_not_answer_are_left_out():
    usual = cohen_kappa([a for a, _ in PAIRS], [b for _, b in PAIRS])

    agreement = cohen_kappa([*(a for a, _ in PAIRS), NAN, 1], [*(b for _, b in PAIRS), 1, NAN])

    assert agreement == usual


def test_fleiss_kappa_is_that_of_statsmodels():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(3)
    hard = rng.random((40, 1)) < 0.3
    answers = np.where(hard, rng.integers(0, 3, (40, 4)), rng.integers(0, 3, (40, 1)))
    table, _ = inter_rater.aggregate_raters(answers)

    found = known(fleiss_kappa(answers))

    assert found.value == pytest.approx(inter_rater.fleiss_kappa(table), rel=1e-12)
    assert found.low < found.value < found.high
    assert found.items == 40


def test_alpha_of_nominal_answers_with_missing_ones_is_krippendorffs_own_743():
    found = known(krippendorff_alpha(KRIPPENDORFF))

    assert round(found.value, 3) == 0.743
    assert found.items == 11


def test_the_bootstrap_interval_is_about_the_large_sample_one():
    pairs = np.array(PAIRS * 10)
    large = cohen_kappa(pairs[:, 0], pairs[:, 1])

    agreement = krippendorff_alpha(pairs)

    assert agreement.low == pytest.approx(large.low, abs=0.015)
    assert agreement.high == pytest.approx(large.high, abs=0.015)
    assert agreement == krippendorff_alpha(pairs)


@pytest.mark.parametrize("coefficient", [fleiss_kappa, krippendorff_alpha])
def test_perfect_agreement_is_one_and_all_alike_has_no_value(coefficient):
    assert coefficient([(1, 1)] * 5 + [(0, 0)] * 5).value == 1
    assert coefficient([(1, 1)] * 5 + [(0, 0)] * 5).low == 1
    assert coefficient([(1, 1)] * 5) == Agreement(None, None, None, 5, ALIKE)
    assert str(coefficient([(1, 1)] * 5)) == "no value, all_alike"


def test_without_items_answered_twice_there_is_no_value():
    wanted = Agreement(None, None, None, 0, NoAgreement.NO_PAIR)

    assert cohen_kappa([1, NAN], [NAN, 0]) == wanted
    assert krippendorff_alpha([[1, NAN], [NAN, 0]]) == wanted
    assert krippendorff_alpha(np.empty((0, 2))) == wanted
    assert fleiss_kappa(np.empty((0, 2))) == wanted


def test_disagreement_is_the_prevalence_of_disagreed_items():
    counts = of_strata([0, 1000, 9000], [0, 40, 40], [0, 8, 1], [True, False, False])
    wanted = estimate(counts, metrics=("prevalence",), seed=4)["prevalence"]

    interval = disagreement([1000, 9000], [40, 40], [8, 1], seed=4)

    assert interval == wanted.interval
    assert known(interval).point == pytest.approx(0.1 * 8 / 40 + 0.9 * 1 / 40)
    assert disagreement([1000, 9000], [0, 0], [0, 0]) is None


@pytest.mark.parametrize("wrong", [-1, 0.5, float("inf")])
def test_answers_that_are_no_category_are_refused(wrong):
    sentence = f"answers are whole numbers from 0 on, or NaN for none; got {wrong:g}"
    for ask in (krippendorff_alpha, fleiss_kappa):
        with pytest.raises(ValueError, match=sentence):
            ask([[1, wrong]])
    with pytest.raises(ValueError, match=sentence):
        cohen_kappa([1], [wrong])


def test_fleiss_wants_the_same_number_of_answers_of_each_item():
    with pytest.raises(ValueError, match=r"the same number of answers, 2 or more; found \[1, 2\]"):
        fleiss_kappa(np.array([[1, 1], [1, NAN]]))
    with pytest.raises(ValueError, match=r"the same number of answers, 2 or more; found \[1\]"):
        fleiss_kappa(np.array([[1, NAN]]))


def test_disagreement_over_score_cells_is_one_rate_of_the_plain_labels_they_are_worth():
    size, doubled = [5000, 3000, 1500, 400, 100], [4, 5, 6, 8, 12]
    disagreed = [0, 0, 1, 2, 5]

    found = known(disagreement(size, doubled, disagreed, cells=True))

    worth = cell_counts(size, doubled, disagreed)
    law = stats.beta(0.5 + worth.positive[0], 0.5 + worth.labeled[0] - worth.positive[0])
    assert (found.low, found.high) == pytest.approx(tuple(law.ppf([0.025, 0.975])), abs=2e-3)
    share = np.array(disagreed) / doubled
    assert found.point == pytest.approx(float(np.average(share, weights=size)))
