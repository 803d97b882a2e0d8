"""Controls of the labeling page: gold items and repeats, and what people said to them.

Labels are made of `page_store` alone: nothing here is ever collected.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, func, select, true

from monitor.domain.model import Answer
from monitor.domain.page_answer import PageAnswer
from monitor.storage.database import add_missing, change, insert_all, listed
from monitor.storage.pages.page_tables import (
    page_answers,
    page_control_answers,
    page_control_rates,
    page_controls,
    page_gold,
    page_tasks,
)

if TYPE_CHECKING:
    from monitor.storage.pages.page_store import PageStatement

_INSTANT = timedelta(microseconds=1)
_KEY_BYTES = 8


class ControlRates(NamedTuple):
    """Shares of a round's tasks: how many are asked again, and how many gold items are added."""

    repeats: float
    gold: float
    feedback: bool


class GoldItem(NamedTuple):
    """An item whose truth is known."""

    truth: Answer
    shown: Mapping[str, str]

    @property
    def name(self) -> str:
        """What it is known by within a round."""
        text = json.dumps([self.truth, dict(self.shown)], sort_keys=True)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class Control(NamedTuple):
    """A control that somebody was shown: a task asked again, or a gold item."""

    key: str
    round_name: str
    annotator: str
    task_key: str | None
    gold_item: str | None

    @property
    def asks(self) -> str:
        """The task or the gold item that it shows."""
        return self.task_key or self.gold_item or ""


class ControlStatement(NamedTuple):
    """An answer to a control, None to take it back; ``after`` is the last task answer by then."""

    control_key: str
    revision: int
    answer: PageAnswer | None
    at: datetime
    after: int
    id: int


_CONTROL = [page_controls.c[name] for name in Control._fields]
_ANSWERED = [page_control_answers.c[name] for name in ControlStatement._fields]


def open_controls(
    connection: Connection, round_name: str, rates: ControlRates, gold: Collection[GoldItem]
) -> None:
    """Note what is mixed into a round that goes out now; nothing if that is nothing."""
    if not rates.repeats and not gold:
        return
    rates = rates if gold else rates._replace(gold=0.0)
    add_missing(connection, page_control_rates, [{"round_name": round_name, **rates._asdict()}])
    by_name = {item.name: {"truth": item.truth, "shown": dict(item.shown)} for item in gold}
    rows = [{"round_name": round_name, "item": name, **row} for name, row in by_name.items()]
    add_missing(connection, page_gold, rows)


def read_rates(connection: Connection, names: Collection[str]) -> dict[str, ControlRates]:
    """Read the rates of the rounds that have controls."""
    query = select(page_control_rates).where(page_control_rates.c.round_name.in_(names))
    return {name: ControlRates(*rates) for name, *rates in connection.execute(query)}


def gold_items(connection: Connection, names: Collection[str]) -> dict[str, dict[str, Answer]]:
    """Read the truth of each gold item of some rounds."""
    query = select(page_gold.c.round_name, page_gold.c.item, page_gold.c.truth)
    result: dict[str, dict[str, Answer]] = {}
    of_rounds = page_gold.c.round_name.in_(listed(connection, list(names)))
    for name, item, truth in connection.execute(query.where(of_rounds)):
        result.setdefault(name, {})[item] = Answer(truth)
    return result


def gold_answers(connection: Connection, names: Collection[str]) -> list[tuple[Control, bool]]:
    """Read which answers to gold items of some rounds are right."""
    truth, answered = gold_items(connection, names), latest_answers(connection, names)
    return [
        (one, answered[one.key].answer is truth[one.round_name][one.gold_item])
        for one in controls(connection, names)
        if one.gold_item is not None and one.key in answered and answered[one.key].answer
    ]


def controls(
    connection: Connection, names: Collection[str], annotator: str | None = None
) -> list[Control]:
    """Read the controls of some rounds that somebody was shown, or anybody."""
    of_person = true() if annotator is None else page_controls.c.annotator == annotator
    of_rounds = page_controls.c.round_name.in_(listed(connection, list(names)))
    query = select(*_CONTROL).where(of_rounds, of_person)
    return [Control(*row) for row in connection.execute(query.order_by(page_controls.c.key))]


def find_control(
    connection: Connection, names: Collection[str], annotator: str, key: str
) -> Control | None:
    """Find a control of some rounds by its key; None if that person was not shown it."""
    query = select(*_CONTROL).where(
        page_controls.c.key == key,
        page_controls.c.annotator == annotator,
        page_controls.c.round_name.in_(names),
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else Control(*row)


def make_control(
    connection: Connection,
    round_name: str,
    annotator: str,
    *,
    task_key: str | None = None,
    gold_item: str | None = None,
) -> Control:
    """Note that somebody is shown a control from now on; its key looks like a task's."""
    key = f"t{secrets.token_hex(_KEY_BYTES)}"
    control = Control(key, round_name, annotator, task_key, gold_item)
    insert_all(connection, page_controls, [control._asdict()])
    return control


def read_shown(connection: Connection, control: Control) -> Mapping[str, Any] | None:
    """Read what a control shows; None if it was deleted."""
    if control.task_key is not None:
        table, is_it = page_tasks, page_tasks.c.key == control.task_key
    else:
        table, is_it = page_gold, page_gold.c.item == control.gold_item
    query = select(table.c.shown).where(table.c.round_name == control.round_name, is_it)
    shown: Mapping[str, Any] | None = connection.execute(query).scalar_one_or_none()
    return shown


def latest_answers(connection: Connection, names: Collection[str]) -> dict[str, ControlStatement]:
    """Read the latest statement about each control of some rounds, by its key."""
    query = (
        select(*_ANSWERED)
        .join(page_controls, page_controls.c.key == page_control_answers.c.control_key)
        .where(page_controls.c.round_name.in_(listed(connection, list(names))))
        .order_by(page_control_answers.c.revision)
    )
    statements = (ControlStatement._make(row) for row in connection.execute(query))
    return {answer.control_key: answer for answer in statements}


def last_answer(
    connection: Connection, names: Collection[str], annotator: str
) -> ControlStatement | None:
    """Find the answer that somebody gave last to a control of some rounds and that stands."""
    control_keys = {one.key for one in controls(connection, names, annotator)}
    answers = [
        one
        for key, one in latest_answers(connection, names).items()
        if key in control_keys and one.answer is not None
    ]
    return max(answers, key=lambda one: one.id, default=None)


def record_answer(
    connection: Connection,
    control: Control,
    answer: PageAnswer | None,
    *,
    before: ControlStatement | None,
    now: datetime,
) -> None:
    """Add what somebody says now to a control, after what they said ``before``."""
    last = select(func.coalesce(func.max(page_answers.c.id), 0)).where(
        page_answers.c.annotator == control.annotator
    )
    after = connection.execute(last).scalar_one()
    row = {"control_key": control.key, "answer": answer, "after": after, **follow(before, now)}
    insert_all(connection, page_control_answers, [row])


def follow(before: ControlStatement | PageStatement | None, now: datetime) -> dict[str, Any]:
    """Return revision and time of a statement: later than the last, even by a clock set back."""
    if before is None:
        return {"revision": 1, "at": now}
    return {"revision": before.revision + 1, "at": max(now, before.at + _INSTANT)}


def answer_times(connection: Connection, annotator: str, at_most: int) -> list[datetime]:
    """When somebody said the last things to controls; the newest first."""
    query = (
        select(page_control_answers.c.at)
        .join(page_controls, page_controls.c.key == page_control_answers.c.control_key)
        .where(page_controls.c.annotator == annotator)
        .order_by(page_control_answers.c.at.desc())
        .limit(at_most)
    )
    return list(connection.scalars(query))


def empty_gold(connection: Connection, round_name: str) -> None:
    """Delete the shown content of a round's gold items."""
    change(connection, page_gold, page_gold.c.round_name == round_name, shown=None)
