"""Labels given in MLflow's review view: each round is a queue there, each task a trace.

Every step looks first at what is there, so that it can be repeated after a kill at any point.
Answers are read from assessments: the state of a queue says what somebody clicked away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import structlog

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Collected, Task
from monitor.domain.ports import Clock
from monitor.domain.shown import text_batches
from monitor.plugins.mlflow_review import traces
from monitor.plugins.mlflow_review.answers import ReviewReading, stored_text
from monitor.plugins.mlflow_review.experiment import (
    V3,
    ReviewExperiment,
    find_experiment,
    made_experiment,
    parts,
)
from monitor.plugins.mlflow_review.rest import NOT_THERE, MlflowRefused, MlflowRest
from monitor.plugins.mlflow_review.settings import ReviewSettings
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from monitor.storage.database import Database

log = structlog.get_logger("monitor.labels")


class MlflowReviewLabeler:
    """A `Labeler` over MLflow's review queues.

    clock: Dates the traces.
    database: The store, of which only the id is read: two stores may share an experiment.
    tracking_uri, experiment: The server, and the experiment of this monitor's labels.
    """

    name = "mlflow"
    asks_people = True

    def __init__(
        self,
        settings: ReviewSettings,
        clock: Clock,
        database: Database,
        tracking_uri: str,
        experiment: str,
    ) -> None:
        self.settings = settings
        self.experiment = experiment
        self._clock = clock
        self._database = database
        self._server = MlflowRest(tracking_uri, settings.timeout)

    @property
    def question(self) -> str:
        """What people are asked."""
        return self.settings.question

    @property
    def location(self) -> str:
        """The experiment, and where it is."""
        return f"{self._server.shown} {self.experiment}"

    def usable(self) -> str:
        """Find out whether people could label there, and say where that is.

        Raises `LabelsRefused` if there is no server, if it has no review view, or if it cannot keep
        two people apart though ``overlap`` wants two; `LabelsUnavailable` if it does not answer.
        """
        calls = self._calls()
        experiment = find_experiment(calls, self.experiment)
        try:
            calls.get(
                f"{V3}/review-queues/list", experiment_id=experiment.id if experiment else "0"
            )
        except MlflowRefused as error:
            if error.code != NOT_THERE:
                raise
        if self.settings.overlap > 0:
            self._refuse_nameless(calls)
        return (
            f"MLflow's review view at {self._server.shown}, experiment {self.experiment}: "
            f"{self.settings.question}"
        )

    def _experiment(self) -> ReviewExperiment | None:
        """Find the experiment; None if it was not made yet."""
        return find_experiment(self._calls(), self.experiment)

    def _calls(self) -> MlflowRest:
        if urlsplit(self._server.uri).scheme not in {"http", "https"}:
            uri = self._server.uri.partition("?")[0].rpartition("@")[2]
            message = (
                f"labeling.kind: mlflow needs an MLflow server, and mlflow.tracking_uri is {uri}; "
                "start one (mlflow server --backend-store-uri sqlite:///mlflow.db) and set "
                "mlflow.tracking_uri to its address, such as http://127.0.0.1:5000"
            )
            raise LabelsRefused(message)
        return self._server

    def _refuse_nameless(self, calls: MlflowRest) -> None:
        try:
            calls.get("/api/2.0/mlflow/users/current")
        except MlflowRefused as error:
            message = (
                f"labeling.overlap wants a second person, and MLflow at {self._server.shown} has "
                "no accounts, so everybody there is 'default'; start it with "
                "--app-name basic-auth, or leave overlap out"
            )
            raise LabelsRefused(message) from error

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Make traces of the tasks that have none yet, and put all of them into the queue.

        Tasks without a text are left out: they were forgotten. Second copies have a queue of
        their own.
        """
        shown = [task for task in tasks if task.shown]
        if tasks and not shown:
            message = (
                f"{round_name} has nothing that MLflow could show to people; name columns in "
                "source.columns.show"
            )
            raise LabelsRefused(message)
        calls = self._calls()
        experiment = made_experiment(calls, self.experiment)
        for queue, of_first in _queues(round_name):
            copies = [task for task in shown if (task.slot <= 1) is of_first]
            if copies:
                self._send(experiment, round_name, queue, copies)
        link = f"{self._server.shown}/#/experiments/{experiment.id}/review-queue"
        log.info("tasks are in MLflow's review view", round=round_name, link=link)

    def _send(
        self, experiment: ReviewExperiment, round_name: str, queue_name: str, tasks: Sequence[Task]
    ) -> None:
        queue = experiment.queue(queue_name, self.settings.question)
        # In an order that does not depend on their strata.
        placed = sorted(tasks, key=attrgetter("place", "key"))
        by_id = {self._trace_id(task.key): task for task in placed}
        out = {
            info["trace_id"] for infos in experiment.search(self._of(round_name)) for info in infos
        }
        missing = {id_: traces.message_of(by_id[id_]) for id_ in by_id if id_ not in out}
        for batch in text_batches(missing, traces.BATCH, traces.BATCH_TEXT):
            tags = {traces.ROUND: self._round(round_name), traces.QUESTION: queue.question}
            spans = [
                traces.trace(id_, text, {**tags, traces.TASK: by_id[id_].key}, self._clock())
                for id_, text in batch.items()
            ]
            experiment.post(spans)
        experiment.attach(queue, list(by_id))

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Read all that people said of these tasks, unless it is what the cursor stands for."""
        experiment = self._experiment()
        reading = self._reading(experiment, tasks)
        missing = sorted(set(tasks) - set(reading.answers))
        marker = reading.marker(missing)
        if marker == cursor:
            return Collected(cursor=cursor, was_read=False)
        return Collected(
            tuple(reading.events()),
            tuple(reading.refused),
            marker,
            complete=frozenset(reading.answers),
            problems=self._removed(missing),
        )

    def _reading(
        self, experiment: ReviewExperiment | None, tasks: Mapping[str, Task]
    ) -> ReviewReading:
        reading = ReviewReading()
        if experiment is None:
            return reading
        ids = {self._trace_id(key): key for key in sorted(tasks)}
        pages = experiment.search(f"tags.`{traces.ROUND}` LIKE '{self._round('')}%'")
        infos = {str(info["trace_id"]): info for page in pages for info in page}
        for id_ in sorted(set(ids) & set(infos)):
            question = _tags(infos[id_]).get(traces.QUESTION, "")
            reading.take(ids[id_], question, infos[id_].get("assessments"))
        if len(reading.answers) < len(ids):
            for key, stored in self._stored(experiment, set(tasks) - set(reading.answers)):
                reading.take_stored(key, stored)
        return reading

    def _removed(self, missing: Sequence[str]) -> tuple[str, ...]:
        """Return the sentence that traces are not there: nobody else is to delete them."""
        if not missing:
            return ()
        sentence = (
            f"{len(missing)} tasks, such as {missing[0]}, have no trace in MLflow's experiment "
            f"{self.experiment} (deleted there?), so nobody can answer them in its review view; "
            "answers read before still count, and pr-monitor labels export and labels import take "
            "others"
        )
        return (sentence,)

    def state(self) -> str:
        """Count the answers there by question and value.

        That is the same where two answers changed places between two looks; such are read within
        the hour after which every monitor is looked at.
        """
        experiment = self._experiment()
        return "nothing" if experiment is None else f"answers: {experiment.counted()}"

    def close(self, round_name: str) -> None:
        """Delete the round's queues and traces; the answers are kept without the texts."""
        experiment = self._experiment()
        if experiment is None:
            return
        for queue, _ in _queues(round_name):
            experiment.delete_queue(queue)
        while infos := next(experiment.search(self._of(round_name))):
            self._take_away(experiment, round_name, infos)

    def forget(self, round_name: str, keys: Collection[str]) -> tuple[str, ...]:
        """Delete the traces of these tasks; their answers are kept without the texts."""
        experiment = self._experiment()
        if experiment is None:
            return ()
        ids = {self._trace_id(key) for key in keys}
        round_infos = [info for page in experiment.search(self._of(round_name)) for info in page]
        infos = [info for info in round_infos if info["trace_id"] in ids]
        for part in parts(infos):
            self._take_away(experiment, round_name, part)
        return (self.location,) if infos else ()

    def _take_away(
        self, experiment: ReviewExperiment, round_name: str, infos: Sequence[Mapping[str, Any]]
    ) -> None:
        """Keep the answers in tags of one trace of the round, then delete these traces.

        Deleting takes answers along, and a store that is restored from a backup reads them again.
        """
        reading = ReviewReading()
        for info in infos:
            tags = _tags(info)
            key, question = tags.get(traces.TASK, ""), tags.get(traces.QUESTION, "")
            reading.take(key, question, info.get("assessments"))
        stored_answers = {
            f"{traces.RETAINED_FIELDS}.{key}": stored_text(answer)
            for key, answer in reading.answers.items()
        }
        tags = {traces.RETAINED_FIELDS: self._round(round_name), **stored_answers}
        id_ = self._trace_id(f"kept of {round_name}")
        experiment.post([traces.trace(id_, "", tags, self._clock())])
        experiment.delete([str(info["trace_id"]) for info in infos])

    def _stored(
        self, experiment: ReviewExperiment, keys: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """Find what is stored of tasks without a trace."""
        condition = f"tags.`{traces.RETAINED_FIELDS}` LIKE '{self._round('')}%'"
        for infos in experiment.search(condition):
            for tags in map(_tags, infos):
                for key in sorted(keys):
                    stored = tags.get(f"{traces.RETAINED_FIELDS}.{key}")
                    if stored is not None:
                        yield key, stored

    def _of(self, round_name: str) -> str:
        """Filter for the traces of a round's tasks."""
        return f"tags.`{traces.ROUND}` = '{self._round(round_name)}'"

    def _round(self, round_name: str) -> str:
        """Name a round as no other store does."""
        return f"{self._store}/{round_name}"

    def _trace_id(self, key: str) -> str:
        return traces.trace_id(self._store, self.experiment, key)

    @cached_property
    def _store(self) -> str:
        with self._database.read() as connection:
            return store_id(connection)


def _queues(round_name: str) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """Names of a round's queues, and whether they are of first copies."""
    return (round_name, True), (f"{round_name} second copies", False)


def _tags(info: Mapping[str, Any]) -> dict[str, str]:
    tags = info.get("tags")
    return tags if isinstance(tags, dict) else {}
