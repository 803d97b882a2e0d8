"""What the labels are by the way they were drawn: beside the library, statsmodels and samplics."""

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.domain.errors import InputRefused
from monitor.stats.core.metrics import METRICS
from tests.evaluation.sets import SIZES, cells, drawn_by_class

ENDS = ("point", "low", "high")


def ends(found, metric, estimand="rate"):
    row = found.estimate(metric, estimand)
    return [row[end] for end in ENDS]


def test_sizes_give_the_numbers_of_an_estimate_of_the_matrix():
    found = monitor.evaluate(drawn_by_class(), predicted="predicted", sizes=SIZES)

    same = monitor.estimate(
        tp=862, fp=138, fn=22, tn=978, flagged_size=160_000, passed_size=4_840_000
    )["estimates"]
    for row in same:
        ours = found.estimate(row["metric"], row["estimand"])
        assert [ours[end] for end in ENDS] == [row[end] for end in ENDS]
    point, low, high = ends(found, "recall")
    assert point == pytest.approx(0.564, abs=0.001)
    assert low < 0.562 < high < low + 0.21  # the true recall


@pytest.mark.parametrize("factor", [1, 1 / 4840, 0.37])
def test_weights_of_the_predicted_classes_are_their_sizes_up_to_a_factor(factor):
    frame = drawn_by_class()
    weight = factor * np.where(frame.predicted == 1, 160.0, 4840.0)

    weighted = monitor.evaluate(frame, predicted="predicted", weight=weight)

    sized = monitor.evaluate(frame, predicted="predicted", sizes=SIZES)
    for metric in METRICS:
        assert ends(weighted, metric) == pytest.approx(ends(sized, metric), abs=1e-6)
    assert "weights taken for 2 strata" in weighted.drawn


def test_strata_may_be_finer_than_the_predicted_class():
    frame = pd.concat(
        [cells(200, 50, 20, 480).assign(band="low"), cells(240, 10, 2, 248).assign(band="high")]
    )
    frame["stratum"] = frame.band + np.where(frame.predicted == 1, " flagged", " passed")
    sizes = {"low flagged": 900, "high flagged": 700, "low passed": 40_000, "high passed": 8400}

    found = monitor.evaluate(frame, predicted="predicted", stratum="stratum", sizes=sizes)

    tp = 900 * 0.8 + 700 * 0.96
    fn = 40_000 * 20 / 500 + 8400 * 2 / 250
    assert ends(found, "recall")[0] == pytest.approx(tp / (tp + fn))
    assert {row.stratum: row.labeled for row in found.strata}["low passed"] == 500
    assert sum(row.size or 0 for row in found.strata) == 50_000


@pytest.mark.parametrize(("metric", "hits", "of"), [("precision", 138, 160), ("recall", 138, 246)])
def test_a_plain_random_sample_has_the_jeffreys_intervals_of_statsmodels(metric, hits, of):
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="needs pandas")

    found = monitor.evaluate(cells(138, 22, 108, 4732), predicted="predicted", random=True)

    low, high = proportion.proportion_confint(hits, of, method="jeffreys")
    assert ends(found, metric) == pytest.approx([hits / of, low, high], abs=5e-4)


def test_at_a_prevalence_recall_and_fpr_are_the_sets_own_by_statsmodels_and_precision_follows():
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="needs pandas")

    found = monitor.evaluate(cells(393, 21, 307, 1279), predicted="predicted", prevalence=0.02)

    for metric, hits, of in (("recall", 393, 700), ("fpr", 21, 1300)):
        low, high = proportion.proportion_confint(hits, of, method="jeffreys")
        assert ends(found, metric) == pytest.approx([hits / of, low, high], abs=5e-4)
    tpr, fpr = 393 / 700, 21 / 1300
    assert ends(found, "precision")[0] == pytest.approx(0.02 * tpr / (0.02 * tpr + 0.98 * fpr))
    assert ends(found, "prevalence") == pytest.approx([0.02] * 3)


def ratio_of_samplics(numerator, denominator, weight):
    estimation = pytest.importorskip("samplics.estimation", reason="needs polars and pandas")
    types = pytest.importorskip("samplics.utils.types")
    taylor = estimation.TaylorEstimator(types.PopParam.ratio)
    taylor.estimate(
        y=numerator.astype(float),
        x=denominator.astype(float),
        samp_weight=weight,
        psu=np.arange(len(weight)),
    )
    return [taylor.point_est, taylor.lower_ci, taylor.upper_ci]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_weights_of_single_items_give_the_weighted_ratio_of_samplics(metric):
    frame = cells(2000, 320, 500, 5000)
    own = np.random.default_rng(3).random(len(frame))  # no two alike, so no strata
    weight = np.where(frame.predicted == 1, 1 + own, 20 + 40 * own)
    truth, flagged = frame.label == 1, frame.predicted == 1

    found = ends(monitor.evaluate(frame, predicted="predicted", weight=weight), metric)

    expected = ratio_of_samplics(
        truth & flagged, flagged if metric == "precision" else truth, weight
    )
    assert found[0] == pytest.approx(expected[0], rel=1e-7)
    width = expected[2] - expected[1]
    assert found == pytest.approx(expected, abs=width / 25)  # symmetric there, skewed here


@pytest.mark.parametrize(
    ("frame", "said", "reference"),
    [
        (cells(138, 22, 108, 4732), {"random": True}, {"tp": 138, "fp": 22, "fn": 108, "tn": 4732}),
        # 1,000 passed items of 96.8 % stand for 1,033 of all, 33 of them flagged
        (drawn_by_class(), {"sizes": SIZES}, {"tp": 28, "fp": 5, "fn": 22, "tn": 978}),
        # 1,300 negatives of 98 % stand for 1,327 of all, 27 of them positive
        (
            cells(393, 21, 307, 1279),
            {"prevalence": 0.02},
            {"tp": 15, "fp": 21, "fn": 12, "tn": 1279},
        ),
    ],
)
def test_the_reference_is_a_plain_random_sample_that_knows_no_more(frame, said, reference):
    found = monitor.evaluate(frame, predicted="predicted", **said)

    assert found.reference == reference


AMOUNT = np.exp(np.random.default_rng(5).normal(3, 0.5, 8320))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["precision", "recall"])
def test_amounts_of_a_uniform_draw_give_the_ratio_of_samplics(metric):
    frame = cells(2000, 320, 1000, 5000)
    truth, flagged = frame.label == 1, frame.predicted == 1

    found = monitor.evaluate(frame, predicted="predicted", random=True, amount=AMOUNT)

    expected = ratio_of_samplics(
        truth & flagged, flagged if metric == "precision" else truth, AMOUNT
    )
    assert ends(found, metric)[0] == pytest.approx(expected[0], rel=1e-7)
    assert ends(found, metric) == pytest.approx(expected, abs=(expected[2] - expected[1]) / 15)
    assert "8,320 labels of a plain random sample, by amount and not by" in str(found)


def test_amounts_of_items_that_are_all_labeled_are_known_and_those_of_the_classifier_are_not():
    frame = cells(2000, 320, 1000, 5000)
    sizes = {"flagged": 2320, "passed": 6000}
    hit = AMOUNT[(frame.label == 1) & (frame.predicted == 1)].sum()

    found = monitor.evaluate(frame, predicted="predicted", sizes=sizes, amount=AMOUNT)

    exact = hit / AMOUNT[frame.label == 1].sum()
    assert ends(found, "recall", "window") == pytest.approx([exact] * 3)
    point, low, high = ends(found, "recall")
    assert low < point - 0.005 < point + 0.005 < high


@pytest.mark.parametrize(("times", "is_noted"), [(10_000, True), (100, False)])
def test_an_item_with_nearly_the_whole_amount_is_noted(times, is_noted):
    frame = cells(200, 32, 100, 500)
    amount = AMOUNT[: len(frame)].copy()
    amount[0] *= times

    found = monitor.evaluate(frame, predicted="predicted", random=True, amount=amount)

    assert ("of what is flagged or positive: intervals may be too" in str(found)) == is_noted


def test_amounts_count_times_the_items_that_a_label_stands_for():
    frame = cells(800, 120, 100, 900)
    amount = AMOUNT[: len(frame)]
    sizes = {"flagged": 1840, "passed": 20_000}
    stands_for = np.where(frame.predicted == 1, 2.0, 20.0)

    found = monitor.evaluate(frame, predicted="predicted", sizes=sizes, amount=amount)

    weighted = monitor.evaluate(frame, predicted="predicted", weight=stands_for * amount)
    by_weight = monitor.evaluate(frame, predicted="predicted", weight=stands_for, amount=amount)
    for metric in ("precision", "recall", "prevalence"):
        assert ends(found, metric) == ends(by_weight, metric) == ends(weighted, metric)
    with pytest.raises(InputRefused, match="no window estimate"):
        found.estimate("recall", "window")
