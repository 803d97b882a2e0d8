"""A monitor of traces whose answers on the labeling page go back as feedback."""

from datetime import timedelta
from typing import Any

from mlflow.tracing.client import TracingClient

from monitor.domain.model import ANSWERS
from monitor.plugins.mlflow_traces.feedback import ROUND_KEY
from monitor.rounds.answers import AnswersHandler
from monitor.rounds.delivery import deliver
from monitor.service.pages.labeling.task_queue import TaskQueue
from tests.plugins.mlflow_traces.trace_store import source_of, span
from tests.rounds.scene import MONDAY, WEEK, Scene, settings
from tests.service.pages.people import on_page

TRACES = 40


def fill(store):
    """Record a week of traces, of which a quarter is flagged."""
    start = MONDAY - WEEK
    store.add_all(
        (f"tr-{n:02}", start + timedelta(hours=4 * n + 1), [_span(n)], {}, {}, (), "OK")
        for n in range(TRACES)
    )


def _span(number):
    outputs = {"score": 0.9 if number % 4 == 0 else 0.1}
    return span(inputs={"text": f"message {number}"}, outputs=outputs)


def scene_over(database, store, folder, **changes):
    """Return the scene of a monitor of a store's traces, at the slot of its first round."""
    scene = Scene(database, settings(labels=8), source=source_of(store, **changes))
    return on_page(scene, folder)


def queue_of(scene):
    return TaskQueue(scene.database, lambda: scene.now, lambda: [scene.name])


def answer_all(scene, value, name="ada"):
    """Let somebody answer every open task; returns the keys of the tasks."""
    queue, keys = queue_of(scene), []
    while tasks := queue.screen(name).tasks:
        queue.record_answer(name, tasks[0].key, value, tasks[0].revision)
        keys.append(tasks[0].key)
    return sorted(keys)


def item_of(scene, key):
    [row] = scene.rows("select item_id from tasks where key = :key", key=key)
    return row["item_id"]


def put_back(scene):
    """Deliver what is due to the source."""
    handler = AnswersHandler(scene.database, {scene.name: scene.context})
    return deliver(scene.database, {ANSWERS: handler}, lambda: scene.now)


def value_of(assessment: Any) -> Any:
    return assessment.feedback.value


def feedback(store, *, history=False):
    """Read our feedback by trace: name, annotator and value; also what was overridden."""
    client = TracingClient(store.uri)
    infos = [client.get_trace_info(f"tr-{number:02}") for number in range(TRACES)]
    ours = {
        info.trace_id: [
            (each.name, each.source.source_id, value_of(each))
            for each in info.assessments
            if ROUND_KEY in (each.metadata or {}) and (history or each.valid is not False)
        ]
        for info in infos
    }
    return {trace_id: values for trace_id, values in ours.items() if values}
