"""Shared tasks: one task on the labeling page answers tasks of several monitors.

If people are asked for the class of an item, each item is on the page once for all rounds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, exists, select, tuple_

from monitor.domain.model import Task
from monitor.storage.database import add_missing, change, listed
from monitor.storage.pages.page_tables import page_shares, page_tasks
from monitor.storage.tables import store


class SharedTask(NamedTuple):
    """A task of a monitor, the task on the page that answers it, and the index of its class."""

    task_key: str
    page_key: str
    place: int


def share_tasks(
    connection: Connection, page_round: str, round_name: str, tasks: Sequence[Task], index: int
) -> None:
    """Add the items of a round's tasks that are not on the page yet, and record the round's shares.

    Keys and order are derived from the items only, so they do not reveal strata. The caller locks
    the round on the page first.
    """
    salt = connection.execute(select(store.c.id)).scalar_one()
    key_of = {task.key: _page_key(salt, page_round, task) for task in tasks}
    rows = [
        task_row(page_round, task, key_of[task.key], digest(key_of[task.key])) for task in tasks
    ]
    add_missing(connection, page_tasks, rows)
    of_round = {"round_name": round_name, "page_round": page_round, "place": index}
    shares = [of_round | {"task_key": key, "page_key": page} for key, page in key_of.items()]
    add_missing(connection, page_shares, shares)
    # Restore content that was deleted when the last round that needed it released it.
    shown = {key_of[task.key]: task.shown for task in tasks}
    cached = select(page_shares.c.page_key).where(
        page_shares.c.round_name == round_name, ~page_shares.c.let_go
    )
    emptied = select(page_tasks.c.key).where(
        page_tasks.c.round_name == page_round,
        page_tasks.c.shown.is_(None),
        page_tasks.c.key.in_(cached),
    )
    for key in connection.scalars(emptied).all():
        if shown.get(key):
            is_task = (page_tasks.c.round_name == page_round) & (page_tasks.c.key == key)
            change(connection, page_tasks, is_task, shown=shown[key])


def task_row(page_round: str, task: Task, key: str, order: str) -> dict[str, object]:
    """Return the row of a task on the page; ``order`` is its sort key."""
    return {
        "round_name": page_round,
        "key": key,
        "place": order,
        "item": digest(f"{page_round}|{task.item_id}"),
        "shown": dict(task.shown),
    }


def _page_key(salt: str, page_round: str, task: Task) -> str:
    # Salted with the store's id, unknown to labelers, so that keys do not reveal item ids.
    text = f"{salt}/{page_round}/task{task.slot}/{task.item_id}"
    return f"t{digest(text)[:16]}"


def digest(text: str) -> str:
    """Return the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def read_shares(connection: Connection, task_keys: Sequence[str]) -> list[SharedTask]:
    """Read the shared tasks on the page that answer some tasks of monitors."""
    columns = (page_shares.c[name] for name in SharedTask._fields)
    query = select(*columns).where(page_shares.c.task_key.in_(listed(connection, task_keys)))
    return [SharedTask(*row) for row in connection.execute(query.distinct())]


def page_rounds_of(connection: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the round on the page of each round that shares one, by name."""
    round_names = listed(connection, names).subquery()
    # Reads one task instead of all, since this runs for each answer.
    shared_by = (
        select(page_shares.c.page_round)
        .where(page_shares.c.round_name == round_names.c.value)
        .limit(1)
    )
    rows = connection.execute(select(round_names.c.value, shared_by.scalar_subquery()))
    return {name: page_round for name, page_round in rows if page_round is not None}


def release(connection: Connection, round_name: str, keys: Collection[str] | None = None) -> bool:
    """Release tasks that a round no longer needs; False if this deleted no content.

    The caller locks the round on the page first, so the last round to release a task deletes it.
    """
    released = [page_shares.c.round_name == round_name]
    if keys is not None:
        released.append(page_shares.c.task_key.in_(keys))
    change(connection, page_shares, *released, let_go=True)
    is_needed = exists().where(
        page_shares.c.page_round == page_tasks.c.round_name,
        page_shares.c.page_key == page_tasks.c.key,
        ~page_shares.c.let_go,
    )
    task = tuple_(page_tasks.c.round_name, page_tasks.c.key)
    let_go = task.in_(select(page_shares.c.page_round, page_shares.c.page_key).where(*released))
    unused = (let_go, page_tasks.c.shown.is_not(None), ~is_needed)
    return change(connection, page_tasks, *unused, shown=None) > 0
