"""A judge against people in a designed sample, beside samplics and linearization by hand."""

import json
import math

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.domain.errors import InputRefused
from tests.drawing import looking
from tests.evaluation.test_designs import ends

SIZES = {"flagged": 4000, "passed": 96_000}
CELLS = {"flagged": (700, 40, 60, 200), "passed": (90, 25, 60, 3825)}  # TP, FP, FN, TN
EVEN = [1] * 50 + [0] * 50
METRICS = ("tpr", "tnr", "youden_j", "kappa", "agreement")


def labeled():
    """Draw items by the predictions of a classifier; both of them hold both verdicts."""
    parts = [
        pd.DataFrame(
            {
                "predicted": name,
                "verdict": np.repeat(["yes", "yes", "no", "no"], cells),
                "label": np.repeat([1, 0, 1, 0], cells),
            }
        )
        for name, cells in CELLS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def weights(frame):
    return frame.predicted.map({name: SIZES[name] / sum(CELLS[name]) for name in SIZES})


@pytest.fixture(scope="module")
def found():
    return monitor.evaluate_judge(labeled(), strata="predicted", sizes=SIZES)


def scores_by_hand():
    """Each metric's value, and its derivative by each cell's total."""
    totals = [np.array(CELLS[name]) * SIZES[name] / sum(CELLS[name]) for name in SIZES]
    tp, fp, fn, tn = np.sum(totals, axis=0)
    n, yes, positive = tp + fp + fn + tn, tp + fp, tp + fn
    tpr, tnr = tp / positive, tn / (fp + tn)
    of_tpr = np.array([fn, 0, -tp, 0]) / positive**2
    of_tnr = np.array([0, -tn, 0, fp]) / (fp + tn) ** 2
    observed = (tp + tn) / n
    expected = (yes * positive + (n - yes) * (n - positive)) / n**2
    of_observed = np.array([1, 0, 0, 1]) / n - observed / n
    rises = [yes + positive, positive + n - positive, yes + n - yes, 2 * n - yes - positive]
    of_expected = np.array(rises) / n**2 - 2 * expected / n
    kappa = (observed - expected) / (1 - expected)
    of_kappa = of_observed / (1 - expected) - of_expected * (1 - observed) / (1 - expected) ** 2
    return {
        "tpr": (tpr, of_tpr),
        "tnr": (tnr, of_tnr),
        "youden_j": (tpr + tnr - 1, of_tpr + of_tnr),
        "kappa": (kappa, of_kappa),
        "agreement": (observed, of_observed),
    }


def error_by_hand(slope):
    """Standard error of stratified sampling: the spread of the linearized items in each stratum."""
    variance = 0.0
    for name, cells in CELLS.items():
        n, shares = sum(cells), np.array(cells) / sum(cells)
        spread = shares @ slope**2 - (shares @ slope) ** 2
        variance += SIZES[name] ** 2 * spread / n
    return math.sqrt(variance)


@pytest.mark.parametrize("metric", METRICS)
def test_points_and_widths_are_those_of_linearization_by_hand(found, metric):
    value, slope = scores_by_hand()[metric]

    point, low, high = ends(found, metric)

    assert point == pytest.approx(value, rel=1e-9)
    assert high - low == pytest.approx(2 * 1.96 * error_by_hand(slope), rel=0.05)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("metric", "hit", "of"), [("tpr", "yes", 1), ("tnr", "no", 0)])
def test_the_rates_are_the_stratified_ratios_of_samplics(found, metric, hit, of):
    estimation = pytest.importorskip("samplics.estimation", reason="needs polars and pandas")
    types = pytest.importorskip("samplics.utils.types")
    frame = labeled()
    taylor = estimation.TaylorEstimator(types.PopParam.ratio)
    taylor.estimate(
        y=((frame.verdict == hit) & (frame.label == of)).to_numpy(dtype=float),
        x=(frame.label == of).to_numpy(dtype=float),
        samp_weight=weights(frame).to_numpy(),
        stratum=frame.predicted.to_numpy(),
        psu=np.arange(len(frame)),
    )

    expected = [taylor.point_est, taylor.lower_ci, taylor.upper_ci]
    width = expected[2] - expected[1]
    assert ends(found, metric)[0] == pytest.approx(expected[0], rel=1e-7)
    assert ends(found, metric) == pytest.approx(
        expected, abs=width / 15
    )  # symmetric there, skewed here


def test_weights_of_the_strata_give_the_same_as_their_sizes(found):
    frame = labeled()

    weighted = monitor.evaluate_judge(frame, weight=0.3 * weights(frame))

    for metric in METRICS:
        assert ends(weighted, metric) == pytest.approx(ends(found, metric), abs=1e-6)
    assert "weights taken for 2 strata" in weighted.drawn


def test_strata_of_the_verdict_are_estimated_as_those_of_a_classifier():
    frame = labeled().assign(flag=lambda table: (table.verdict == "yes").astype(int))
    sizes = {"flagged": 5000, "passed": 95_000}

    of_verdicts = {"yes": 5000, "no": 95_000}
    ours = monitor.evaluate_judge(frame, strata="verdict", sizes=of_verdicts)

    same = monitor.evaluate(frame, predicted="flag", sizes=sizes)
    assert ends(ours, "tpr") == ends(same, "recall")
    assert ends(ours, "tnr") == ends(same, "specificity")
    assert ends(ours, "agreement") == ends(same, "accuracy")


def test_a_sample_without_its_design_is_refused_and_one_called_random_checked():
    frame = pd.DataFrame(
        {"verdict": np.repeat([1, 0], 300), "label": np.tile([1, 1, 0], 200)},
    )

    with pytest.raises(InputRefused, match="nothing says how the items were drawn"):
        monitor.evaluate_judge(labeled())
    with pytest.raises(InputRefused, match="sizes are given but no strata"):
        monitor.evaluate_judge(labeled(), sizes=SIZES)
    with pytest.raises(InputRefused, match="a stratum is named but no sizes"):
        monitor.evaluate_judge(labeled(), strata="predicted")
    with pytest.warns(UserWarning, match="as many of each"):
        monitor.evaluate_judge(frame, random=True)


def test_strata_with_both_predicted_classes_stay_refused_for_a_classifier():
    with pytest.raises(InputRefused, match="stratum flagged holds"):
        monitor.evaluate(labeled(), predicted="verdict", stratum="predicted", sizes=SIZES)


def test_it_prints_converts_and_draws_as_its_family(found):
    lines = repr(found).splitlines()
    picture = looking.at(found.plot().svg)

    assert lines[0] == "5,000 labels drawn from 100,000 items in 2 strata; 95% intervals"
    assert [line.split()[0] for line in lines[3:]] == list(METRICS)
    assert json.loads(json.dumps(found.to_dict()))["labels"]["fn"] == 120
    assert list(found.to_frame()["metric"]) == list(METRICS)
    assert picture.title == "Judge against people, 95% intervals"


@pytest.mark.parametrize(
    ("verdicts", "labels", "how", "message"),
    [
        (EVEN, [1] * 30 + [0] * 70, {"random": True}, "50 yes and 50 no verdicts are labeled"),
        (EVEN, [1] * 30 + [0] * 70, {"prevalence": 0.1}, "as many of each, by verdict"),
        ([1] * 30 + [0] * 70, EVEN, {"random": True}, "kappa and agreement would describe the set"),
        ([1] * 30 + [0] * 70, [0] * 30 + [1] * 70, {"random": True}, "0 % of the yes verdicts"),
        ([1] * 30 + [0] * 70, [1] * 31 + [0] * 69, {"flagged_rate": 0.9}, "verdicts are yes, but"),
    ],
)
def test_warnings_about_a_judge_speak_of_its_verdicts(verdicts, labels, how, message):
    frame = pd.DataFrame({"verdict": verdicts, "label": labels})

    with pytest.warns(UserWarning, match=message):
        judged = monitor.evaluate_judge(frame, **how)

    assert not any(
        word in str(judged.warnings) for word in ("flagged items", "passed", "predicted")
    )


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([1] * 4, "none of the 4 verdicts is no by column 'verdict', so agreement with people"),
        ([1, 0, 3, 0], "the values 0, 1, 3; a verdict is 1 or 0, of a binary classifier. Of"),
        (["perhaps"] * 4, "'perhaps' at position 0; a verdict is 1 or 0, yes or no"),
    ],
)
def test_refusals_about_a_judge_speak_of_its_verdicts(verdicts, message):
    frame = pd.DataFrame({"verdict": verdicts, "label": [1, 0, 1, 0]})

    with pytest.raises(InputRefused, match=message):
        monitor.evaluate_judge(frame, random=True)
