"""The link of an alert leads to the run of its round in MLflow."""

from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.tracking.links import round_link
from tests.tracking.reports import ROUND, make_effect, make_report

KEY = "5f0c/mail/1/2025-01-20T06:00:00Z"


@pytest.mark.server
def test_what_the_link_searches_for_is_the_run_of_the_round_alone(handler, client):
    receipts = [handler.deliver(make_effect(ROUND, make_report(number))) for number in (2, 3)]
    report = make_report(3)

    link = round_link("http://host:5000", "unused", report.round_key, receipts[0])

    assert link is not None
    page = urlsplit(urlsplit(link).fragment)
    [_, _, experiment, tab] = page.path.split("/")
    [search] = parse_qs(page.query)["searchFilter"]
    [run] = client.search_runs([experiment], search)
    assert receipts[1] == f"experiments/{experiment}/{tab}/{run.info.run_id}"


@pytest.mark.parametrize("receipt", [None, "", "runs:/ab12", "models:/mail/7"])
def test_without_an_earlier_round_the_link_lists_the_experiment_by_name(receipt):
    link = round_link("https://host/mlflow/", "monitor/mail", KEY, receipt)

    assert link == "https://host/mlflow/#/experiments?experimentSearchFilter=monitor%2Fmail"


@pytest.mark.parametrize("uri", ["sqlite:///mlflow.db", "databricks", "postgresql://u:p@h/db", ""])
def test_an_mlflow_without_pages_has_no_link(uri):
    assert round_link(uri, "monitor/mail", KEY, "experiments/1/runs/ab12") is None


def test_the_link_holds_no_password_and_nothing_that_needs_quoting():
    link = round_link("https://ada:s3cret@host:5000", "m", KEY, "experiments/1/runs/ab12")

    assert link == (
        "https://host:5000/#/experiments/1/runs?workflowType=machine_learning&searchFilter=tags.%60monitor.round_key%60%20%3D%20"
        "%275f0c%2Fmail%2F1%2F2025-01-20T06%3A00%3A00Z%27"
    )
