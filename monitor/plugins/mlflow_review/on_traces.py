"""Labels given on the traces that a classifier recorded, in a review queue of their experiment.

People see all that a trace holds, the decision of the classifier and verdicts of judges included.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task
from monitor.plugins.mlflow_review.answers import ReviewReading
from monitor.plugins.mlflow_review.experiment import ReviewExperiment, find_experiment, parts
from monitor.plugins.mlflow_review.labeler import MlflowReviewLabeler
from monitor.plugins.mlflow_review.settings import CANNOT_TELL


class TraceQueueLabeler(MlflowReviewLabeler):
    """A `Labeler` whose items are traces: it makes a queue a round, and no trace."""

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Add the traces of the tasks to a queue, except deleted ones."""
        ordered = sorted(tasks, key=attrgetter("place", "key"))
        calls = self._calls()
        experiment = find_experiment(calls, self.experiment)
        if experiment is None:
            message = f"MLflow at {self._server.shown} has no experiment {self.experiment}"
            raise LabelsRefused(message)
        existing = _infos(experiment, [task.item_id for task in ordered])
        queue = experiment.queue(round_name, self.settings.question)
        ids = [task.item_id for task in ordered if task.item_id in existing]
        experiment.attach(queue, ids)

    def close(self, round_name: str) -> None:
        """Delete the round's queue; traces and answers stay."""
        experiment = self._experiment()
        if experiment is not None:
            experiment.delete_queue(round_name)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Return no location: the application itself deletes its traces."""
        del round_name, keys
        return ()

    def _reading(
        self, experiment: ReviewExperiment | None, tasks: Mapping[str, Task]
    ) -> ReviewReading:
        reading = ReviewReading()
        if experiment is None:
            return reading
        infos = _infos(experiment, [task.item_id for task in tasks.values()])
        question = self.settings.question
        for key, task in sorted(tasks.items()):
            if task.item_id in infos:
                # Traces hold other feedback too, which answers other questions.
                assessments = [
                    each
                    for each in infos[task.item_id].get("assessments", [])
                    if each.get("assessment_name") in (question, CANNOT_TELL)
                ]
                reading.take(key, question, assessments)
        return reading


def _infos(experiment: ReviewExperiment, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the traces that still exist, by id."""
    result: dict[str, dict[str, Any]] = {}
    for part in parts(sorted({*ids})):
        listed = ", ".join(f"'{each}'" for each in part)
        for page in experiment.search(f"request_id IN ({listed})"):
            result |= {str(info["trace_id"]): info for info in page}
    return result
