"""Traces written straight into a SQLite store of MLflow, as fast as rows, and sources over them."""

import base64
import json
import shutil
import sqlite3
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from monitor.plugins.mlflow_traces.settings import TracesSettings
from monitor.plugins.mlflow_traces.source import TracesSource
from monitor.tracking.connection import Connection

NAME = "support-bot"
COLUMNS = {"score": "outputs.score", "show": ["inputs.text"]}


@cache
def _empty():
    """A store with MLflow's tables and one experiment, made once: that takes seconds."""
    path = Path(mkdtemp()) / "mlflow.db"
    with Connection(f"sqlite:///{path}", None, 60).open("an experiment") as client:
        client.create_experiment(NAME)
    return path


class TraceStore:
    """A store in a folder, filled by SQL."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "mlflow.db"
        self.uri = f"sqlite:///{self.path}"
        shutil.copy(_empty(), self.path)

    def add(self, id_, time, *, spans=(), tags=None, metadata=None, assessments=(), status="OK"):
        self.add_all([(id_, time, spans, tags or {}, metadata or {}, assessments, status)])

    def add_all(self, traces: Iterable[Any]) -> None:
        with sqlite3.connect(self.path) as connection:
            for trace in traces:
                _write(connection, trace)

    def delete(self, id_):
        with sqlite3.connect(self.path) as connection:
            connection.execute("pragma foreign_keys = on")
            connection.execute("delete from trace_info where request_id = ?", [id_])


def span(
    name: str = "chat",
    *,
    inputs: Any = None,
    outputs: Any = None,
    parent: str | None = None,
    id_: str = "00f067aa0ba902b7",
    **more: Any,
) -> dict[str, Any]:
    """A span as `TraceStore.add` takes it; ``attributes`` and ``status`` may be given."""
    return {"name": name, "inputs": inputs, "outputs": outputs, "parent": parent, "id": id_, **more}


def verdict(
    name: str,
    value: Any,
    *,
    source: str = "LLM_JUDGE",
    at: int = 0,
    valid: bool = True,
    span_id: str | None = None,
) -> tuple[Any, ...]:
    return (name, json.dumps(value), source, at, valid, span_id)


def source_of(store: Any, **changes: Any) -> TracesSource:
    """A source that flags the root spans' scores from 0.5 on."""
    settings: dict[str, Any] = {"experiment": NAME, "columns": COLUMNS, "threshold": 0.5, **changes}
    made = TracesSettings.model_validate({**settings, "kind": "mlflow_traces"})
    made.track_at(store.uri)
    return TracesSource(made)


def _write(connection, trace):
    id_, time, spans, tags, metadata, assessments, status = trace
    at = int(time.timestamp() * 1_000_000) // 1000
    insert = "insert into trace_info (request_id, experiment_id, timestamp_ms, status) values "
    connection.execute(f"{insert} (?, 1, ?, ?)", [id_, at, status])
    tags = {"mlflow.trace.spansLocation": "TRACKING_STORE", **tags}
    for table, pairs in (("trace_tags", tags), ("trace_request_metadata", metadata)):
        rows = [(key, value, id_) for key, value in pairs.items()]
        connection.executemany(f"insert into {table} values (?, ?, ?)", rows)
    for each in spans:
        connection.execute(
            "insert into spans (trace_id, experiment_id, span_id, parent_span_id, name, type, "
            "status, start_time_unix_nano, end_time_unix_nano, content) "
            "values (?, 1, ?, ?, ?, 'UNKNOWN', ?, ?, ?, ?)",
            [
                *(id_, each["id"], each["parent"], each["name"], each.get("status", "OK")),
                *(at * 1_000_000, at * 1_000_000, json.dumps(_content(id_, each, at))),
            ],
        )
    for index, (name, value, source, given, valid, span_id) in enumerate(assessments):
        connection.execute(
            "insert into assessments (assessment_id, trace_id, name, assessment_type, value, "
            "created_timestamp, last_updated_timestamp, source_type, source_id, span_id, valid, "
            "experiment_id, trace_timestamp_ms) "
            "values (?, ?, ?, 'feedback', ?, ?, ?, ?, 'someone', ?, ?, 1, ?)",
            [f"a-{id_}-{index}", id_, name, value, given, given, source, span_id, valid, at],
        )


def _content(id_, each, at):
    attributes = {
        "mlflow.traceRequestId": id_,
        "mlflow.spanType": "UNKNOWN",
        **each.get("attributes", {}),
    }
    attributes |= {"mlflow.spanInputs": each["inputs"], "mlflow.spanOutputs": each["outputs"]}
    parent = each["parent"]
    return {
        "trace_id": base64.b64encode(bytes(16)).decode(),
        "span_id": _coded(each["id"]),
        "parent_span_id": None if parent is None else _coded(parent),
        "name": each["name"],
        "start_time_unix_nano": at * 1_000_000,
        "end_time_unix_nano": at * 1_000_000,
        "events": [],
        "status": {"code": f"STATUS_CODE_{each.get('status', 'OK')}", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in attributes.items()},
        "links": [],
    }


def _coded(id_):
    return base64.b64encode(bytes.fromhex(id_)).decode()
