"""The report of a round in a real MLflow, and a link that opens it."""

from pathlib import Path

import pytest

from monitor.report.html import report_html
from tests.service.pages.browsers import chromium
from tests.tracking.conftest import the_run
from tests.tracking.reports import ROUND, make_effect, make_report, segments
from tests.tracking.test_curve_figures import CURVES

pytestmark = pytest.mark.server


def html_of(client, run, folder):
    folder.mkdir(exist_ok=True)
    return Path(client.download_artifacts(run.info.run_id, "report.html", str(folder))).read_bytes()


def test_the_report_of_the_newest_version_is_a_file(handler, client, prefix, tmp_path):
    report = make_report(12, curves=CURVES)
    handler.deliver(make_effect(ROUND, report))
    first = html_of(client, the_run(client, f"{prefix}/mail-travel"), tmp_path / "first")

    handler.deliver(make_effect(ROUND, make_report(12, version=2, shift=-0.1)))

    newest = html_of(client, the_run(client, f"{prefix}/mail-travel"), tmp_path / "newest")
    assert first == report_html(report)
    assert "mail-travel, round 12, version 2" in newest.decode()


def test_a_report_that_cannot_be_made_keeps_no_round_from_mlflow(
    handler, client, prefix, monkeypatch
):
    def broken(_):
        message = "no such template"
        raise RuntimeError(message)

    monkeypatch.setattr("monitor.tracking.writing.report_html", broken)

    handler.deliver(make_effect(ROUND, make_report(1)))

    run = the_run(client, f"{prefix}/mail-travel")
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert run.info.status == "FINISHED"
    assert files == {"timeline.svg", "counts.json", "report.json"}
    assert "[Report]" not in run.data.tags["mlflow.note.content"]


@pytest.mark.slow
def test_the_link_in_the_description_opens_the_report_which_runs_nothing(
    handler, client, prefix, mlflow_url
):
    hostile = "<img src=x onerror=document.title='ran'>"
    report = make_report(12, curves=CURVES, segments=segments((hostile,), (hostile,)))
    handler.deliver(make_effect(ROUND, report))
    info = the_run(client, f"{prefix}/mail-travel").info

    with chromium() as browser:
        browser.driver.get(f"{mlflow_url}/#/experiments/{info.experiment_id}/runs/{info.run_id}")
        browser.until(lambda: browser.has("a[href*='artifacts/report.html']"))
        link = browser.find("a[href*='artifacts/report.html']").get_attribute("href")
        browser.driver.get("about:blank")  # else only what is behind the # differs
        browser.driver.get(link)
        browser.until(lambda: browser.has("iframe"))
        browser.driver.switch_to.frame(browser.find("iframe"))
        browser.until(lambda: "Precision is 0.73" in browser.text("h1"))
        title = browser.driver.title
        asked = browser.requests()
        styled = browser.driver.execute_script(
            "return getComputedStyle(document.querySelector('.status')).fontWeight"
        )

    assert title != "ran"
    assert styled == "700"
    assert [one for one in asked if one.startswith("http") and not one.startswith(mlflow_url)] == []
