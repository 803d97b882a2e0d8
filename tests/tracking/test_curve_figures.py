"""The figures of curves: what they mark, what they say, and that they are reproducible."""

from itertools import pairwise

import pytest

from monitor.domain.curve_rows import CurveRow, CurvesRow, GainCurvesRow, PrevalenceRow
from monitor.domain.report import ReportedEstimate, RoundReport
from monitor.presentation.parts import curves
from monitor.report.curve_figures import Operating, curves_svg, draw_curves, draw_p3
from tests.drawing import looking
from tests.tracking.reports import ROUND, make_effect, make_report


def curve(x, point):
    return CurveRow(x=x, point=point, low=[0.9 * y for y in point], high=list(point))


P3 = PrevalenceRow(
    curve=curve([0.001, 0.01, 0.1], [0.3, 0.7, 0.95]),
    prevalence=(0.02, 0.018, 0.023),
    value=(0.8, 0.75, 0.84),
    tpr=(0.6, 0.5, 0.7),
    fpr=(0.003, 0.002, 0.004),
    level=0.95,
)
CURVES = CurvesRow(
    roc=curve([0.001, 0.01, 1.0], [0.3, 0.7, 1.0]),
    precision_recall=curve([0.05, 0.5, 1.0], [1.0, 0.9, 0.1]),
    roc_area=(0.97, 0.95, 0.99),
    average_precision=(0.82, 0.78, 0.86),
    prevalence=(0.02, 0.018, 0.023),
    labeled=1250,
    positive=240,
    level=0.95,
)
GAINS = GainCurvesRow(
    **dict(CURVES),
    gain=curve([0.0, 0.9, 0.99], [1.0, 0.99, 0.5]),
    gain_area=(0.98, 0.97, 0.99),
)
OPERATING = {"precision": 0.86, "recall": 0.6, "fpr": 0.003}


@pytest.fixture(scope="module")
def report():
    rows = [
        ReportedEstimate(
            metric=metric,
            estimand="rate",
            basis="round",
            point=point,
            low=0.9 * point,
            high=min(1, 1.05 * point),
            level=0.95,
            method="posterior",
        )
        for metric, point in OPERATING.items()
    ]
    return make_report(8, curves=CURVES).model_copy(update={"estimates": rows})


@pytest.fixture(scope="module")
def of_a_set():
    rates = {name: (value, 0.9 * value, value) for name, value in OPERATING.items()}
    gains = dict.fromkeys(("recall_gain", "precision_gain"), (0.98, 0.9, 0.99))
    drawn = draw_curves(
        GAINS,
        title="what other thresholds would do",
        labels="of the set",
        weighted_to="the population",
        operating=Operating(rates | gains, 0.5),
    )
    return looking.at(drawn)


def test_the_p3_figure_marks_the_present_prevalence_on_a_logarithmic_axis():
    picture = looking.at(draw_p3(P3, title="precision at other prevalences"))

    assert "the population: prevalence 2 %" in picture.texts
    assert "TPR 0.6 (0.5 to 0.7), FPR 0.003 (0.002 to 0.004)" in " | ".join(picture.texts)
    left, middle, right = (picture.place_of(label)[0] for label in ("0.1 %", "1 %", "10 %"))
    assert middle - left == pytest.approx(right - middle, abs=0.2)
    (mark,) = picture.circles()
    assert left < mark.x < right
    assert (mark.x - left) / (right - left) == pytest.approx(0.65, abs=0.01)  # log10(.02 / .001)/2


def test_curves_show_areas_where_the_classifier_stands_and_at_which_prevalence(report):
    picture = looking.at(curves_svg(report))

    assert "ROC, at every prevalence · area 0.97 (0.95 to 0.99)" in picture.texts
    assert "Precision-recall · AP 0.82 (0.78 to 0.86)" in picture.texts
    assert picture.texts.count(f"as it is, threshold {report.threshold:g}") == 2
    assert len(picture.circles()) == 2
    assert "holds for the prevalence 2 % (1.8 % to 2.3 %)" in " | ".join(picture.texts)
    assert "1,250 labels of this round, 240 of them positive" in " | ".join(picture.texts)


def test_the_axes_of_gains_show_by_how_much_they_fall_short_of_1(of_a_set):
    heights = [of_a_set.place_of(label)[1] for label in ("0.999", "0.9999", "0.99999", "0.999999")]
    steps = [below - above for below, above in pairwise(heights)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)
    assert steps[0] > 0
    assert "Gain · area 0.98 (0.97 to 0.99)" in of_a_set.texts
    assert len(of_a_set.circles()) == 3


def test_a_report_with_gains_of_an_earlier_version_shows_its_other_curves(report):
    payload = report.model_dump(mode="json")
    payload["p3"] = P3.model_dump(mode="json")
    payload["curves"] = GAINS.model_dump(mode="json")

    assert curves.CURVES.of(RoundReport.model_validate(payload)) == CURVES


@pytest.mark.server
def test_the_run_of_a_round_gets_figures_and_keeps_curves_of_an_earlier_version(
    handler, client, report
):
    receipt = handler.deliver(make_effect(ROUND, report))
    later = report.model_copy(update={"version": 2, "curves": None})
    handler.deliver(make_effect(ROUND, later))

    run_id = receipt.rsplit("/", 1)[-1]
    files = {file.path for file in client.list_artifacts(run_id)}
    assert {"timeline.svg", "curves.svg"} <= files
