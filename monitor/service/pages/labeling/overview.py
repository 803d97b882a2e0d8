"""Progress of labeling: the remaining items of each round that takes answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002

from monitor.service.pages.labeling.conflicts import conflicts
from monitor.service.pages.labeling.outcome import stands
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Administering
from monitor.storage.pages import page_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

router = APIRouter(prefix="/label/overview")


@router.get("")
def overview_page(request: Request, session: Administering) -> Response:
    """Show the rounds that take answers."""
    queue: TaskQueue = request.app.state.desk
    with queue.database.read() as connection:
        rounds = _rounds(connection, list(queue.accepting(connection)))
        disputed = len(conflicts(queue, connection))
    return html_page("labeling/overview.html", visit=session, rounds=rounds, conflicts=disputed)


def _rounds(connection: Connection, names: Sequence[str]) -> list[tuple[str, int, int]]:
    answers = page_store.latest_statements(connection, names)
    result: dict[str, tuple[int, int]] = {}
    for task in page_store.read_page_tasks(connection, names):
        answered, every = result.get(task.round_name, (0, 0))
        is_answered = any(map(stands, answers.get(task.key, {}).values()))
        result[task.round_name] = (answered + is_answered, every + 1)
    return [(name, *counts) for name, counts in result.items()]
