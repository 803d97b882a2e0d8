"""Answers of people as feedback on traces: what is missing is added, what is too much deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.plugins.mlflow_traces.paths import split_item
from monitor.plugins.mlflow_traces.reading import TraceReader
from monitor.tracking.connection import Connection, Deadline, Timed

if TYPE_CHECKING:
    from mlflow.entities import Assessment, TraceInfo

MONITOR, ROUND_KEY = "monitor.name", "monitor.round_key"
"""Metadata of our feedback. The tag of the round's run has the same key."""

_PEOPLE = "HUMAN"
_BATCH = 100  # Traces that are read before feedback on them is written
_NO_ASSESSMENT = "a-" + 32 * "0"


class _Writes(Connection):
    permission = "EDIT there"


class FeedbackOf(NamedTuple):
    """The name of the feedback, and the monitor and round that it is of."""

    name: str
    monitor: str
    round_key: str


class _FeedbackChange(NamedTuple):
    """An assessment to delete, or a value to add, which overrides an assessment if there is one."""

    trace_id: str
    span_id: str | None
    annotator: str
    value: bool | None
    assessment_id: str | None


class FeedbackWriter:
    """Brings the feedback on the traces of an experiment up to date."""

    def __init__(self, reader: TraceReader, tracking_uri: str, limit: timedelta) -> None:
        self._reader = reader
        self._connection = _Writes(tracking_uri, None, limit.total_seconds())
        self._seconds = limit.total_seconds()

    def usable(self, name: str) -> str:
        """Describe the feedback. Raises `DeliveryFailed` if this user may not write it."""
        described = f"feedback {name!r} on traces of experiment {self._reader.experiment!r}"
        newest = self._reader.newest(1, spans=False)
        if not newest:
            return f"{described}; whether this user may is not tried, since there is no trace yet"
        with self._client(name) as client:
            # MLflow looks at the user first, and deletes nothing where nothing is.
            client.delete_assessment(newest[0].info.trace_id, _NO_ASSESSMENT)
        return described

    def settle(self, of: FeedbackOf, answers: Mapping[str, Mapping[str, bool]]) -> None:
        """Make these the only feedback of a round on some items; deleted traces are left alone."""
        by_trace = defaultdict[str, dict[str | None, Mapping[str, bool]]](dict)
        for item, values in answers.items():
            trace_id, span_id = split_item(item)
            by_trace[trace_id][span_id] = values
        ids = sorted(by_trace)
        for part in (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH)):
            infos = list(self._reader.infos(part))
            changes = [
                change for info in infos for change in _changes(info, of, by_trace[info.trace_id])
            ]
            if changes:
                self._write(of, changes)

    def _write(self, of: FeedbackOf, changes: Sequence[_FeedbackChange]) -> None:
        with self._client(of.name) as client:
            for change in changes:
                if change.value is None:
                    client.delete_assessment(change.trace_id, change.assessment_id)
                else:
                    client.log_assessment(change.trace_id, _feedback(of, change))

    @contextmanager
    def _client(self, name: str) -> Iterator[Any]:
        of = f"traces of experiment {self._reader.experiment!r}"
        with self._connection.open(f"feedback {name!r} (source.answers) on {of}"):
            from mlflow.tracing.client import TracingClient  # noqa: PLC0415  as in the connection

            uri = self._connection.tracking_uri
            yield Timed(TracingClient(uri), Deadline(self._seconds))  # type: ignore[arg-type]


def _changes(
    info: TraceInfo, of: FeedbackOf, values: Mapping[str | None, Mapping[str, bool]]
) -> Iterator[_FeedbackChange]:
    """Compare the feedback of a round on a trace with the answers, by span and annotator."""
    stored = defaultdict[tuple[str | None, str], list["Assessment"]](list)
    for each in info.assessments:
        is_ours = (each.metadata or {}).get(ROUND_KEY) == of.round_key
        if is_ours and each.feedback is not None and each.span_id in values:
            stored[each.span_id, str(each.source.source_id)].append(each)
    answered = {
        (span, name): value
        for span, by_annotator in values.items()
        for name, value in by_annotator.items()
    }
    for span_id, annotator in sorted({*stored, *answered}, key=str):
        own = sorted(
            stored[span_id, annotator],
            key=lambda each: (each.valid is not False, each.create_time_ms or 0),
        )
        value = answered.get((span_id, annotator))
        where = info.trace_id, span_id, annotator
        # One that was overridden is kept as the history of an answer, if its name is the same.
        valid = [each for each in own if each.valid is not False]
        last = valid[-1] if valid and valid[-1].name == of.name else None
        for each in own if value is None else valid:
            if value is None or each is not last:
                yield _FeedbackChange(*where, None, each.assessment_id)
        if value is not None and (last is None or _value(last) is not value):
            yield _FeedbackChange(*where, value, None if last is None else last.assessment_id)


def _value(assessment: Assessment) -> Any:
    return None if assessment.feedback is None else assessment.feedback.value


def _feedback(of: FeedbackOf, change: _FeedbackChange) -> Assessment:
    from mlflow.entities import AssessmentSource, Feedback  # noqa: PLC0415

    return Feedback(
        name=of.name,
        value=change.value,
        source=AssessmentSource(source_type=_PEOPLE, source_id=change.annotator),
        span_id=change.span_id,
        metadata={MONITOR: of.monitor, ROUND_KEY: of.round_key},
        overrides=change.assessment_id,
    )
