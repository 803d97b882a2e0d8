"""One experiment of MLflow as labels need it: its traces, review queues and questions.

What is not there is made after a look, and another worker may make it at the same moment.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from monitor.domain.errors import LabelsRefused
from monitor.plugins.mlflow_review.rest import THERE_ALREADY, MlflowRefused, MlflowRest
from monitor.plugins.mlflow_review.settings import CANNOT_TELL

V3 = "/api/3.0/mlflow"
PAGE = 300  # Traces in one request or answer

_EXPERIMENTS = "/api/2.0/mlflow/experiments"
# Seconds between looks at a queue without questions: MLflow stores a queue before its questions,
# so that a queue which another worker makes at this moment has none yet.
_HALF_MADE = (0.1, 0.2, 0.5, 1.0, 2.0)


class ReviewQueue(NamedTuple):
    """A review queue, and the question that its items are asked."""

    id: str
    question: str


def find_experiment(calls: MlflowRest, name: str) -> ReviewExperiment | None:
    """Find an experiment; None if it was not made yet. Raises `LabelsRefused` if it was deleted."""
    answer = calls.find(f"{_EXPERIMENTS}/get-by-name", experiment_name=name)
    if answer is None:
        return None
    id_ = str(answer["experiment"]["experiment_id"])
    if answer["experiment"].get("lifecycle_stage") == "deleted":
        message = (
            f"MLflow's experiment {name} was deleted, and what people answered with it; restore it "
            f"(mlflow experiments restore --experiment-id {id_})"
        )
        raise LabelsRefused(message)
    return ReviewExperiment(calls, id_, name)


def made_experiment(calls: MlflowRest, name: str) -> ReviewExperiment:
    """Find an experiment, or make it."""
    experiment = find_experiment(calls, name)
    if experiment is None:
        _create(calls, f"{_EXPERIMENTS}/create", {"name": name})
        experiment = find_experiment(calls, name)
    if experiment is None:
        message = f"MLflow made the experiment {name} and does not find it; is it hidden from us?"
        raise LabelsRefused(message)
    return experiment


@dataclass(frozen=True, slots=True)
class ReviewExperiment:
    """An experiment that is there, over an open connection."""

    calls: MlflowRest
    id: str
    name: str

    def search(self, condition: str) -> Iterator[list[dict[str, Any]]]:
        """Find the traces that a filter wants, page by page: their tags and assessments.

        Not by their ids: with accounts, MLflow refuses those if one of them is not there.
        """
        location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self.id}}
        body: dict[str, Any] = {"locations": [location], "filter": condition, "max_results": PAGE}
        while True:
            answer = self.calls.post(f"{V3}/traces/search", body)
            yield answer.get("traces", [])
            body["page_token"] = answer.get("next_page_token")
            if not body["page_token"]:
                return

    def post(self, spans: Sequence[Mapping[str, Any]]) -> None:
        """Make traces of spans, each the only one of its trace."""
        body = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
        self.calls.post("/v1/traces", body, {"x-mlflow-experiment-id": self.id})

    def delete(self, ids: Sequence[str]) -> None:
        """Delete traces; their answers and their places in queues go with them.

        Raises `LabelsRefused` if none was deleted: anyone who goes on until none is there would not
        come to an end.
        """
        body = {"experiment_id": self.id, "request_ids": list(ids)}
        answer = self.calls.post(f"{V3}/traces/delete-traces", body)
        if not answer.get("traces_deleted"):
            message = (
                f"MLflow took the request and deleted none of {len(ids)} traces of {self.name}, "
                f"such as {ids[0]}; delete them there, so that their texts go"
            )
            raise LabelsRefused(message)

    def counted(self) -> str:
        """Count answers by question and value, in one query of MLflow."""
        body = {
            "experiment_ids": [self.id],
            "view_type": "ASSESSMENTS",
            "metric_name": "assessment_count",
            "aggregations": [{"aggregation_type": "COUNT"}],
            "dimensions": ["assessment_name", "assessment_value"],
        }
        points = self.calls.post(f"{V3}/traces/metrics", body).get("data_points", [])
        return "; ".join(sorted(f"{one.get('dimensions')} {one.get('values')}" for one in points))

    def queue(self, name: str, question: str) -> ReviewQueue:
        """Find a queue, or make one that asks this; one that is there keeps its question."""
        where = {"experiment_id": self.id, "name": name}
        result = self.calls.find(f"{V3}/review-queues/get-by-name", **where)
        if result is None:
            # In this order, since the view shows the newest question first.
            last, first = (self._question(text) for text in (CANNOT_TELL, question))
            body = {**where, "queue_type": "CUSTOM", "schema_ids": [first, last]}
            _create(self.calls, f"{V3}/review-queues/create", body)
            result = self.calls.get(f"{V3}/review-queues/get-by-name", **where)
        for wait in _HALF_MADE:
            if len(result["review_queue"].get("schema_ids", [])) > 1:
                break
            time.sleep(wait)
            result = self.calls.get(f"{V3}/review-queues/get-by-name", **where)
        return self._asking(result["review_queue"])

    def _asking(self, queue: Mapping[str, Any]) -> ReviewQueue:
        names = [
            self.calls.get(f"{V3}/label-schemas/get", schema_id=id_)["label_schema"]["name"]
            for id_ in queue.get("schema_ids", [])
        ]
        questions = [text for text in names if text != CANNOT_TELL]
        if len(questions) != 1 or CANNOT_TELL not in names:
            message = (
                f"MLflow's review queue {queue['name']} asks {names}; expected one question "
                f"and {CANNOT_TELL!r}; delete that queue, and it is created again"
            )
            raise LabelsRefused(message)
        return ReviewQueue(str(queue["queue_id"]), questions[0])

    def _question(self, text: str) -> str:
        """Find a question of the experiment, or make it; returns its id."""
        where = {"experiment_id": self.id, "name": text}
        result = self.calls.find(f"{V3}/label-schemas/get-by-name", **where)
        if result is None:
            answers = {"pass_fail": {"positive_label": "Yes", "negative_label": "No"}}
            body = {**where, "type": "FEEDBACK", "input": answers}
            _create(self.calls, f"{V3}/label-schemas/create", body)
            result = self.calls.get(f"{V3}/label-schemas/get-by-name", **where)
        schema = result["label_schema"]
        if "pass_fail" not in schema.get("input", {}):
            message = (
                f"MLflow's experiment {self.name} has a question {text!r} that yes and no do not "
                "answer; rename it there (Manage questions), or ask in other words"
            )
            raise LabelsRefused(message)
        return str(schema["schema_id"])

    def attach(self, queue: ReviewQueue, ids: Sequence[str]) -> None:
        """Add traces to a queue; those that are in it stay as they are."""
        for part in parts(ids):
            body = {"queue_id": queue.id, "item_ids": part}
            self.calls.post(f"{V3}/review-queues/items/add", body)

    def delete_queue(self, name: str) -> None:
        """Delete a queue, if it is there; traces stay."""
        where = {"experiment_id": self.id, "name": name}
        result = self.calls.find(f"{V3}/review-queues/get-by-name", **where)
        if result is not None:
            body = {"queue_id": result["review_queue"]["queue_id"]}
            self.calls.post(f"{V3}/review-queues/delete", body)


def parts(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Cut values into parts that one request can take."""
    for start in range(0, len(values), PAGE):
        yield list(values[start : start + PAGE])


def _create(calls: MlflowRest, path: str, body: Mapping[str, Any]) -> None:
    """Create something that another worker may create at this moment."""
    try:
        calls.post(path, body)
    except MlflowRefused as error:
        if error.code != THERE_ALREADY:
            raise
