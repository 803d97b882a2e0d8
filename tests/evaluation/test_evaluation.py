"""What an evaluation holds: estimates, curves, figures, and all of it as JSON."""

import json

import pytest

import monitor
from monitor.domain.errors import InputRefused
from monitor.stats.core.metrics import METRICS
from tests.drawing import looking
from tests.evaluation.sets import SIZES, cells, drawn_by_class
from tests.workers import python


@pytest.fixture(scope="module")
def found():
    return monitor.evaluate(drawn_by_class(), predicted="predicted", score="score", sizes=SIZES)


def test_importing_monitor_loads_next_to_nothing_and_an_evaluation_in_a_notebook_no_mlflow():
    script = (
        "import sys, monitor; monitor.evaluate\n"
        "print({'mlflow', 'pandas', 'scipy', 'monitor.evaluation'} & set(sys.modules))\n"
        "import pandas\n"
        "frame = pandas.DataFrame({'p': [1] * 9 + [0] * 9, 'label': [1, 0, 1] * 6})\n"
        "monitor.evaluate(frame, predicted='p')\n"
        "print({'mlflow', 'sqlalchemy', 'duckdb'} & set(sys.modules))"
    )

    done = python("-c", script)

    assert done.stdout.split() == ["set()", "set()"]


def test_the_curves_pass_through_the_operating_point(found):
    curves, recall = found.curves, found.estimate("recall")
    nearest = min(range(41), key=lambda i: abs(curves.precision_recall.x[i] - recall["point"]))

    assert curves.precision_recall.point[nearest] == pytest.approx(0.862, abs=0.03)
    assert curves.prevalence[0] == pytest.approx(found.estimate("prevalence")["point"], abs=1e-6)
    assert (curves.labeled, curves.positive) == (2000, 884)
    assert found.p3.value[0] == pytest.approx(0.862)
    assert found.p3.prevalence[0] == pytest.approx(curves.prevalence[0], abs=1e-6)


def test_curves_of_a_set_drawn_by_actual_class_hold_for_the_prevalence():
    found = monitor.evaluate(
        cells(393, 21, 307, 1279), score="score", threshold=0.5, prevalence=0.02
    )

    assert found.curves is not None
    assert found.curves.prevalence == (0.02, 0.02, 0.02)
    assert found.curves.precision_recall.point[-1] == pytest.approx(0.02, abs=0.005)


def test_without_scores_or_with_few_labels_there_are_no_curves():
    few = cells(4, 2, 3, 30)

    assert monitor.evaluate(few, predicted="predicted").curves is None
    assert monitor.evaluate(few, predicted="predicted", score="score").curves is None
    with pytest.raises(InputRefused, match="curves need scores, and 10 positive"):
        monitor.evaluate(few, predicted="predicted", score="score").plot("curves")


def test_the_figures_say_what_they_are_of(found):
    p3, curves = (looking.at(found.plot(name).svg) for name in ("prevalence", "curves"))

    assert p3.title == "Precision at other prevalences"
    assert "credible band" in p3.description
    assert "from 2,000 labels of the set, 884 of them positive" in curves.description
    assert "weighted back to the population" in curves.description


def test_all_of_it_is_json_and_the_table_has_a_row_for_each_estimate(found):
    read = json.loads(json.dumps(found.to_dict()))

    assert len(found.to_frame()) == len(read["estimates"]) == 2 * len(METRICS)
    assert read["reference"] == {"tp": 28, "fp": 5, "fn": 22, "tn": 978}
    assert read["strata"][1] == {
        "stratum": "passed",
        "predicted": "passed",
        "size": 4_840_000,
        "labeled": 1000,
        "positive": 22,
    }


def test_the_metrics_for_mlflow_are_the_estimates(found):
    recall = found.estimate("recall")

    assert found.metrics["recall/low"] == pytest.approx(recall["low"], abs=1e-6)
    assert found.metrics["labels/labeled"] == 2000
    assert found.metrics["roc_auc/point"] == pytest.approx(found.curves.roc_area[0])
    assert all(isinstance(value, float) for value in found.metrics.values())


def test_a_metric_that_is_not_there_is_refused_with_those_that_are(found):
    with pytest.raises(InputRefused, match="no rate estimate of 'sensitivity'; known: precision, "):
        found.estimate("sensitivity")
