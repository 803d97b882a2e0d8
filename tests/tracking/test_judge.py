"""What MLflow is told of a judge: metrics and a table, and never as a label."""

from monitor.domain.judge import JudgedRow, JudgeRow
from monitor.tracking.describe import describe
from monitor.tracking.values import metrics
from tests.tracking.reports import make_report


def judged(rounds, tpr=(0.8, 0.75, 0.85)):
    return JudgedRow(
        rounds=rounds,
        size=9_900 * rounds,
        yes=600 * rounds,
        labeled=500 * rounds,
        tpr=tpr,
        fpr=(0.02, 0.01, 0.03),
        kappa=None,
        youden_j=(0.78, 0.74, 0.82),
    )


def interval(name, point, low, high):
    return {name: point, f"{name}_low": low, f"{name}_high": high}


def test_a_round_has_the_rates_of_its_judge_and_the_share_without_a_verdict():
    row = JudgeRow(
        title="verdict = yes (prompt 2)",
        level=0.95,
        size=10_000,
        missing=100,
        alone=judged(1),
        pooled=judged(4, tpr=(0.81, 0.79, 0.83)),
    )
    report = make_report(3, judge=row)

    named = {name: at for name, at in metrics(report).items() if name.startswith("judge/")}
    assert {name: named[name] for name in named if "fpr" not in name} == {
        **interval("judge/tpr", 0.8, 0.75, 0.85),
        **interval("judge/tpr_pooled", 0.81, 0.79, 0.83),
        **interval("judge/youden_j", 0.78, 0.74, 0.82),
        **interval("judge/youden_j_pooled", 0.78, 0.74, 0.82),
        "judge/missing": 0.01,
    }
    note = describe(report).replace("&emsp;", "").replace("\\", "")
    assert "Judge: verdict = yes (prompt 2)" in note
    assert "| says yes to positives | 0.800 [0.750, 0.850] | 0.810 [0.790, 0.830] |" in note
    assert "| Youden's J | 0.780 [0.740, 0.820] |" in note
    assert "the estimates rest on people's labels" in note


def test_a_report_from_before_youdens_j_does_not_call_it_not_estimable():
    old = judged(1).model_copy(update={"youden_j": None})
    row = JudgeRow(title="verdict = yes", level=0.95, size=10_000, missing=100, alone=old)

    note = describe(make_report(3, judge=row))

    assert "says yes to positives" in note
    assert "Youden" not in note


def test_a_judge_that_said_nothing_has_its_silence_only():
    row = JudgeRow(title="verdict = yes", level=0.95, size=10, missing=10)
    report = make_report(3, judge=row)

    named = {name: at for name, at in metrics(report).items() if name.startswith("judge/")}
    assert named == {"judge/missing": 1.0}
    assert "no verdict on 10 of 10 items" in describe(report)
