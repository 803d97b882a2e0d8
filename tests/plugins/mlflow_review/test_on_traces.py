"""Labels on the traces themselves, in a review queue of a real MLflow server."""

import uuid
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from mlflow.entities import AssessmentSource, Feedback
from mlflow.tracing.client import TracingClient
from pydantic import ValidationError

from monitor.domain.errors import SettingRefused
from monitor.domain.model import Answer, Task
from monitor.plugins.mlflow_review import traces
from monitor.plugins.mlflow_review.adapter import ADAPTER
from monitor.plugins.mlflow_review.experiment import made_experiment
from monitor.plugins.mlflow_review.on_traces import TraceQueueLabeler
from monitor.plugins.mlflow_review.settings import CANNOT_TELL, ReviewSettings
from tests.plugins.mlflow_review.review_people import QUESTION, V3, View

NOW = datetime(2025, 3, 3, tzinfo=UTC)


def asked(**more):
    return ReviewSettings.model_validate({"question": QUESTION, "on": "traces", **more})


class Bot:
    """An application that records traces, a labeler over them, and people."""

    def __init__(self, url, database):
        self.view = View(url, f"support-bot-{uuid.uuid4().hex[:8]}")
        self.labeler = TraceQueueLabeler(asked(), lambda: NOW, database, url, self.view.name)
        self.ids = [traces.trace_id(self.view.name, str(number)) for number in range(4)]
        self.people = TracingClient(url)
        self.tasks = {id_: Task(key=id_, item_id=id_, shown={}) for id_ in self.ids}
        experiment = made_experiment(self.labeler._server, self.view.name)
        experiment.post([traces.trace(id_, "hello", {}, NOW) for id_ in self.ids])

    def say(self, id_, name, value, *, kind="HUMAN"):
        source = AssessmentSource(source_type=kind, source_id="ada")
        self.people.log_assessment(id_, Feedback(name=name, value=value, source=source))

    def queued(self):
        where = {"experiment_id": self.view.experiment}
        [queue] = self.view.call("GET", f"{V3}/review-queues/list", **where)["review_queues"]
        path = f"{V3}/review-queues/items/list"
        items = self.view.call("GET", path, queue_id=queue["queue_id"])["items"]
        return {item["item_id"] for item in items}


@pytest.fixture
def bot(mlflow_url, database):
    return Bot(mlflow_url, database)


def test_the_drawn_traces_are_in_the_queue_once_and_no_trace_is_made(bot):
    drawn = [*bot.tasks.values()][:3]

    bot.labeler.send("round-1", drawn)
    bot.labeler.send("round-1", drawn)

    assert bot.queued() == set(bot.ids[:3])
    assert len(bot.view.found()) == 4


def test_answers_to_the_question_count_and_other_feedback_does_not(bot):
    bot.labeler.send("round-1", [*bot.tasks.values()])
    first, second, third, fourth = bot.ids
    bot.say(first, QUESTION, value=True)
    bot.say(second, CANNOT_TELL, value=True)
    bot.say(third, "helpful", value=False)
    bot.say(fourth, QUESTION, value=True, kind="CODE")

    collected = bot.labeler.collect(bot.tasks, None)

    answers = {event.task_key: event.answer for event in collected.events}
    assert answers == {first: Answer.POSITIVE, second: Answer.CANNOT_TELL}
    assert collected.refused == ()
    assert collected.problems == ()
    assert not bot.labeler.collect(bot.tasks, collected.cursor).was_read


def test_closing_deletes_the_queue_and_leaves_traces_and_answers(bot):
    bot.labeler.send("round-1", [*bot.tasks.values()])
    bot.say(bot.ids[0], QUESTION, value=False)

    bot.labeler.close("round-1")
    bot.labeler.close("round-1")

    where = {"experiment_id": bot.view.experiment}
    assert not bot.view.call("GET", f"{V3}/review-queues/list", **where).get("review_queues")
    assert len(bot.view.found()) == 4
    [event] = bot.labeler.collect(bot.tasks, None).events
    assert event.answer is Answer.NEGATIVE


def test_a_trace_that_was_deleted_is_named_and_holds_up_no_other(bot):
    bot.people.delete_traces(bot.view.experiment, trace_ids=bot.ids[:1])

    bot.labeler.send("round-1", [*bot.tasks.values()])

    assert bot.queued() == set(bot.ids[1:])
    [problem] = bot.labeler.collect(bot.tasks, None).problems
    assert f"1 tasks, such as {bot.ids[0]}, have no trace" in problem


def site(**settings):
    values: Any = SimpleNamespace(
        clock=lambda: NOW,
        store=None,
        tracking_uri="http://127.0.0.1:1",
        experiment="labels",
        source=SimpleNamespace(settings=SimpleNamespace(**settings)),
    )
    return values


def test_traces_are_needed_and_whole_ones():
    with pytest.raises(SettingRefused, match=r"source\.kind: mlflow_traces"):
        ADAPTER.make(asked(), site(kind="sql"))
    with pytest.raises(SettingRefused, match=r"remove source\.span"):
        ADAPTER.make(asked(), site(kind="mlflow_traces", span="toxicity"))
    with pytest.raises(ValidationError, match="overlap: a trace is in one queue"):
        asked(overlap=0.2)
    made = ADAPTER.make(asked(), site(kind="mlflow_traces", span=None, experiment="bot"))
    assert isinstance(made, TraceQueueLabeler)
    assert made.experiment == "bot"


def test_a_round_keeps_where_people_label_and_their_question():
    copies = ReviewSettings(question=QUESTION)
    later = asked(question="Is it toxic?")

    assert later.as_opened(copies.own()).on == "copies"
    assert later.as_opened(asked().own()).question == QUESTION
    assert later.as_opened(later.own()) is later
