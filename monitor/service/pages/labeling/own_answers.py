"""What somebody answered in the rounds that still take answers, for them to correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from monitor.service.pages.labeling.offered import Offered, offered
from monitor.service.pages.labeling.outcome import (
    REFUSALS,
    AnswerOutcome,
    answer_of,
    refusal_text,
    stands,
)
from monitor.service.pages.labeling.shown import Part, parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue, names_on_page
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Labeling, OwnForm, PageRefused
from monitor.storage.pages import control_store, page_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.page_answer import PageAnswer

router = APIRouter(prefix="/label/mine")

AT_ONCE = 20  # Answers on a page
_EXCERPT = 300  # Characters of a text that stand there at once


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer of somebody that stands; ``place`` orders it among theirs."""

    key: str
    revision: int
    answer: PageAnswer
    place: tuple[int, int]
    question: str
    offered: Offered
    parts: Sequence[Part]


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
    key, revision = refusal_text(form)
    page = form.get("page", "1")
    current = _current_answer(queue, session.annotator, key)
    if current is None:
        raise PageRefused(*REFUSALS[AnswerOutcome.NOT_OPEN])
    if current != answer:
        outcome = queue.record_answer(session.annotator, key, answer, revision)
        if outcome is not AnswerOutcome.TAKEN:
            raise PageRefused(*REFUSALS[outcome])
    shown = page if page.isdecimal() else "1"
    return RedirectResponse(f"/label/mine?page={shown}", HTTPStatus.SEE_OTHER)


def _current_answer(queue: TaskQueue, annotator: str, key: str) -> PageAnswer | None:
    """Find what somebody's answer is; None if they gave none to a task that is open."""
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


def _entries(queue: TaskQueue, annotator: str, page: int) -> tuple[list[Entry], int, int]:
    """Find the answers on a page, or the nearest that there is; returns also which, of how many."""
    with queue.database.read() as connection:
        accepting = queue.accepting(connection)
        shown_names = names_on_page(accepting)
        answers = [
            *_of_tasks(connection, list(accepting), annotator),
            *_of_gold(connection, shown_names, annotator),
        ]
        answers.sort(key=lambda one: one["place"], reverse=True)
        pages = max(1, -(-len(answers) // AT_ONCE))
        page = min(max(page, 1), pages)
        first = AT_ONCE * (page - 1)
        rounds = {one.name: one for one in page_store.read_rounds(connection, shown_names)}
        entries = []
        for one in answers[first : first + AT_ONCE]:
            shown = one.pop("read")(connection)
            page_round = rounds[one.pop("round_name")]
            parts = _excerpts(shown, one["key"])
            one |= {
                "question": page_round.question,
                "offered": offered(page_round.choices),
                "parts": parts,
            }
            entries.append(Entry(**one))
    return entries, page, pages


def _of_tasks(connection: Connection, names: Sequence[str], annotator: str) -> list[dict[str, Any]]:
    tasks = {task.key: task for task in page_store.read_page_tasks(connection, names)}
    return [
        {
            "key": key,
            "revision": answer.revision,
            "answer": answer.answer,
            "place": (answer.id, 0),
            "round_name": tasks[key].round_name,
            "read": lambda connection, task=tasks[key]: page_store.read_shown(connection, [task])[
                task.key
            ],
        }
        for key, of in page_store.latest_statements(connection, names).items()
        if stands(answer := of.get(annotator)) and answer is not None
    ]


def _of_gold(connection: Connection, names: Sequence[str], annotator: str) -> list[dict[str, Any]]:
    """Find the gold items too, which look like any other; a repeat is its item's, once."""
    answers_of = control_store.latest_answers(connection, names)
    return [
        {
            "key": control.key,
            "revision": answer.revision,
            "answer": answer.answer,
            "place": (answer.after, answer.id),
            "round_name": control.round_name,
            "read": lambda connection, control=control: control_store.read_shown(
                connection, control
            ),
        }
        for control in control_store.controls(connection, names, annotator)
        if control.gold_item is not None
        and stands(answer := answers_of.get(control.key))
        and answer is not None
    ]


def _excerpts(shown: Mapping[str, Any] | None, key: str) -> list[Part]:
    return [_excerpt(part) for part in parts_of(shown, key)]


def _excerpt(part: Part) -> Part:
    text = part.text + part.rest
    if len(text) <= _EXCERPT:
        return part
    return part._replace(text=text[:_EXCERPT], rest=text[_EXCERPT:], more="Show all of it")
