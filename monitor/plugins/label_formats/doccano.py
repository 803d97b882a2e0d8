"""Rows of doccano, which keeps other columns than ``text``, and fills ``label`` with a list."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

_COMMENTS = "Comments"  # of annotators


def row(task: Task, text: str, _: str | None) -> dict[str, Any]:
    """Make the row of a task."""
    return {"task": task.key, "text": text, "label": []}


def key(row: Mapping[str, Any]) -> object:
    """Key of the task that a row is about; None if it is no row of doccano."""
    return row.get("task") if isinstance(row.get("label"), list) else None


def answers(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Take the label out of the list of them. Raises `LabelsRefused` if there are several."""
    labels = row["label"]
    if len(labels) > 1:
        message = (
            f"has {len(labels)} labels, such as {str(labels[0])[:40]!r} and "
            f"{str(labels[1])[:40]!r}; keep one: in doccano let a project allow a single label, "
            "and do not share annotations across users"
        )
        raise LabelsRefused(message)
    return [{**row, "label": labels[0] if labels else None}]


def blanked(row: Mapping[str, Any], retained: Collection[str]) -> dict[str, Any]:
    """Leave of a row its key, answer and person; a note may be a comment."""
    names = {*retained, *([_COMMENTS] if "note" in retained else [])}
    return {name: row[name] for name in row if name in names}
