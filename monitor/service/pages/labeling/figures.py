"""How labeling goes: what remains, and figures of people, which enter no estimate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import combinations, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response  # noqa: TC002

from monitor.domain.model import Answer
from monitor.domain.page_answer import PageAnswer
from monitor.service.pages.labeling.conflicts import conflicts
from monitor.service.pages.labeling.outcome import stands
from monitor.service.pages.labeling.pace import PAUSE
from monitor.service.pages.labeling.shown import parts_of
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Administering
from monitor.storage.pages import control_store, page_store
from monitor.storage.pages.control_store import Control, ControlStatement
from monitor.storage.pages.page_store import PageStatement, PageTask

if TYPE_CHECKING:
    from sqlalchemy import Connection

    Hits = Mapping[str, list[bool]]
    """For each person, of each pair or gold item whether it agrees."""

router = APIRouter(prefix="/label/overview")

FASTEST = 50.0
"""Characters a second: about 500 English words a minute, twice what people read (Brysbaert,
"How many words do we read per minute?", 2019: 238 words)."""

FEWEST = 20  # Answers by which a pace is judged at least

_HISTORY_LENGTH = 200


@router.get("")
def overview_page(request: Request, session: Administering) -> Response:
    """Show the rounds that take answers, and everybody who gave some."""
    queue: TaskQueue = request.app.state.desk
    with queue.database.read() as connection:
        names = list(queue.accepting(connection))
        people = read_figures(connection, names, queue.adjudicators(connection))
        rounds = _rounds(connection, names)
        disputed = len(conflicts(queue, connection))
    return html_page(
        "labeling/overview.html",
        visit=session,
        rounds=rounds,
        people=people,
        conflicts=disputed,
        fastest=FASTEST,
        fewest=FEWEST,
    )


def _rounds(connection: Connection, names: Sequence[str]) -> list[tuple[str, int, int]]:
    answer = page_store.latest_statements(connection, names)
    result: dict[str, tuple[int, int]] = {}
    for task in page_store.read_page_tasks(connection, names):
        answered, every = result.get(task.round_name, (0, 0))
        is_answered = any(map(stands, answer.get(task.key, {}).values()))
        result[task.round_name] = (answered + is_answered, every + 1)
    return [(name, *counts) for name, counts in result.items()]


def read_figures(
    connection: Connection, asking: Sequence[str], adjudicators: Mapping[str, str | None]
) -> list[dict[str, Any]]:
    """Read the figures of everybody who answered in some rounds, by name.

    ``adjudicators`` names for each round on the page who decides conflicts: their
    answers are compared with nobody's.
    """
    names = list(adjudicators)
    tasks = {task.key: task for task in page_store.read_page_tasks(connection, asking)}
    answer = page_store.latest_statements(connection, asking)
    current = [one for by_name in answer.values() for one in by_name.values() if stands(one)]
    controls = {one.key: one for one in control_store.controls(connection, names)}
    answered = control_store.latest_answers(connection, names)
    others = _with_others(tasks, answer, adjudicators)
    selves = _with_self(connection, controls, answered)
    gold: defaultdict[str, list[bool]] = defaultdict(list)
    for control, is_right in control_store.gold_answers(connection, names):
        gold[control.annotator].append(is_right)
    people = {one.annotator for one in current} | {controls[key].annotator for key in answered}

    figures = []
    for name in sorted(people):
        own = [one for one in current if one.annotator == name]
        times = [one.at for key, one in answered.items() if controls[key].annotator == name]
        seconds, characters = _pace(connection, tasks, own, times)
        figures.append(
            {
                "name": name,
                "answers": len(own),
                "cannot_tell": sum(one.answer is Answer.CANNOT_TELL for one in own),
                "with_others": others.get(name),
                "with_self": selves.get(name),
                "gold": gold.get(name),
                "seconds": seconds,
                "characters": characters,
            }
        )
    return figures


def _with_others(
    tasks: Mapping[str, PageTask],
    statement: Mapping[str, Mapping[str, PageStatement]],
    adjudicators: Mapping[str, str | None],
) -> Hits:
    of_item: defaultdict[tuple[str, str], dict[str, PageAnswer | None]] = defaultdict(dict)
    for key, by_name in statement.items():
        task = tasks[key]
        for name, one in by_name.items():
            is_decided = one.answer not in {None, Answer.CANNOT_TELL}
            if is_decided and name != adjudicators.get(task.round_name):
                of_item[task.round_name, task.item][name] = one.answer
    hits = defaultdict(list)
    for answers in of_item.values():
        for pair in combinations(sorted(answers), 2):
            for name in pair:
                hits[name].append(answers[pair[0]] == answers[pair[1]])
    return hits


def _with_self(
    connection: Connection,
    controls: Mapping[str, Control],
    answered: Mapping[str, ControlStatement],
) -> Hits:
    """Compare repeats with what the person's answer was when they were asked again."""
    repeats = [
        (controls[key], answer)
        for key, answer in answered.items()
        if controls[key].task_key is not None and answer.answer is not None
    ]
    keys = sorted({control.asks for control, _ in repeats})
    first = page_store.statements(connection, keys)
    hits = defaultdict(list)
    for control, repeated in repeats:
        first_answers = [
            one
            for one in first
            if (one.task_key, one.annotator) == (control.task_key, control.annotator)
            and one.id <= repeated.after
            and one.answer is not None
        ]
        if first_answers:
            hits[control.annotator].append(first_answers[-1].answer == repeated.answer)
    return hits


def _pace(
    connection: Connection,
    tasks: Mapping[str, PageTask],
    own: Sequence[PageStatement],
    others: Iterable[datetime],
) -> tuple[float | None, float | None]:
    """Find the seconds an answer takes somebody, and the characters of it per second.

    By their last answer; ``others`` are the times of their answers to controls.
    """
    timed = sorted([*((one.at, one.task_key) for one in own), *((at, "") for at in others)])
    gaps = [
        (key, (at - before).total_seconds())
        for (before, _), (at, key) in pairwise(timed[-_HISTORY_LENGTH:])
        if (at - before).total_seconds() < PAUSE
    ]
    if len(gaps) < FEWEST:
        return None, None
    shown = page_store.read_shown(connection, [tasks[key] for key, _ in gaps if key])
    rates = [
        sum(len(part.text) for part in parts_of(shown[key], key)) / max(seconds, 0.001)
        for key, seconds in gaps
        if key and shown[key] is not None
    ]
    seconds = median(seconds for _, seconds in gaps)
    return seconds, median(rates) if len(rates) >= FEWEST else None
