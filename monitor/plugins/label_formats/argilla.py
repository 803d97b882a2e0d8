"""Rows of Argilla 2, which keeps the ``id``, and has an answer of each user in a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

_RESPONSES, _USERS, _STATUS = (f"label.responses{part}" for part in ("", ".users", ".status"))
_NOT_ANSWERED = ("draft", "pending")


def row(task: Task, text: str, _: str | None) -> dict[str, Any]:
    """Make the row of a task."""
    return {"id": task.key, "text": text}


def key(row: Mapping[str, Any]) -> object:
    """Key of the task that a row is about; None if it is no row of Argilla."""
    is_argilla = {_RESPONSES, "_server_id"} & row.keys() or row.keys() <= {"id", "text"}
    return row["id"] if is_argilla and isinstance(row.get("id"), str) else None


def answers(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answer of each user. Raises `LabelsRefused` if it cannot be told from a draft."""
    _check(row)
    labels, users, statuses = (_listed(row, name) for name in (_RESPONSES, _USERS, _STATUS))
    if not len(labels) == len(users) == len(statuses):
        message = (
            f"has {len(labels)} answers in {_RESPONSES}, {len(users)} users in {_USERS} and "
            f"{len(statuses)} in {_STATUS}, so a draft cannot be told from an answer; write the "
            "file with dataset.records.to_datasets().to_json(...)"
        )
        raise LabelsRefused(message)
    statements = [
        {"task": row["id"], "label": _label(answer, status), "annotator": user}
        for answer, user, status in zip(labels, users, statuses, strict=True)
    ]
    return statements or [{"task": row["id"], "label": None}]


def blanked(row: Mapping[str, Any], _: Collection[str]) -> dict[str, Any]:
    """Leave of a row its key, answers and people."""
    return {name: row[name] for name in ("id", _RESPONSES, _USERS, _STATUS) if name in row}


def _check(row: Mapping[str, Any]) -> None:
    if "fields" in row or "responses" in row:
        message = (
            "is a nested record of Argilla, which does not say what is a draft; write the file "
            "with dataset.records.to_datasets().to_json(...)"
        )
        raise LabelsRefused(message)
    responses = [name for name in row if name.endswith(".responses") and name != _RESPONSES]
    if responses and _RESPONSES not in row:
        name = responses[0].removesuffix(".responses")
        message = f"answers the question {name[:40]!r}; name the question of the dataset label"
        raise LabelsRefused(message)


def _listed(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        message = f"{name} is {str(value)[:40]!r}, expected a list; do not edit what Argilla wrote"
        raise LabelsRefused(message)
    return value


def _label(answer: object, status: object) -> object:
    if status == "submitted":
        return answer
    if status == "discarded":
        return "cannot tell"
    if status in _NOT_ANSWERED:
        return None
    message = f"status {str(status)[:40]!r} is not known; Argilla's are submitted, discarded, draft"
    raise LabelsRefused(message)
