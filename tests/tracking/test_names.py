"""Names, colours and the verdict: what MLflow's lists and pages show before anybody clicks."""

import pytest

from monitor.domain.report import Status
from monitor.tracking.describe import verdict
from monitor.tracking.values import colour, metrics, run_name, tags
from tests.tracking.reports import center, make_report

LINE = 65  # characters that MLflow's page shows of an experiment's description


@pytest.mark.parametrize(
    ("report", "name"),
    [
        (make_report(3), "3 ok P 0.85 R 0.58 2025-01-20"),
        (make_report(4, shift=-0.1), "4 unclear P 0.77 R 0.50 2025-01-27"),
        (make_report(4, shift=-0.2), "4 beyond limit P 0.67 R 0.40 2025-01-27"),
        (make_report(10), "10 ALERT P 0.81 2025-03-10"),
        (make_report(3, status=Status.ATTENTION), "3 attention P 0.85 R 0.58 2025-01-20"),
        (make_report(3, estimates=[], status=Status.STALE), "3 stale 2025-01-20"),
    ],
)
def test_the_name_of_a_run_begins_with_its_round_and_result(report, name):
    assert run_name(report) == name


def test_an_alert_has_a_colour_of_its_own():
    colours = {status: colour(make_report(3, status=status)) for status in Status}

    assert len({colours[Status.ALERT], colours[Status.ATTENTION], colours[Status.STALE]}) == 3
    assert colours[Status.OK] not in {colours[Status.ALERT], colours[Status.ATTENTION]}


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (make_report(12), "**ALERT since round 10.** Precision 0.73 (limit 0.8)"),
        (make_report(3), "**OK.** Precision 0.85, recall 0.58"),
        (make_report(3, estimates=[], status=Status.STALE), "**STALE.** No estimate in round 3"),
    ],
)
def test_the_verdict_is_one_line(report, line):
    assert verdict(report) == line


@pytest.mark.parametrize(
    ("firing", "line"),
    [
        (["recall"], "Recall 0.55 (limit 0.8)"),
        (["recall", "precision"], "Recall 0.55 (limit 0.8), 1 more"),
        (["precision", "f1", "recall"], "Precision 0.73 (limit 0.8), 2 more"),
    ],
)
def test_a_verdict_on_several_limits_keeps_to_the_room_there_is(firing, line):
    [alert] = make_report(12).alerts
    alerts = [alert.model_copy(update={"metric": metric}) for metric in firing]

    found = verdict(make_report(12, alerts=alerts))

    assert found == f"**ALERT since round 10.** {line}"
    assert len(found.replace("**", "")) < LINE


def test_a_metric_just_under_its_limit_does_not_read_as_if_it_kept_it():
    just_under = make_report(12, shift=0.797 - center("precision", 12))

    assert verdict(just_under).endswith("Precision 0.797 (limit 0.8)")


def test_a_round_has_a_dozen_metrics_and_the_estimates_come_first_by_the_alphabet():
    found = metrics(make_report(9))

    assert sorted(found) == [
        *(f"precision/{name}" for name in ("high", "limit", "low", "point", "round")),
        "prevalence/point",
        *(f"recall/{name}" for name in ("high", "limit", "low", "point", "round")),
        *(f"round/{name}" for name in ("evidence_precision", "evidence_recall")),
        *(f"round/{name}" for name in ("flagged_rate", "labels")),
    ]
    assert (found["precision/limit"], found["recall/limit"]) == (0.8, 0.5)


def test_the_metrics_of_an_estimate_are_those_of_its_tag_and_name():
    report = make_report(3)
    other = [row.model_copy(update={"point": 0.5}) for row in report.estimates if is_alone(row)]
    pooled = [row for row in report.estimates if not is_alone(row)]
    report = report.model_copy(update={"estimates": [*other, *pooled]})

    found = metrics(report)

    shown = " ".join(f"{found[f'precision/{end}']:.3f}" for end in ("point", "low", "high"))
    assert tags(report)["monitor.precision"] == "{} [{}, {}]".format(*shown.split())
    assert (tags(report)["P"], tags(report)["R"]) == ("85 % 82-88", "58 % 55-61")
    assert "P 0.85 R 0.58" in run_name(report)
    assert found["precision/round"] == 0.5


def is_alone(row):
    return (row.metric, row.basis) == ("precision", "round")


def test_evidence_is_a_share_of_what_fires():
    report = make_report(9)
    row = report.evidence[0]
    values = {-1.0: 0.0, 0.0: 0.0, row.log_threshold / 4: 0.25, row.log_threshold: 1.0}

    shares = {
        at: metrics(make_report(9, evidence=[row.model_copy(update={"log_evidence": at})]))
        for at in values
    }

    assert {at: found["round/evidence_precision"] for at, found in shares.items()} == values


def test_a_metric_with_a_limit_is_shown_as_precision_is_and_no_other():
    row = make_report(3).evidence[0].model_copy(update={"metric": "f1", "limit": 0.6})

    found = metrics(make_report(3, evidence=[row]))

    assert {name for name in found if name.startswith("f1/")} == {
        f"f1/{name}" for name in ("high", "limit", "low", "point", "round")
    }
    assert not any(name.startswith("f1/") for name in metrics(make_report(3)))
