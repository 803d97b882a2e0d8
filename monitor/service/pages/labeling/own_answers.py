"""A person's answers in the rounds that still take answers, for correction."""

from __future__ import annotations

from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.service.pages.labeling.offered import offered
from monitor.service.pages.labeling.outcome import AnswerOutcome, answer_of, refuse, stands, task_of
from monitor.service.pages.labeling.shown import Part, parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Labeling, OwnForm
from monitor.storage.pages import page_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.pages.page_store import PageStatement

router = APIRouter(prefix="/label/mine")

AT_ONCE = 20  # Answers on a page
_EXCERPT = 300  # Characters of a text that are shown at once


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
    current = next((one.answer for one in own if one.task_key == key), None)
    if current is None:
        refuse(AnswerOutcome.NOT_OPEN)
    if current != answer:
        refuse(queue.record_answer(session.annotator, key, answer, revision))
    shown = page if page.isdecimal() else "1"
    return RedirectResponse(f"/label/mine?page={shown}", HTTPStatus.SEE_OTHER)


def _entries(queue: TaskQueue, annotator: str, page: int) -> tuple[list[dict[str, Any]], int, int]:
    """Return the answers on a page or the nearest one, its number, and the number of pages."""
    with queue.database.read() as connection:
        answers = _own_answers(queue, connection, annotator)
        pages = max(1, -(-len(answers) // AT_ONCE))
        page = min(max(page, 1), pages)
        listed = answers[AT_ONCE * (page - 1) : AT_ONCE * page]
        every = page_store.read_page_tasks(connection, list(queue.accepting(connection)))
        tasks = {task.key: task for task in every}
        of_page = [tasks[one.task_key] for one in listed]
        names = sorted({task.round_name for task in of_page})
        rounds = {one.name: one for one in page_store.read_rounds(connection, names)}
        shown = page_store.read_shown(connection, of_page)
        entries = [
            {
                "key": task.key,
                "statement": one,
                "question": rounds[task.round_name].question,
                "offered": offered(rounds[task.round_name].choices),
                "parts": [_excerpt(part) for part in parts_of(shown[task.key], task.key)],
            }
            for one, task in zip(listed, of_page, strict=True)
        ]
    return entries, page, pages


def _own_answers(queue: TaskQueue, connection: Connection, annotator: str) -> list[PageStatement]:
    """Return a person's answers that were not undone, the newest first."""
    names = list(queue.accepting(connection))
    by_task = page_store.latest_statements(connection, names).values()
    own = [
        one for by_name in by_task if (one := by_name.get(annotator)) is not None and stands(one)
    ]
    return sorted(own, key=attrgetter("id"), reverse=True)


def _excerpt(part: Part) -> Part:
    text = part.text + part.rest
    if len(text) <= _EXCERPT:
        return part
    return part._replace(text=text[:_EXCERPT], rest=text[_EXCERPT:], more="Show all of it")
