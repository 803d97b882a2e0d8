"""What MLflow has of the items that people looked at, and when it goes."""

from datetime import timedelta
from pathlib import Path

import pytest

from monitor.domain.model import LOG, MLFLOW, Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import Limits
from monitor.rounds.delivery import deliver
from monitor.rounds.labels.collect import forget_item, retire
from monitor.storage.outbox import effect_store
from tests.mlflow_server import HAS_REVIEWS
from tests.plugins.mlflow_review.review_people import View, review_labeler
from tests.rounds.scene import Scene, settings
from tests.rounds.sinks import Sink

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not HAS_REVIEWS, reason="such an MLflow has no review queues"),
]
CANARY = "canary-text"
PERSON = "ada.lovelace@example.org"
"""No part of a digest in hex can be this name, as it can be a short one."""


def test_mlflow_shows_items_to_reviewers_until_late_labels_are_over_and_never_in_a_run(
    mlflow_url, handler, client, prefix, database, tmp_path
):
    view = View(mlflow_url, f"{prefix}/mail/labels")
    sample = Sample(max_labels=8, bands=Bands(flagged=1, passed=1))
    limits = Limits.model_validate({"precision": 0.7})
    scene = Scene(database, settings(sample=sample, limits=limits, late_labels=timedelta(days=10)))
    scene.labeler = review_labeler(mlflow_url, view.name, database, lambda: scene.now)
    for number in (1, 2):
        play(scene, view, number)
    with_texts = view.shown()
    change_a_closed_round(scene, view)
    tell_mlflow(scene, handler)

    scene.now += timedelta(days=11)
    retire(scene.context)
    tell_mlflow(scene, handler)

    ids = {row["id"] for row in scene.rows("select id from items")}
    names = {row["annotator"] for row in scene.rows("select annotator from label_events")}
    told = everything(client, prefix, tmp_path)
    assert CANARY in with_texts
    assert CANARY not in view.shown()
    assert view.queues() == {}
    assert "report-v1.json" in told
    assert "precision" in told
    assert CANARY not in told
    assert [item for item in ids if item in told] == []
    assert names == {PERSON}
    assert PERSON not in told


def play(scene, view, number):
    """A round that people label in MLflow."""
    scene.week(number, count=300, share=0.2)
    for row in scene.source.rows:
        row["text"] = f"{CANARY} {row['id']}"
    scene.run(number)
    item_of = {row["key"]: row["item_id"] for row in scene.rows("select key, item_id from tasks")}
    view.answer_open(lambda key: scene.truth[item_of[key]], who=PERSON)
    scene.run()


def change_a_closed_round(scene, view):
    """Somebody takes another view of an item, and another item has to go, in closed rounds."""
    first, last = scene.round(1), scene.round(2)
    query = "select key, item_id from tasks where round_id = :id order by key"
    changed = scene.rows(query, id=first.id)[0]
    turned = scene.truth[changed["item_id"]] is Answer.POSITIVE
    forgotten = scene.rows(query, id=last.id)[0]["item_id"]
    forget_item(scene.database, last, forgotten, [scene.labeler], lambda: scene.now)
    view.answer(changed["key"], Answer.NEGATIVE if turned else Answer.POSITIVE, who=PERSON)
    scene.run()
    assert scene.round(2).version == 2


def tell_mlflow(scene, handler):
    scene.now += timedelta(seconds=1)
    deliver(scene.database, {MLFLOW: handler, LOG: Sink()}, lambda: scene.now)
    with scene.database.read() as connection:
        assert effect_store.find_waiting(connection, None) == []


def everything(client, prefix, folder):
    """All that runs and experiments hold: names, tags, params, metrics, inputs and files."""
    found = []
    for experiment in client.search_experiments(filter_string=f"name LIKE '{prefix}%'"):
        if experiment.name.endswith("/labels"):
            continue
        found.append(str(experiment.tags))
        for run in client.search_runs([experiment.experiment_id]):
            found.append(str(run.to_dictionary()))
            place = Path(folder) / run.info.run_id
            place.mkdir()
            client.download_artifacts(run.info.run_id, "", str(place))
            files = [path for path in place.rglob("*") if path.is_file()]
            found += [f"{path.name} {path.read_text()}" for path in files]
    return "\n".join(found)
