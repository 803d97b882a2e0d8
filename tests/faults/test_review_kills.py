"""R1 for MLflow's review view: `kill -9` from the draw to the end of late labels."""

import json

from tests.plugins.mlflow_review.review_people import View
from tests.small_config import rows
from tests.workers import lives_until_one_is_whole

# Each line is a life in which a round is drawn, labeled in MLflow, closed and retired; it kills
# itself at its n-th crash point: around each commit and each request to MLflow. People answer
# outside of it, each item once, and correct one answer after the round closed.
LIVES = """
from contextlib import suppress
from datetime import timedelta

from monitor.domain import crashpoint
from monitor.domain.errors import MonitorError
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.state import RoundState
from monitor.storage.database import Database
from tests.plugins.mlflow_review.review_people import View, review_labeler
from tests.rounds.scene import Scene, settings

url, server, experiment = sys.argv[1:4]
view = View(server, experiment)


def answer_all():
    hook, crashpoint.hook = crashpoint.hook, None
    for place, key in enumerate(sorted(view.traces())):
        if not view.traces()[key].get("assessments"):
            view.answer(key, Answer.POSITIVE if place % 2 else Answer.NEGATIVE)
    crashpoint.hook = hook


def correct():
    hook, crashpoint.hook = crashpoint.hook, None
    said = {key: trace["assessments"][0]["feedback"] for key, trace in view.traces().items()}
    if len(said) == 8 and not said[min(said)]["value"]:
        view.record_answer(min(said), value=True)
    crashpoint.hook = hook


def live(last):
    scene = Scene(Database(url), settings(labels=8))
    scene.labeler = review_labeler(server, experiment, scene.database, lambda: scene.now)
    crashpoint.hook = killed_at(last)
    scene.draw(1)
    if scene.round(1).state is RoundState.LABELING:
        answer_all()
        scene.run()
    scene.now += timedelta(days=1)
    correct()
    scene.run()
    scene.now += timedelta(days=120)
    with suppress(MonitorError):  # the rounds that are due by then have no predictions
        scene.run()


lives(live)
"""


def test_answers_in_mlflow_are_kept_once_wherever_it_is_killed(database, mlflow_url):
    url = database.engine.url.render_as_string(hide_password=False)
    view = View.of_a_new_experiment(mlflow_url)

    codes = list(lives_until_one_is_whole(LIVES, url, mlflow_url, view.name))

    states = rows(database, "select state from rounds order by slot limit 1")
    said = rows(database, "select external_id, kind, answer from label_events order by id")
    keys = sorted({name.partition("/")[0] for name, _, _ in said})
    wanted = {key: ["1" if place % 2 else "0"] for place, key in enumerate(keys)}
    wanted[keys[0]] = ["0", "1"]
    found = {key: [answer for name, _, answer in said if name == f"{key}/ada"] for key in keys}
    assert len(codes) > 10
    assert states == [("closed",)]
    assert len(keys) == 8
    assert {kind for _, kind, _ in said} == {"given"}
    assert found == wanted
    assert view.traces() == {}
    assert view.queues() == {}
    assert "item " not in json.dumps(view.found())
