"""People in MLflow's review view: what its page posts when they click, and what it shows them."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

from monitor.domain.model import Answer
from monitor.plugins.mlflow_review.labeler import MlflowReviewLabeler
from monitor.plugins.mlflow_review.settings import CANNOT_TELL, ReviewSettings

QUESTION = "Is it really about travel?"
V3 = "/api/3.0/mlflow"


def review_labeler(url, experiment, database, clock, **asked):
    settings = ReviewSettings.model_validate({"question": QUESTION, **asked})
    return MlflowReviewLabeler(settings, clock, database, url, experiment)


@dataclass
class View:
    """The review view of one experiment."""

    url: str
    name: str

    @classmethod
    def of_a_new_experiment(cls, url):
        return cls(url, f"monitor/mail-{uuid.uuid4().hex[:8]}/labels")

    def call(self, method, path, **body):
        """As MLflow's page calls its server; a refusal is an error here."""
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            response = (
                client.get(path, params=body)
                if method == "GET"
                else client.request(method, path, json=body)
            )
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    @property
    def experiment(self):
        path = "/api/2.0/mlflow/experiments/get-by-name"
        return self.call("GET", path, experiment_name=self.name)["experiment"]["experiment_id"]

    def traces(self):
        """Everything that MLflow has of the experiment's traces but the texts, by task."""
        return {
            trace["tags"]["monitor.task"]: trace
            for trace in self.found()
            if "monitor.task" in trace["tags"]
        }

    def found(self):
        """All traces, also that which keeps answers."""
        place = {
            "type": "MLFLOW_EXPERIMENT",
            "mlflow_experiment": {"experiment_id": self.experiment},
        }
        body: dict[str, Any] = {"locations": [place], "max_results": 500}
        found: list[dict[str, Any]] = []
        while True:
            answer = self.call("POST", f"{V3}/traces/search", **body)
            found += answer.get("traces", [])
            body["page_token"] = answer.get("next_page_token")
            if not body["page_token"]:
                return found

    def shown(self):
        """All that a reviewer can see of the traces, as one text."""
        ids = sorted(trace["trace_id"] for trace in self.found())
        spans = (
            self.call("GET", f"{V3}/traces/get", trace_id=id_)["trace"].get("spans", [])
            for id_ in ids
        )
        return json.dumps([self.found(), list(spans)], ensure_ascii=False)

    def span_attributes(self, key):
        """Names of the attributes of each span of a task's trace."""
        id_ = self.traces()[key]["trace_id"]
        found = self.call("GET", f"{V3}/traces/get", trace_id=id_)["trace"]["spans"]
        return [{one["key"] for one in span["attributes"]} for span in found]

    def newest_questions(self):
        """The experiment's questions as the view orders them."""
        answer = self.call("GET", f"{V3}/label-schemas/list", experiment_id=self.experiment)
        return [schema["name"] for schema in answer["label_schemas"]]

    def questions(self, queue):
        """What a queue asks."""
        where = {"experiment_id": self.experiment, "name": queue}
        found = self.call("GET", f"{V3}/review-queues/get-by-name", **where)["review_queue"]
        return [
            self.call("GET", f"{V3}/label-schemas/get", schema_id=id_)["label_schema"]["name"]
            for id_ in found["schema_ids"]
        ]

    def delete(self, *keys):
        """Delete traces, as anyone who may edit can do in MLflow."""
        ids = [self.traces()[key]["trace_id"] for key in keys]
        path = f"{V3}/traces/delete-traces"
        self.call("POST", path, experiment_id=self.experiment, request_ids=ids)

    def queues(self):
        """Names of the queues, each with its items, their order and their state."""
        answer = self.call("GET", f"{V3}/review-queues/list", experiment_id=self.experiment)
        return {
            queue["name"]: self.call(
                "GET", f"{V3}/review-queues/items/list", queue_id=queue["queue_id"]
            ).get("items", [])
            for queue in answer.get("review_queues", [])
        }

    def record_answer(self, key, value, *, question=QUESTION, who="ada", kind="HUMAN"):
        """Click a button and submit: the same person's earlier answer is changed in its place."""
        trace = self.traces()[key]
        before = self._assessment(trace, question, who)
        path = f"{V3}/traces/{trace['trace_id']}/assessments"
        if before is not None:
            changed = {"assessment_id": before, "feedback": {"value": value}}
            self.call("PATCH", f"{path}/{before}", assessment=changed, update_mask="feedback")
            return before
        return self._say(trace, value, question, who, kind)

    def _say(self, trace, value, question, who, kind="HUMAN"):
        said = {
            "assessment_name": question,
            "trace_id": trace["trace_id"],
            "source": {"source_type": kind, "source_id": who},
            "feedback": {"value": value},
        }
        path = f"{V3}/traces/{trace['trace_id']}/assessments"
        return self.call("POST", path, assessment=said)["assessment"]["assessment_id"]

    def assessment(self, key, question, who):
        """Id of what somebody said; None where nothing stands."""
        return self._assessment(self.traces()[key], question, who)

    def _assessment(self, trace, question, who):
        for one in trace.get("assessments", []):
            if one["assessment_name"] == question and one["source"]["source_id"] == who:
                return one["assessment_id"]
        return None

    def take_back(self, key, question=QUESTION, who="ada"):
        trace = self.traces()[key]["trace_id"]
        id_ = self.assessment(key, question, who)
        self.call("DELETE", f"{V3}/traces/{trace}/assessments/{id_}")

    def answer(self, key, answer, *, who="ada", question=QUESTION):
        """Give one of our three answers as the view gives it."""
        if answer is Answer.CANNOT_TELL:
            self.record_answer(key, value=True, question=CANNOT_TELL, who=who)
        else:
            self.record_answer(key, value=answer is Answer.POSITIVE, who=who, question=question)

    def answer_open(self, answer_of, *, who="ada", question=QUESTION):
        """Answer each task that nobody has; ``answer_of`` gives the answer by its key."""
        for key, trace in sorted(self.traces().items()):
            if not trace.get("assessments"):
                answer = answer_of(key)
                is_unclear = answer is Answer.CANNOT_TELL
                value = is_unclear or answer is Answer.POSITIVE
                self._say(trace, value, CANNOT_TELL if is_unclear else question, who)
