"""Rows of Prodigy (`prodigy mark --view-id classification`, `db-out`), which keeps ``meta``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

_ANSWERS = {"accept": 1, "reject": 0, "ignore": "cannot tell", None: None}
_BINARY = ("classification", "text", "html", "image")
_COLUMNS = ("answer", "_annotator_id", "_session_id", "_timestamp", "_view_id")
# What Prodigy calls a session that nobody named: the time at which it was started.
_NO_NAME = re.compile(r"(?:.*-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")


def row(task: Task, text: str, question: str | None) -> dict[str, Any]:
    """Make the row of a task; ``input`` keeps Prodigy from asking about equal texts once."""
    header = {} if question is None else {"label": question}
    return header | {"text": text, "input": task.key, "meta": {"task": task.key}}


def key(row: Mapping[str, Any]) -> object:
    """Key of the task that a row is about; None if it is no row of Prodigy."""
    meta = row.get("meta")
    return meta.get("task") if isinstance(meta, dict) and "task" not in row else None


def answers(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answer in a row. Raises `LabelsRefused` if it answers another question."""
    view, answer = row.get("_view_id", "classification"), row.get("answer")
    if view not in _BINARY or "accept" in row or "options" in row:
        message = (
            f"was answered in Prodigy's interface {str(view)[:40]!r}, where accept does not mean "
            "yes; start it with --view-id classification"
        )
        raise LabelsRefused(message)
    if not (answer is None or (isinstance(answer, str) and answer in _ANSWERS)):
        message = f"answer {str(answer)[:40]!r} is not known; Prodigy's are accept, reject, ignore"
        raise LabelsRefused(message)
    named = row.get("_annotator_id") or row.get("_session_id")
    is_unnamed = isinstance(named, str) and _NO_NAME.fullmatch(named)
    at = _time(row.get("_timestamp"))
    label = _ANSWERS[answer]
    return [
        {
            "task": key(row),
            "label": label,
            "annotator": None if is_unnamed else named,
            "labeled_at": at,
        }
    ]


def blanked(row: Mapping[str, Any], _: Collection[str]) -> dict[str, Any]:
    """Leave of a row its key, answer and person."""
    return {"meta": {"task": key(row)}} | {name: row[name] for name in _COLUMNS if name in row}


def _time(seconds: object) -> str | None:
    if seconds is None:
        return None
    try:
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    message = f"_timestamp {str(seconds)[:40]!r} is not a time; Prodigy writes seconds since 1970"
    raise LabelsRefused(message)
