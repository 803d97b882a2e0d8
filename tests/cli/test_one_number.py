"""One metric has one number for a round, in whatever a reader opens."""

import json
import sqlite3
from contextlib import closing

import pytest

from monitor.tracking.connection import load_mlflow
from tests.cli.conftest import LIMITS
from tests.cli.workplace import working_in
from tests.coarse import coarse

METRICS = ("precision", "recall")
ENDS = ("point", "low", "high")
SHOWN = {"round": "window", "pooled": "rate"}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Three rounds, the first of their history too, in the store and in MLflow."""
    with coarse(), working_in(tmp_path_factory.mktemp("published")) as place:
        place.predictions()
        place.config(mlflow="sqlite:///mlflow.db", limits=LIMITS)
        place.said = place.backfill(days=3)
        yield place


def by_key(rows):
    return {
        (row["metric"], row["basis"], row["estimand"]): tuple(row[end] for end in ENDS)
        for row in rows
    }


def shown(place, number):
    return by_key(place.as_json("show", str(number))["estimates"])


def runs(place):
    """Metrics of each round's run and its report, by the number of the round."""
    load_mlflow()
    import mlflow  # noqa: PLC0415  takes 2.8 s

    client = mlflow.MlflowClient(f"sqlite:///{place.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("monitor/mail")
    assert experiment is not None
    for run in client.search_runs([experiment.experiment_id]):
        report = client.download_artifacts(run.info.run_id, "report.json", str(place.folder))
        with open(report, encoding="utf-8") as file:  # noqa: PTH123
            yield int(run.data.params["round"]), run.data.metrics, json.load(file)


def test_the_metrics_in_mlflow_are_the_pooled_estimates_that_show_prints(published):
    numbers = set()
    for number, metrics, _ in runs(published):
        numbers.add(number)
        estimates = shown(published, number)
        for metric in METRICS:
            ends = tuple(metrics[f"{metric}/{end}"] for end in ENDS)
            assert ends == pytest.approx(estimates[metric, "pooled", "rate"], abs=1e-6)
            own = estimates[metric, "round", "window"][0]
            assert metrics[f"{metric}/round"] == pytest.approx(own, abs=1e-6)

    assert len(numbers) == 3


def test_the_report_in_mlflow_has_the_numbers_that_show_prints(published):
    for number, _, report in runs(published):
        estimates = shown(published, number)
        rows = by_key(report["estimates"])
        common = rows.keys() & estimates.keys()

        assert {(m, basis, of) for m in METRICS for basis, of in SHOWN.items()} <= common
        assert {key: rows[key] for key in common} == {key: estimates[key] for key in common}


def test_what_differs_from_earlier_rounds_has_the_numbers_of_the_round_alone(published):
    compared = 0
    for number, _, report in runs(published):
        estimates = shown(published, number)
        if cause := report["cause"]:
            compared += 1
            for metric, after in (("precision", "after"), ("recall", "recall_after")):
                own = estimates[metric, "round", "window"]
                assert cause[after] == pytest.approx(own, abs=1e-6)

    assert compared == 2


def test_status_has_the_numbers_that_show_prints_of_the_newest_round(published):
    [status] = published.as_json("status")["monitors"]

    rows, estimates = by_key(status["estimates"]), shown(published, status["last_round"])

    assert rows
    assert rows == {key: estimates[key] for key in rows}


def test_views_have_the_numbers_that_show_prints(published):
    with closing(sqlite3.connect(published.folder / "monitor.db")) as connection:
        connection.row_factory = sqlite3.Row
        of_view = connection.execute("select * from latest_estimates").fetchall()
        wide = connection.execute("select * from round_results").fetchall()

    for number in {row["round"] for row in of_view}:
        estimates = shown(published, number)
        rows = by_key(row for row in of_view if row["round"] == number)
        assert rows == {key: estimates[key] for key in rows}
        [columns] = [row for row in wide if row["round"] == number]
        for metric in METRICS:
            for basis, estimand in SHOWN.items():
                ends = tuple(columns[f"{metric}_{basis}_{end}"] for end in ENDS)
                assert ends == estimates[metric, basis, estimand]


def test_compare_gives_the_classifier_as_it_is_the_intervals_that_show_prints(published):
    estimates = shown(published, 3)

    compared = published.as_json("compare", 3, "--threshold", 0.7)["metrics"]

    for paired in compared:
        ends = tuple(paired["first"][end] for end in ENDS)
        assert ends == estimates[paired["metric"], "round", "window"]
