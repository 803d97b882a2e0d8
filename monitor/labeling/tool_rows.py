"""Rows of label files as Prodigy, doccano and Argilla write them, both ways.

The tools are told apart by their fields, so a filled file needs no word of where it comes from.

Prodigy (`prodigy mark --view-id classification`, `db-out`) keeps what is in ``meta``, and adds
``answer``. doccano keeps other columns than ``text`` as they are, and fills ``label`` with a list.
Argilla 2 keeps the ``id``, and has one answer for each user in ``label.responses``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import LabelsRefused

if TYPE_CHECKING:
    from monitor.domain.model import Task

    Write = Callable[[Task, str, str | None], dict[str, Any]]

_PRODIGY_ANSWERS = {"accept": 1, "reject": 0, "ignore": "cannot tell", None: None}
_PRODIGY_BINARY = ("classification", "text", "html", "image")
_PRODIGY_COLUMNS = ("answer", "_annotator_id", "_session_id", "_timestamp", "_view_id")
# What Prodigy calls a session that nobody named: the time at which it was started.
_NO_NAME = re.compile(r"(?:.*-)?\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")

_RESPONSES, _USERS, _STATUS = (f"label.responses{part}" for part in ("", ".users", ".status"))
_NOT_ANSWERED = ("draft", "pending")
_COMMENTS = "Comments"  # of annotators, in doccano


def _prodigy(task: Task, text: str, question: str | None) -> dict[str, Any]:
    # By `input` two items with the same text differ: Prodigy would ask about them once.
    row = {"text": text, "input": task.key, "meta": {"task": task.key}}
    return row if question is None else {"label": question, **row}


def _doccano(task: Task, text: str, _: str | None) -> dict[str, Any]:
    return {"task": task.key, "text": text, "label": []}


def _argilla(task: Task, text: str, _: str | None) -> dict[str, Any]:
    return {"id": task.key, "text": text}


TOOLS: dict[str, Write] = {"prodigy": _prodigy, "doccano": _doccano, "argilla": _argilla}
"""What makes the row of a task for each tool, of its key, one text and the question."""


def key_of(row: dict[str, Any]) -> object:
    """Key of the task that a row of a tool is about; None if it is no such row."""
    if _is_prodigy(row):
        return row["meta"]["task"]
    return row["id"] if _is_argilla(row) else None


def answers_in(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Answers in a row of a tool as our rows; None if it is no such row.

    Raises `LabelsRefused` if what the tool wrote is no answer of one person to the question.
    """
    if _is_prodigy(row):
        return [_from_prodigy(row)]
    return _from_argilla(row) if _is_argilla(row) else None


def one_label(label: object) -> object:
    """Take the label out of doccano's list of them. Raises `LabelsRefused` if there are several."""
    if not isinstance(label, list):
        return label
    if len(label) > 1:
        message = (
            f"has {len(label)} labels, such as {str(label[0])[:40]!r} and {str(label[1])[:40]!r}; "
            "keep one: in doccano let a project allow a single label, and do not share "
            "annotations across users"
        )
        raise LabelsRefused(message)
    return label[0] if label else None


def blanked(row: dict[str, Any], retained: Collection[str]) -> dict[str, Any] | None:
    """Leave of a row of a tool its key, answers and people; None if it is no such row."""
    if _is_prodigy(row):
        columns = {name: row[name] for name in _PRODIGY_COLUMNS if name in row}
        return {"meta": {"task": row["meta"]["task"]}, **columns}
    if _is_argilla(row):
        return {name: row[name] for name in ("id", _RESPONSES, _USERS, _STATUS) if name in row}
    if _COMMENTS in row and "note" in retained:
        return {name: row[name] for name in row if name in retained or name == _COMMENTS}
    return None


def _is_prodigy(row: dict[str, Any]) -> bool:
    meta = row.get("meta")
    return isinstance(meta, dict) and "task" in meta and "task" not in row


def _is_argilla(row: dict[str, Any]) -> bool:
    marks = {_RESPONSES, "_server_id"} & row.keys()
    return isinstance(row.get("id"), str) and bool(marks or row.keys() <= {"id", "text"})


def _from_prodigy(row: dict[str, Any]) -> dict[str, Any]:
    view, answer = row.get("_view_id", "classification"), row.get("answer")
    if view not in _PRODIGY_BINARY or "accept" in row or "options" in row:
        message = (
            f"was answered in Prodigy's interface {str(view)[:40]!r}, where accept does not mean "
            "yes; start it with --view-id classification"
        )
        raise LabelsRefused(message)
    if not (answer is None or (isinstance(answer, str) and answer in _PRODIGY_ANSWERS)):
        message = f"answer {str(answer)[:40]!r} is not known; Prodigy's are accept, reject, ignore"
        raise LabelsRefused(message)
    return {
        "task": row["meta"]["task"],
        "label": _PRODIGY_ANSWERS[answer],
        "annotator": _prodigy_person(row),
        "labeled_at": _prodigy_time(row.get("_timestamp")),
    }


def _prodigy_person(row: dict[str, Any]) -> object:
    named = row.get("_annotator_id") or row.get("_session_id")
    return None if isinstance(named, str) and _NO_NAME.fullmatch(named) else named


def _prodigy_time(seconds: object) -> str | None:
    if seconds is None:
        return None
    try:
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return datetime.fromtimestamp(seconds, tz=UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    message = f"_timestamp {str(seconds)[:40]!r} is no time; Prodigy writes seconds since 1970"
    raise LabelsRefused(message)


def _from_argilla(row: dict[str, Any]) -> list[dict[str, Any]]:
    _check_argilla(row)
    answers, users, statuses = (_listed(row, name) for name in (_RESPONSES, _USERS, _STATUS))
    if not len(answers) == len(users) == len(statuses):
        message = (
            f"has {len(answers)} answers in {_RESPONSES}, {len(users)} users in {_USERS} and "
            f"{len(statuses)} in {_STATUS}, so a draft cannot be told from an answer; write the "
            "file with dataset.records.to_datasets().to_json(...)"
        )
        raise LabelsRefused(message)
    statements = [
        {"task": row["id"], "label": _argilla_label(answer, status), "annotator": user}
        for answer, user, status in zip(answers, users, statuses, strict=True)
    ]
    return statements or [{"task": row["id"], "label": None}]


def _check_argilla(row: dict[str, Any]) -> None:
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


def _listed(row: dict[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        message = f"{name} is {str(value)[:40]!r}, wanted is a list; do not edit what Argilla wrote"
        raise LabelsRefused(message)
    return value


def _argilla_label(answer: object, status: object) -> object:
    if status == "submitted":
        return answer
    if status == "discarded":
        return "cannot tell"
    if status in _NOT_ANSWERED:
        return None
    message = f"status {str(status)[:40]!r} is not known; Argilla's are submitted, discarded, draft"
    raise LabelsRefused(message)
