"""What somebody answered in the rounds that still take answers, for them to correct."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.domain.shown import Shown
from monitor.service.pages.labeling.offered import offered
from monitor.service.pages.labeling.outcome import AnswerOutcome, answer_of, refuse, stands, task_of
from monitor.service.pages.labeling.shown import Part, parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue, names_on_page
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Labeling, OwnForm
from monitor.storage.pages import control_store, page_store
from monitor.storage.pages.page_store import PageTask

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.service.pages.labeling.outcome import ChosenAnswer

router = APIRouter(prefix="/label/mine")

AT_ONCE = 20  # Answers on a page
_EXCERPT = 300  # Characters of a text that stand there at once


class _OwnAnswer(NamedTuple):
    """An answer of somebody that stands; ``order`` sorts it, ``read`` what it shows."""

    order: tuple[int, int]
    key: str
    statement: ChosenAnswer
    round_name: str
    read: Callable[[], Shown | None]


@router.get("")
def own_answers_page(request: Request, session: Labeling, page: int = 1) -> Response:
    """Show somebody's own answers, the newest first."""
    entries, page, pages = _entries(request.app.state.desk, session.annotator, page)
    return html_page("labeling/mine.html", visit=session, entries=entries, page=page, pages=pages)


@router.post("")
def correct(request: Request, session: Labeling, form: OwnForm) -> Response:
    """Replace an answer by another one from the same person."""
    queue: TaskQueue = request.app.state.desk
    answer = answer_of(form)
    key, revision = task_of(form)
    page = form.get("page", "1")
    with queue.database.read() as connection:
        own = _own_answers(queue, connection, session.annotator)
    current = next((one.statement.answer for one in own if one.key == key), None)
    if current is None:
        refuse(AnswerOutcome.NOT_OPEN)
    if current != answer:
        refuse(queue.record_answer(session.annotator, key, answer, revision))
    shown = page if page.isdecimal() else "1"
    return RedirectResponse(f"/label/mine?page={shown}", HTTPStatus.SEE_OTHER)


def _entries(queue: TaskQueue, annotator: str, page: int) -> tuple[list[dict[str, Any]], int, int]:
    """Find the answers on a page, or the nearest that there is; returns also which, of how many."""
    with queue.database.read() as connection:
        answers = _own_answers(queue, connection, annotator)
        pages = max(1, -(-len(answers) // AT_ONCE))
        page = min(max(page, 1), pages)
        first = AT_ONCE * (page - 1)
        listed = answers[first : first + AT_ONCE]
        names = {one.round_name for one in listed}
        rounds = {one.name: one for one in page_store.read_rounds(connection, sorted(names))}
        entries = [
            {
                "key": one.key,
                "statement": one.statement,
                "question": rounds[one.round_name].question,
                "offered": offered(rounds[one.round_name].choices),
                "parts": [_excerpt(part) for part in parts_of(one.read(), one.key)],
            }
            for one in listed
        ]
    return entries, page, pages


def _own_answers(queue: TaskQueue, connection: Connection, annotator: str) -> list[_OwnAnswer]:
    """Find the answers of somebody that stand, the newest first.

    Gold items look like any other; a repeat is its item's, once.
    """
    accepting = queue.accepting(connection)
    names, on_page = list(accepting), names_on_page(accepting)
    tasks = {task.key: task for task in page_store.read_page_tasks(connection, names)}
    of_tasks = page_store.latest_statements(connection, names)
    of_controls = control_store.latest_answers(connection, on_page)

    def read(task: PageTask) -> Shown | None:
        return page_store.read_shown(connection, [task])[task.key]

    own = [
        _OwnAnswer((one.id, 0), key, one, tasks[key].round_name, partial(read, tasks[key]))
        for key, by_name in of_tasks.items()
        if (one := by_name.get(annotator)) is not None and stands(one)
    ]
    for control in control_store.controls(connection, on_page, annotator):
        answer = of_controls.get(control.key)
        if control.gold_item is not None and answer is not None and stands(answer):
            shown = partial(control_store.read_shown, connection, control)
            order = answer.after, answer.id
            own.append(_OwnAnswer(order, control.key, answer, control.round_name, shown))
    return sorted(own, key=attrgetter("order"), reverse=True)


def _excerpt(part: Part) -> Part:
    text = part.text + part.rest
    if len(text) <= _EXCERPT:
        return part
    return part._replace(text=text[:_EXCERPT], rest=text[_EXCERPT:], more="Show all of it")
