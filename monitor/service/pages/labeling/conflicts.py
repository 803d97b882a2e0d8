"""Items on which people contradict each other, for `labeling.adjudicator` to decide.

Only that answer counts, and measured agreement ignores it. Adjudicators see the item as annotators
did, and nobody's answers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.domain.labels import Statement, is_disputed
from monitor.domain.model import LabelKind
from monitor.domain.page_answer import ClassChosen, answer_for
from monitor.service.pages.labeling.offered import question_values
from monitor.service.pages.labeling.outcome import answer_of, refuse, revision_of, task_of
from monitor.service.pages.labeling.shown import parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Administering, OwnForm, PageRefused
from monitor.storage.pages import page_store
from monitor.storage.pages.page_store import PageStatement, PageTask

if TYPE_CHECKING:
    from sqlalchemy import Connection


router = APIRouter(prefix="/label/conflicts")

_SETTLED = (
    "This conflict is settled already, or is not yours to decide. The answer was not saved; go on "
    "with the next one."
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item that people answered differently, as a task of its round."""

    task: PageTask
    adjudicator: str | None
    revision: int


@router.get("")
def conflicts_page(request: Request, session: Administering) -> Response:
    """Show the next conflict that is this person's to decide, and who decides the others."""
    queue: TaskQueue = request.app.state.desk
    first: dict[str, Any] = {"conflict": None}
    with queue.database.read() as connection:
        all_conflicts = conflicts(queue, connection)
        own = [one for one in all_conflicts if one.adjudicator == session.annotator]
        if own:
            task = own[0].task
            [round_] = page_store.read_rounds(connection, [task.round_name])
            shown = page_store.read_shown(connection, [task])
            parts = parts_of(shown[task.key], task.key)
            first = {
                "conflict": own[0],
                "parts": parts,
                **question_values(round_, "Nobody can tell"),
            }
    others = Counter(
        (one.task.round_name, one.adjudicator)
        for one in all_conflicts
        if one.adjudicator != session.annotator
    )
    return html_page(
        "labeling/conflicts.html",
        visit=session,
        left=len(own),
        others=[(name, who, count) for (name, who), count in sorted(others.items(), key=str)],
        **first,
    )


@router.post("")
def decide(request: Request, session: Administering, form: OwnForm) -> Response:
    """Take the decision of an adjudicator."""
    queue: TaskQueue = request.app.state.desk
    answer = answer_of(form)
    key, revision = task_of(form)
    with queue.database.read() as connection:
        all_conflicts = conflicts(queue, connection)
    if (key, session.annotator) not in {(one.task.key, one.adjudicator) for one in all_conflicts}:
        raise PageRefused(HTTPStatus.CONFLICT, _SETTLED)
    refuse(queue.record_answer(session.annotator, key, answer, revision, decides=True))
    return RedirectResponse("/label/conflicts", HTTPStatus.SEE_OTHER)


def conflicts(queue: TaskQueue, connection: Connection) -> list[Conflict]:
    """Find the undecided items, of rounds that take answers, on which people differ.

    An item is decided, too, if the adjudicator answered that nobody can tell.
    """
    deciding, names = queue.adjudicators(connection), list(queue.accepting(connection))
    answer = page_store.latest_statements(connection, names)
    copies: defaultdict[tuple[str, str], list[PageTask]] = defaultdict(list)
    for task in page_store.read_page_tasks(connection, names):
        copies[task.round_name, task.item].append(task)
    per_item = (_conflict(tasks, answer, deciding.get(name)) for (name, _), tasks in copies.items())
    return [one for one in per_item if one is not None]


def _conflict(
    tasks: Sequence[PageTask],
    statement: Mapping[str, Mapping[str, PageStatement]],
    adjudicator: str | None,
) -> Conflict | None:
    statements = [one for task in tasks for one in statement.get(task.key, {}).values()]
    of_judge = {one.task_key: one for one in statements if one.annotator == adjudicator}
    if any(one.answer is not None for one in of_judge.values()):
        return None
    if not _is_disputed(statements, adjudicator):
        return None
    task = next((task for task in tasks if task.key in of_judge), tasks[0])
    return Conflict(task, adjudicator, revision_of(of_judge.get(task.key)))


def _is_disputed(page_statements: Sequence[PageStatement], adjudicator: str | None) -> bool:
    """Whether people differ without a majority; classes are compared one by one."""
    indices = {one.answer.place for one in page_statements if isinstance(one.answer, ClassChosen)}
    return any(
        is_disputed([_statement(one, index) for one in page_statements], adjudicator)
        for index in indices or {0}
    )


def _statement(page_statement: PageStatement, index: int) -> Statement:
    if page_statement.answer is None:
        return Statement(page_statement.at, page_statement.annotator, LabelKind.WITHDRAWN, None)
    answer = answer_for(page_statement.answer, index)
    return Statement(page_statement.at, page_statement.annotator, LabelKind.GIVEN, answer)
