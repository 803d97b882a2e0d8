"""R1 for answers that go back to traces: `kill -9` between the page and MLflow."""

from monitor.domain.model import Answer
from tests.plugins.mlflow_traces.feedback_scene import (
    answer_all,
    feedback,
    fill,
    scene_over,
)
from tests.plugins.mlflow_traces.trace_store import TraceStore
from tests.small_config import rows
from tests.workers import lives_until_one_is_whole

# Each line is a life in which answers of a page are collected and delivered, one of them is
# corrected, and one item forgotten; it kills itself at its n-th crash point.
LIVES = """
from pathlib import Path

import alembic.command, mlflow.store.tracking.sqlalchemy_store  # so that no fork does

from monitor.domain import crashpoint
from monitor.domain.model import Answer
from monitor.rounds.labels.collect import forget_item
from monitor.storage.database import Database
from tests.plugins.mlflow_traces.feedback_scene import put_back, queue_of, scene_over
from tests.plugins.mlflow_traces.trace_store import TraceStore

url, folder, corrected, forgotten = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]


class Existing(TraceStore):
    def __init__(self, folder):
        self.uri = f"sqlite:///{folder / 'mlflow.db'}"


def live(last):
    scene = scene_over(Database(url), Existing(folder), folder)
    # As if time had gone by: what a process that was killed has claimed is free again.
    free = "update effects set claimed_by = null, claimed_until = null where status <> 'done'"
    scene.execute(free)
    scene.run(1)
    crashpoint.hook = killed_at(last)
    scene.run()
    put_back(scene)
    queue_of(scene).record_answer("ada", corrected, Answer.NEGATIVE, 1)
    scene.run()
    put_back(scene)
    round_, labelers = scene.round(1), [scene.labeler]
    clock = lambda: scene.now
    forget_item(scene.database, round_, forgotten, labelers, clock, source=scene.source)
    put_back(scene)


lives(live)
"""


def test_each_answer_arrives_once_wherever_it_is_killed(database, tmp_path):
    store = TraceStore(tmp_path)
    fill(store)
    scene = scene_over(database, store, tmp_path)
    scene.run(1)
    keys = answer_all(scene, Answer.POSITIVE)
    item = {row["key"]: row["item_id"] for row in scene.rows("select key, item_id from tasks")}
    url = database.engine.url.render_as_string(hide_password=False)

    codes = list(lives_until_one_is_whole(LIVES, url, tmp_path, keys[0], item[keys[1]]))

    current, history = feedback(store), feedback(store, history=True)
    expected = {item[key]: [("mail", "ada", key != keys[0])] for key in keys if key != keys[1]}
    assert len(codes) > 10
    assert current == expected
    assert sorted(map(len, history.values())) == [1] * (len(keys) - 2) + [2]
    statuses = {
        status for (status,) in rows(database, "select status from effects where sink = 'answers'")
    }
    assert statuses == {"done"}
