"""Traces of one experiment, read by MLflow's client in pages that are ordered by time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.domain.errors import DeliveryFailed, SourceRefused, SourceUnavailable
from monitor.domain.model import Window
from monitor.plugins.mlflow_traces.paths import item_id, there_are
from monitor.tracking.connection import Reads, shown

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Assessment, Span, Trace, TraceInfo

PAGE, PAGE_WITH_SPANS = 500, 100  # traces; MLflow refuses 5,000, and spans may be large
PAGE_BYTES = 10_000_000  # of spans in a page, where MLflow has the size of each trace
OLDEST = (3, 5)  # Whose client searches by ``locations``
_MOST_EXPERIMENTS = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EVERY = "timestamp_ms >= 0"
_SIZE = "mlflow.trace.sizeBytes"  # Metadata that MLflow's client writes
_FRESH = 10.0  # seconds; an experiment is not looked up again for each page


class TraceItem(NamedTuple):
    """One decision: a trace or one of its spans, with what its paths lead into.

    why_none: Why it may have no decision: it failed, or it is still running.
    """

    id: str
    time: datetime
    why_none: str | None
    parts: Mapping[str, Any]


class TraceReader:
    """Reads the traces of an experiment."""

    def __init__(self, tracking_uri: str, experiment: str, limit: timedelta) -> None:
        self.location = f"experiment {experiment!r} of MLflow at {shown(tracking_uri)}"
        self.experiment = experiment
        self._connection = Reads(tracking_uri, None, limit.total_seconds())
        self._experiment_id, self._id_read_at = "", -math.inf

    def pages(self, window: Window, *, spans: bool) -> Iterator[Sequence[Trace]]:
        """Read the traces of a window, the earliest first, each once.

        One whose spans MLflow does not return comes without them.
        """
        for page in self._pages(_milliseconds(window.start), _milliseconds(window.end)):
            for part in _parts(page) if spans else [page]:
                ids = [trace.info.trace_id for trace in part]
                read = self._by_id(ids, include_spans=True) if spans else []
                whole = {each.info.trace_id: each for each in read}
                yield [whole.get(trace.info.trace_id, trace) for trace in part]

    def _pages(self, at: int, end: int) -> Iterator[Sequence[Trace]]:
        """Read what is known of traces without their spans.

        A page begins at the time where the last one ended, so that traces that come or go in
        between neither hide nor repeat another.
        """
        seen: set[str] = set()
        token = None
        while True:
            page = self._search(
                filter_string=f"timestamp_ms >= {at} and timestamp_ms < {end}",
                max_results=PAGE,
                include_spans=False,
                page_token=token,
            )
            yield [trace for trace in page if trace.info.trace_id not in seen]
            if not page.token:
                return
            last = page[-1].info.timestamp_ms
            # More traces than a page may share a millisecond: only there the next page is by token.
            token = page.token if last == at else None
            same_time = {t.info.trace_id for t in page if t.info.timestamp_ms == last}
            seen = seen | same_time if last == at else same_time
            at = last

    def newest(self, at_most: int, *, spans: bool) -> list[Trace]:
        """Read the newest traces, the newest first; with spans only those that MLflow returns."""
        traces: list[Trace] = []
        token = None
        while len(traces) < at_most:
            page = self._search(
                filter_string=_EVERY,
                order_by=["timestamp_ms DESC"],
                max_results=min(PAGE_WITH_SPANS, at_most - len(traces)),
                include_spans=spans,
                page_token=token,
            )
            traces += page
            if not (token := page.token):
                break
        return traces

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and the latest time of a trace; None if there are no traces."""
        ends = [
            self._search(
                filter_string=_EVERY,
                order_by=[f"timestamp_ms {order}"],
                max_results=1,
                include_spans=False,
            )
            for order in ("ASC", "DESC")
        ]
        [first, last] = [[time_of(trace.info) for trace in end] for end in ends]
        return (first[0], last[0]) if first and last else None

    def whole(self, trace_ids: Sequence[str]) -> Iterator[Trace]:
        """Read some traces with their spans; one that was deleted is left out."""
        for start in range(0, len(trace_ids), PAGE_WITH_SPANS):
            part = trace_ids[start : start + PAGE_WITH_SPANS]
            yield from self._by_id(part, include_spans=True)

    def infos(self, trace_ids: Sequence[str]) -> Iterator[TraceInfo]:
        """Read some traces without their spans; one that was deleted is left out."""
        for start in range(0, len(trace_ids), PAGE):
            page = self._by_id(trace_ids[start : start + PAGE], include_spans=False)
            yield from (trace.info for trace in page)

    def _by_id(self, trace_ids: Sequence[str], *, include_spans: bool) -> Sequence[Trace]:
        listed = ", ".join(f"'{each}'" for each in trace_ids)
        traces: Sequence[Trace] = self._search(
            filter_string=f"request_id in ({listed})",
            max_results=len(trace_ids),
            include_spans=include_spans,
        )
        return traces

    def _search(self, **arguments: Any) -> Any:
        installed = version("mlflow")
        if tuple(map(int, installed.split(".")[:2])) < OLDEST:
            message = (
                f"traces are read by MLflow 3.5 or later, and {installed} is installed; upgrade"
            )
            raise SourceRefused(message, is_public=True)
        with self._client() as client:
            arguments.setdefault("order_by", ["timestamp_ms ASC"])
            return client.search_traces(locations=[self._experiment(client)], **arguments)

    def _experiment(self, client: MlflowClient) -> str:
        if time.monotonic() > self._id_read_at + _FRESH:
            experiment = client.get_experiment_by_name(self.experiment)
            if experiment is None:
                experiments = client.search_experiments(max_results=_MOST_EXPERIMENTS)
                names = [each.name for each in experiments]
                message = (
                    f"{self.location} does not exist; correct source.experiment. There are "
                    f"{there_are(names, self.experiment)}"
                )
                raise SourceRefused(message, is_public=True)
            if experiment.lifecycle_stage != "active":
                message = f"{self.location} was deleted; restore it, or correct source.experiment"
                raise SourceRefused(message, is_public=True)
            self._experiment_id, self._id_read_at = str(experiment.experiment_id), time.monotonic()
        return self._experiment_id

    @contextmanager
    def _client(self) -> Iterator[MlflowClient]:
        try:
            with self._connection.open(f"reading experiment {self.experiment!r}") as client:
                yield client
        except DeliveryFailed as error:
            kind = SourceRefused if error.lasting else SourceUnavailable
            raise kind(str(error)) from error


def _parts(page: Sequence[Trace]) -> Iterator[Sequence[Trace]]:
    """Cut a page so that the spans of a part are not too large to be read at once."""
    part: list[Trace] = []
    size = 0
    for trace in page:
        listed = trace.info.trace_metadata.get(_SIZE, "")
        own = int(listed) if listed.isdecimal() else PAGE_BYTES // PAGE_WITH_SPANS
        if part and size + own > PAGE_BYTES:
            yield part
            part, size = [], 0
        part.append(trace)
        size += own
    if part:
        yield part


def items_of(trace: Trace, span_name: str | None) -> list[TraceItem]:
    """Return the items of a trace: itself, or each span of a name."""
    root = next((span for span in trace.data.spans if span.parent_id is None), None)
    if span_name is None:
        return [_item(trace, root, root, str(trace.info.state))]
    spans = [span for span in trace.data.spans if span.name == span_name]
    return [_item(trace, root, span, _state_of(span), span.span_id) for span in spans]


def time_of(info: TraceInfo) -> datetime:
    """Return when a trace began."""
    return _EPOCH + info.timestamp_ms * _MILLISECOND


def _item(
    trace: Trace, root: Span | None, span: Span | None, state: str, span_id: str | None = None
) -> TraceItem:
    info = trace.info
    parts: dict[str, Any] = {"tags": info.tags, "metadata": info.trace_metadata}
    if span is not None:
        parts |= {"inputs": span.inputs, "outputs": span.outputs, "attributes": span.attributes}
    parts["assessments"] = _assessments(info.assessments, root, span)
    id_ = item_id(info.trace_id, span_id)
    return TraceItem(id_, time_of(info), _WITHOUT_DECISION.get(state), parts)


RUNNING = "still running"
_WITHOUT_DECISION = {"ERROR": "in error, without a decision", "IN_PROGRESS": RUNNING}


def _state_of(span: Span) -> str:
    if span.end_time_ns is None:
        return "IN_PROGRESS"
    return str(span.status.status_code.value).removeprefix("STATUS_CODE_")


def _assessments(
    listed: Sequence[Assessment], root: Span | None, span: Span | None
) -> dict[str, Any]:
    """Return the newest valid value of each name; one of the span counts before one of the trace.

    One of the root span is one of the trace, as MLflow's scorers write it. Where spans are not
    read, each is. What people say is a label, and no verdict of a judge.
    """
    own = None if span is None else span.span_id
    of_trace = {None, own, None if root is None else root.span_id}
    usable = [
        each for each in listed if _is_verdict(each) and (root is None or each.span_id in of_trace)
    ]
    usable.sort(key=lambda each: (each.span_id == own, each.last_update_time_ms or 0))
    return {each.name: each.feedback.value for each in usable if each.feedback is not None}


def _is_verdict(listed: Assessment) -> bool:
    feedback = listed.feedback
    if feedback is None or feedback.error is not None or listed.valid is False:
        return False
    return listed.source.source_type != "HUMAN"


def _milliseconds(at: datetime) -> int:
    return -((_EPOCH - at) // _MILLISECOND)
