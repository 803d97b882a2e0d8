"""Labels that people gave as feedback on traces, read as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from monitor.domain.errors import (
    LabelsRefused,
    LabelsUnavailable,
    SourceRefused,
    SourceUnavailable,
)
from monitor.domain.model import Collected, LabelEvent, Refusal, Task
from monitor.domain.ports import CheckResult
from monitor.labeling.cells import annotator_of, answer_of
from monitor.plugins.mlflow_traces.paths import split_item, there_are
from monitor.plugins.mlflow_traces.reading import PAGE_WITH_SPANS, TraceReader
from monitor.plugins.mlflow_traces.settings import FeedbackLabels
from monitor.presentation.numbers import plural

if TYPE_CHECKING:
    from mlflow.entities import Assessment, TraceInfo

_PEOPLE = "HUMAN"


class FeedbackLabeler:
    """A `Labeler` that asks nobody: items without feedback have no label."""

    name = "mlflow_feedback"
    asks_people = False
    question = None

    def __init__(self, settings: FeedbackLabels, reader: TraceReader) -> None:
        self.settings = settings
        self._reader = reader

    def usable(self) -> CheckResult:
        """Describe where labels come from, and whether the newest traces have any."""
        name = self.settings.name
        try:
            newest = self._reader.newest(PAGE_WITH_SPANS, spans=False)
        except (SourceRefused, SourceUnavailable) as error:
            raise _as_of_labels(error) from error
        described = f"feedback {name!r} of people in {self._reader.location}"
        assessments = (each for trace in newest for each in trace.info.assessments)
        names = {each.name for each in assessments if _is_usable(each)}
        if name in names or not newest:
            return CheckResult(described)
        concern = (
            f"people gave no feedback {name!r} on the newest {plural(len(newest), 'trace')}; is "
            f"labeling.name right? There are {there_are(sorted(names), name)}"
        )
        return CheckResult(described, (concern,))

    def send(self, round_name: str, tasks: Sequence[Task]) -> None:
        """Do nothing: people see traces in MLflow."""

    def collect(self, tasks: Mapping[str, Task], cursor: str | None) -> Collected:
        """Read the feedback on the items of some tasks; second copies get none."""
        del cursor
        by_trace = defaultdict[str, list[Task]](list)
        for task in tasks.values():
            if task.slot <= 1:
                by_trace[split_item(task.item_id)[0]].append(task)
        events: list[LabelEvent] = []
        refused: list[Refusal] = []
        try:
            infos = list(self._reader.infos(sorted(by_trace)))
        except (SourceRefused, SourceUnavailable) as error:
            raise _as_of_labels(error) from error
        for info in infos:
            for task in by_trace[info.trace_id]:
                for each in self._feedback(info, task):
                    self._take(task, each, events, refused)
        keys = [task.key for info in infos for task in by_trace[info.trace_id]]
        return Collected(tuple(events), tuple(refused), complete=frozenset(keys))

    def close(self, round_name: str) -> None:
        """Do nothing: feedback stays."""

    def forget(self, round_name: str, keys: Collection[str]) -> Sequence[str]:
        """Return nothing: this labeler shows people no text."""
        del round_name, keys
        return ()

    def _feedback(self, info: TraceInfo, task: Task) -> Iterator[Assessment]:
        """List the newest valid feedback of each person on an item."""
        span_id = split_item(task.item_id)[1]
        newest: dict[str, Assessment] = {}
        for each in sorted(info.assessments, key=lambda each: each.last_update_time_ms or 0):
            is_label = each.name == self.settings.name and _is_usable(each)
            if is_label and span_id in (None, each.span_id):
                newest[str(each.source.source_id)] = each
        yield from newest.values()

    def _take(
        self, task: Task, assessment: Assessment, events: list[LabelEvent], refused: list[Refusal]
    ) -> None:
        milliseconds = assessment.last_update_time_ms or 0
        annotator = annotator_of(assessment.source.source_id)
        try:
            answer = answer_of(None if assessment.feedback is None else assessment.feedback.value)
        except ValueError as error:
            where = f"{task.item_id}, {annotator}"
            refused.append(Refusal(where, str(error), f"{assessment.assessment_id} {milliseconds}"))
            return
        if answer is not None and annotator:
            at = datetime.fromtimestamp(milliseconds / 1000, UTC)
            events.append(LabelEvent(task.key, annotator, answer, at))


def _is_usable(assessment: Assessment) -> bool:
    if assessment.source.source_type != _PEOPLE or assessment.valid is False:
        return False
    return assessment.feedback is not None and assessment.feedback.error is None


def _as_of_labels(error: SourceRefused | SourceUnavailable) -> LabelsRefused | LabelsUnavailable:
    kind = LabelsRefused if isinstance(error, SourceRefused) else LabelsUnavailable
    return kind(str(error))
