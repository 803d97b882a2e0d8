"""The pages of a real MLflow begin with the verdict, and offer our views."""

import json

import pytest

from monitor.tracking.saved_views import (
    charts_of,
    fleet_views,
    monitor_views,
)
from tests.mlflow_server import MLFLOW
from tests.tracking.reports import FLEET, ROUND, make_effect, make_report

pytestmark = pytest.mark.server
CAP = 20_000  # characters of a view that MLflow's page reads


def deliver(handler, *numbers):
    for number in numbers:
        for kind in (ROUND, FLEET):
            handler.deliver(make_effect(kind, make_report(number)))


def of_monitor(client, prefix):
    return client.get_experiment_by_name(f"{prefix}/mail-travel")


def note_of(client, prefix):
    return of_monitor(client, prefix).tags["mlflow.note.content"]


def test_the_experiment_of_a_monitor_begins_with_how_it_stands(handler, client, prefix):
    deliver(handler, 9, 10)

    line, *parts = note_of(client, prefix).split("\n\n")
    assert line.startswith("**ALERT since round 10.** Precision 0.81 (limit 0.8) · [Last round](#/")
    assert "[Report](#/experiments/" in line
    assert parts[0].startswith("Precision is 0.81")
    facts, picture = (
        next(place for place, part in enumerate(parts) if part.startswith(begin))
        for begin in ("Predictions from 2025-03-03", "![Estimates of the rounds so far](get-")
    )
    assert facts < picture  # which a page may not scroll to


def test_the_charts_of_a_monitor_are_of_its_run_alone(handler, client, prefix):
    for monitor in ("mail-travel", "other"):
        handler.deliver(make_effect(FLEET, make_report(1, monitor=monitor)))
    fleet = client.get_experiment_by_name(prefix)
    [(tag, view)] = charts_of("mail-travel").items()

    found = client.search_runs(
        [fleet.experiment_id], json.loads(json.loads(view)["state"])["searchFilter"]
    )

    assert fleet.tags[tag] == view
    assert [run.info.run_name for run in found] == ["mail-travel"]
    assert f"viewStateShareKey={tag.rpartition('.')[2]}&" in note_of(client, prefix)


@pytest.mark.skipif(MLFLOW < (3, 4), reason="such an MLflow keeps the tags of an experiment")
def test_a_view_that_a_person_changed_stays_so_and_what_was_lost_comes_back(
    handler, client, prefix
):
    deliver(handler, 1)
    experiment = of_monitor(client, prefix)
    [view] = monitor_views()
    changed = json.loads(experiment.tags[view]) | {"name": "As Ada likes it"}
    client.set_experiment_tag(experiment.experiment_id, view, json.dumps(changed))

    handler._experiments.clear()  # as another process begins
    deliver(handler, 2)

    assert json.loads(of_monitor(client, prefix).tags[view]) == changed
    for tag in (view, "mlflow.note.content"):
        client.set_experiment_tag(experiment.experiment_id, tag, "")
        client.delete_experiment_tag(experiment.experiment_id, tag)

    handler._experiments.clear()
    deliver(handler, 3)

    tags = of_monitor(client, prefix).tags
    assert tags["mlflow.note.content"].startswith("**OK.**")
    assert view in tags


def test_the_list_of_monitors_begins_with_the_gravest(handler, client, prefix):
    words = ("ok", "attention", "alert", "learning", "stale")  # by the alphabet stale came last
    for word in words:
        report = make_report(2, monitor=f"m-{word}", status=word)
        handler.deliver(make_effect(FLEET, report))
    [view] = [json.loads(text) for text in fleet_views().values() if '"Monitors"' in text]
    state = json.loads(view["state"])
    order = f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"

    fleet = client.get_experiment_by_name(prefix)
    runs = client.search_runs([fleet.experiment_id], "", order_by=[order])

    found = [run.data.tags["monitor.status"] for run in runs]
    assert found == ["alert", "stale", "attention", "learning", "ok"]


def test_each_view_is_within_what_the_page_reads():
    views = {**fleet_views(), **monitor_views(), **charts_of("mail")}

    assert {json.loads(text)["name"] for text in views.values()} == {
        "Precision and recall",
        "Evidence",
        "Monitors",
        "Rounds",
        "mail",
    }
    assert max(map(len, views.values())) < CAP
