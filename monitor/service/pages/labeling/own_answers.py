"""What somebody answered in the rounds that still take answers, for them to correct."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.service.pages.labeling.offered import offered
from monitor.service.pages.labeling.outcome import AnswerOutcome, answer_of, refuse, task_of
from monitor.service.pages.labeling.shown import Part, parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue, names_on_page
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Labeling, OwnForm  # noqa: TC001
from monitor.storage.pages import control_store, page_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.page_answer import PageAnswer
    from monitor.domain.shown import Shown
    from monitor.storage.pages.page_store import PageTask

router = APIRouter(prefix="/label/mine")

AT_ONCE = 20  # Answers on a page
_EXCERPT = 300  # Characters of a text that stand there at once


class _OwnAnswer(NamedTuple):
    """An answer of somebody that stands; ``place`` orders it, ``read`` what it shows."""

    place: tuple[int, int]
    key: str
    revision: int
    answer: PageAnswer
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
    current = _current_answer(queue, session.annotator, key)
    if current is None:
        refuse(AnswerOutcome.NOT_OPEN)
    if current != answer:
        refuse(queue.record_answer(session.annotator, key, answer, revision))
    shown = page if page.isdecimal() else "1"
    return RedirectResponse(f"/label/mine?page={shown}", HTTPStatus.SEE_OTHER)


def _current_answer(queue: TaskQueue, annotator: str, key: str) -> PageAnswer | None:
    with queue.database.read() as connection:
        accepting = queue.accepting(connection)
        names = list(accepting)
        answer = page_store.latest_statements(connection, names).get(key, {}).get(annotator)
        if answer is not None:
            return answer.answer
        if control_store.find_control(connection, names_on_page(accepting), annotator, key) is None:
            return None
        control = control_store.latest_answers(connection, names_on_page(accepting)).get(key)
    return None if control is None else control.answer


def _entries(queue: TaskQueue, annotator: str, page: int) -> tuple[list[dict[str, Any]], int, int]:
    """Find the answers on a page, or the nearest that there is; returns also which, of how many."""
    with queue.database.read() as connection:
        accepting = queue.accepting(connection)
        shown_names = names_on_page(accepting)
        answers = [
            *_of_tasks(connection, list(accepting), annotator),
            *_of_gold(connection, shown_names, annotator),
        ]
        answers.sort(key=attrgetter("place"), reverse=True)
        pages = max(1, -(-len(answers) // AT_ONCE))
        page = min(max(page, 1), pages)
        first = AT_ONCE * (page - 1)
        rounds = {one.name: one for one in page_store.read_rounds(connection, shown_names)}
        entries = [
            {
                "key": one.key,
                "revision": one.revision,
                "answer": one.answer,
                "question": rounds[one.round_name].question,
                "offered": offered(rounds[one.round_name].choices),
                "parts": [_excerpt(part) for part in parts_of(one.read(), one.key)],
            }
            for one in answers[first : first + AT_ONCE]
        ]
    return entries, page, pages


def _of_tasks(connection: Connection, names: Sequence[str], annotator: str) -> Iterator[_OwnAnswer]:
    tasks = {task.key: task for task in page_store.read_page_tasks(connection, names)}

    def read(task: PageTask) -> Shown | None:
        return page_store.read_shown(connection, [task])[task.key]

    for key, statements in page_store.latest_statements(connection, names).items():
        statement, task = statements.get(annotator), tasks[key]
        if statement is not None and statement.answer is not None:
            yield _OwnAnswer(
                (statement.id, 0),
                key,
                statement.revision,
                statement.answer,
                task.round_name,
                partial(read, task),
            )


def _of_gold(connection: Connection, names: Sequence[str], annotator: str) -> Iterator[_OwnAnswer]:
    """Find the gold items too, which look like any other; a repeat is its item's, once."""
    answers = control_store.latest_answers(connection, names)
    for control in control_store.controls(connection, names, annotator):
        statement = answers.get(control.key)
        if control.gold_item is not None and statement is not None and statement.answer is not None:
            yield _OwnAnswer(
                (statement.after, statement.id),
                control.key,
                statement.revision,
                statement.answer,
                control.round_name,
                partial(control_store.read_shown, connection, control),
            )


def _excerpt(part: Part) -> Part:
    text = part.text + part.rest
    if len(text) <= _EXCERPT:
        return part
    return part._replace(text=text[:_EXCERPT], rest=text[_EXCERPT:], more="Show all of it")
