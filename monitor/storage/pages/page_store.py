"""Reads and writes the labeling page's tables: tasks in a random order, and people's answers.

Nothing here reads rounds, items or strata, so the page cannot reveal them. Several rounds may share
a round on the page (`monitor.storage.pages.shared_task_store`); each round's name then identifies
its question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    exists,
    func,
    select,
)

from monitor.domain.model import Task
from monitor.domain.page_answer import PageAnswer
from monitor.domain.shown import Shown
from monitor.storage.database import add_missing, change, insert_all, listed
from monitor.storage.pages.page_tables import page_answers, page_rounds, page_shares, page_tasks
from monitor.storage.pages.shared_task_store import digest, page_rounds_of, release, task_row

_INSTANT = timedelta(microseconds=1)
_UNDER_WAY = 1000  # Most answers that may be written concurrently with one


class PageTask(NamedTuple):
    """A task on the page, without its content; copies of an item have the same ``item``."""

    round_name: str
    key: str
    item: str
    held_by: str | None
    held_until: datetime | None


class PageStatement(NamedTuple):
    """A person's answer to a task; None withdraws the previous one."""

    task_key: str
    annotator: str
    revision: int
    answer: PageAnswer | None
    at: datetime
    id: int


_TASK = [page_tasks.c[name] for name in PageTask._fields]
_ANSWERED = [page_answers.c[name] for name in PageStatement._fields]


@dataclass(frozen=True, slots=True)
class PageRound:
    """The question of a round: a choice between classes, or yes or no if there are none."""

    name: str
    question: str
    guideline: str | None
    choices: tuple[str, ...] = ()


# Tasks: written by the labeler


def open_round(connection: Connection, round_: PageRound, now: datetime) -> None:
    """Store the question of a round, unless it is stored."""
    row = asdict(round_) | {"choices": list(round_.choices) or None, "sent_at": now}
    add_missing(connection, page_rounds, [row])


def add_tasks(connection: Connection, round_name: str, tasks: Sequence[Task]) -> None:
    """Add tasks that are not on the page yet, in a random order that does not reveal strata."""
    rows = [task_row(round_name, task, task.key, task.place or digest(task.key)) for task in tasks]
    add_missing(connection, page_tasks, rows)


def empty_tasks(
    connection: Connection, round_name: str, keys: Collection[str] | None = None
) -> bool:
    """Delete a round's shown content that no other round needs; False if there was none."""
    lock(connection, _here(connection, [round_name]))
    held = [page_tasks.c.round_name == round_name, page_tasks.c.shown.is_not(None)]
    if keys is not None:
        held.append(page_tasks.c.key.in_(keys))
    emptied = change(connection, page_tasks, *held, shown=None)
    return release(connection, round_name, keys) or emptied > 0


# Questions of the page


def lock(connection: Connection, names: Collection[str]) -> list[PageRound]:
    """Read some rounds on the page, and lock them until the transaction ends."""
    return read_rounds(connection, names, locked=True)


def read_rounds(
    connection: Connection, names: Collection[str], *, locked: bool = False
) -> list[PageRound]:
    """Read some rounds on the page."""
    query = select(page_rounds).where(page_rounds.c.name.in_(names)).order_by(page_rounds.c.name)
    return [
        PageRound(row.name, row.question, row.guideline, tuple(row.choices or ()))
        for row in connection.execute(query.with_for_update() if locked else query)
    ]


def on_page(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the round on the page of each round: its own, or the one that it shares."""
    is_on_page = page_rounds.c.name.in_(listed(connection, names))
    on_own_page = set(connection.scalars(select(page_rounds.c.name).where(is_on_page)))
    shared = page_rounds_of(connection, names)
    return {name: shared.get(name, name) for name in names if name in on_own_page or name in shared}


def _here(connection: Connection, names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(on_page(connection, names).values()))


def has_tasks(connection: Connection, names: Collection[str]) -> bool:
    """Whether some rounds have a task on the page."""
    query = _select_tasks(names, page_tasks.c.key)
    return connection.execute(query.limit(1)).first() is not None


def _select_tasks(
    names: Collection[str], *columns: Column[Any], where: Sequence[ColumnElement[bool]] = ()
) -> CompoundSelect[Any]:
    """Select columns of the tasks that belong to some rounds, or are shared by them."""
    is_shared = (page_shares.c.page_round == page_tasks.c.round_name) & (
        page_shares.c.page_key == page_tasks.c.key
    )
    own_tasks = select(*columns).where(page_tasks.c.round_name.in_(names), *where)
    shared = select(*columns).join(page_shares, is_shared)
    return own_tasks.union(shared.where(page_shares.c.round_name.in_(names), *where))


def read_page_tasks(
    connection: Connection, names: Sequence[str], *, item: str | None = None
) -> list[PageTask]:
    """Read the tasks of rounds in the given order, shuffled within each; or of one item only."""
    where = [] if item is None else [page_tasks.c.item == item]
    query = _select_tasks(names, *_TASK, page_tasks.c.place, where=where).order_by("place", "key")
    tasks = [PageTask(*row) for *row, _ in connection.execute(query)]
    first = {name: index for index, name in enumerate(names)}
    if any(task.round_name not in first for task in tasks):
        first = {name: index for index, name in enumerate(_here(connection, names))}
    return sorted(tasks, key=lambda task: first[task.round_name])


def find_task(connection: Connection, names: Collection[str], key: str) -> PageTask | None:
    """Return a task of some rounds by its key, or None."""
    query = _select_tasks(names, *_TASK, where=[page_tasks.c.key == key])
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else PageTask(*row)


def read_shown(connection: Connection, tasks: Collection[PageTask]) -> dict[str, Shown | None]:
    """Read the content of some tasks, by key; None if it was deleted."""
    query = select(page_tasks.c.key, page_tasks.c.shown).where(*_these(tasks))
    return {row.key: row.shown for row in connection.execute(query)}


def hold(
    connection: Connection, tasks: Collection[PageTask], annotator: str, until: datetime
) -> None:
    """Record that an annotator has these tasks on the screen until a time."""
    change(connection, page_tasks, *_these(tasks), held_by=annotator, held_until=until)


def _these(tasks: Collection[PageTask]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    is_of_round = page_tasks.c.round_name.in_({task.round_name for task in tasks})
    return is_of_round, page_tasks.c.key.in_([task.key for task in tasks])


# Answers of people


def latest_statements(
    connection: Connection, names: Collection[str]
) -> dict[str, dict[str, PageStatement]]:
    """Read the latest statement of each annotator about each task of some rounds, by key."""
    return latest(_statements(connection, _select_tasks(names, page_tasks.c.key)))


def latest(page_statements: Iterable[PageStatement]) -> dict[str, dict[str, PageStatement]]:
    """Return the latest statement of each annotator about each task, by key; input is ordered."""
    result: dict[str, dict[str, PageStatement]] = defaultdict(dict)
    for one in page_statements:
        result[one.task_key][one.annotator] = one
    return dict(result)


def statements(connection: Connection, keys: Sequence[str]) -> list[PageStatement]:
    """Read all statements about some tasks, those by one annotator in order."""
    return _statements(connection, listed(connection, keys)) if keys else []


def last_answer(
    connection: Connection, names: Collection[str], annotator: str
) -> PageStatement | None:
    """Return an annotator's last current answer to a task of some rounds, or None."""
    later = page_answers.alias()
    is_followed = exists().where(
        later.c.task_key == page_answers.c.task_key,
        later.c.annotator == annotator,
        later.c.revision > page_answers.c.revision,
    )
    query = select(*_ANSWERED).where(
        page_answers.c.annotator == annotator,
        page_answers.c.answer.is_not(None),
        page_answers.c.task_key.in_(_select_tasks(names, page_tasks.c.key)),
        ~is_followed,
    )
    # By row id instead of time, since a clock may have been set back.
    newest = connection.execute(query.order_by(page_answers.c.id.desc()).limit(1)).one_or_none()
    return None if newest is None else PageStatement._make(newest)


def _statements(connection: Connection, keys: Any) -> list[PageStatement]:
    query = select(*_ANSWERED).where(page_answers.c.task_key.in_(keys))
    ordered = query.order_by(
        page_answers.c.task_key, page_answers.c.annotator, page_answers.c.revision
    )
    return [PageStatement._make(row) for row in connection.execute(ordered)]


def record_answer(
    connection: Connection,
    task_key: str,
    annotator: str,
    answer: PageAnswer | None,
    *,
    before: PageStatement | None,
    now: datetime,
) -> None:
    """Store a person's answer to a task, after their statement ``before`` if there is one."""
    row: dict[str, Any] = {"task_key": task_key, "annotator": annotator, "answer": answer}
    row |= {"revision": 1, "at": now}
    if before is not None:  # later than that, even by a clock set back
        row |= {"revision": before.revision + 1, "at": max(now, before.at + _INSTANT)}
    insert_all(connection, page_answers, [row])


def state(connection: Connection) -> str:
    """Return a text that changes with each new answer to any round.

    It has the last id and the number of recent answers, since on PostgreSQL a transaction with a
    lower id may end later, but not more than `_UNDER_WAY` answers later.
    """
    last = connection.scalar(select(func.max(page_answers.c.id)))
    newest = page_answers.c.id > (last or 0) - _UNDER_WAY
    query = select(func.count()).select_from(page_answers).where(newest)
    return f"{connection.execute(query).scalar_one()} {last}"
