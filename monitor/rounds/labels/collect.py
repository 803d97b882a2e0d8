"""Send tasks, list and store answers, and delete what people were shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError, StoppedByBug, TryLater, gravest_of
from monitor.domain.model import Collected, Task
from monitor.domain.ports import Clock, Labeler, Source
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation.moves import forgotten_item_reason
from monitor.rounds.answers import enqueue_forgotten
from monitor.rounds.claims import claimed
from monitor.rounds.context import MonitorContext
from monitor.storage.database import Database
from monitor.storage.labels import label_store, overlap_store
from monitor.storage.labels.round_labels import read_labels
from monitor.storage.pages import page_store
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.samples import payload_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


log = structlog.get_logger("monitor.labels")


def send(context: MonitorContext, round_: Round, claim: Claim) -> int:
    """Assign the tasks that are not out yet; safe to repeat.

    Raises the gravest `MonitorError` after every labeler was tried.
    """
    with context.database.read() as connection:
        tasks, waiting = label_store.tasks_to_send(connection, round_.id)
    if not waiting:
        return 0
    unsent, obstacles = set(waiting), list[MonitorError]()
    first = {one.part: one.labeler for one in reversed(context.labelers_of(round_.settings))}
    for part, labeler in sorted(first.items()):
        own = [task for task in tasks if task.part == part]
        keys = [task.key for task in own if task.key in unsent]
        if not keys:
            continue
        try:
            with outside("send"):
                labeler.send(round_.name, own)
        except MonitorError as error:
            obstacles.append(error)
            continue
        with context.database.write() as connection:
            round_claims.hold(connection, claim)
            label_store.set_sent(connection, keys, context.clock())
    raise_gravest(obstacles)
    return len(waiting)


def retire(context: MonitorContext) -> None:
    """Close rounds that take no more labels at their labelers, and delete what people were shown.

    Raises the gravest `MonitorError` after every round was tried.
    """
    now = context.clock()
    with context.database.read() as connection:
        ended = round_store.finished_rounds_shown(connection, context.settings.name, now)
    obstacles: list[MonitorError] = []
    for round_ in ended:
        try:
            _retire(context, round_)
        except MonitorError as error:
            obstacles.append(error)
        except Exception as error:
            log.exception("round not retired because of a bug", monitor=round_.monitor)
            obstacles.append(StoppedByBug.of(error))
    raise_gravest(obstacles)


def raise_gravest(obstacles: Iterable[MonitorError | None]) -> None:
    """Raise the gravest of several errors, if there are any, with the others as notes."""
    met = [error for error in obstacles if error is not None]
    gravest = gravest_of(met)
    if gravest is None:
        return
    for other in dict.fromkeys(map(str, met)):
        if other != str(gravest) and other not in getattr(gravest, "__notes__", ()):
            gravest.add_note(other)
    raise gravest


def _retire(context: MonitorContext, round_: Round) -> None:
    obstacles: list[MonitorError] = []
    for one in context.labelers_of(round_.settings):
        try:
            with outside("close"):
                one.labeler.close(round_.name)
        except MonitorError as error:
            obstacles.append(error)
    raise_gravest(obstacles)
    with context.database.write() as connection:
        label_store.forget_payloads(connection, round_.id)


def unanswered(context: MonitorContext, slot: int | None = None) -> list[Task]:
    """Return unanswered tasks of open rounds; with ``slot`` 1 first copies, with 2 second ones."""
    with context.database.read() as connection:
        rounds = round_store.find_rounds(
            connection, context.settings.name, states=(RoundState.LABELING,)
        )
        tasks = tasks_of_people(connection, context, rounds)
        answered = overlap_store.answered_tasks(connection, [round_.id for round_ in rounds])
    return [
        task
        for key, task in tasks.items()
        if slot in (None, max(task.slot, 1)) and key not in answered
    ]


def disputed(context: MonitorContext) -> list[Task]:
    """Return the first copies of items whose contradicting answers nobody has decided."""
    with context.database.read() as connection:
        disputed_tasks: list[Task] = []
        for round_ in _asking_people(connection, context):
            items = set().union(*read_labels(connection, round_).disputed().values())
            tasks = label_store.all_tasks(connection, [round_.id]).values()
            disputed_tasks += [task for task in tasks if task.slot == 1 and task.item_id in items]
    return disputed_tasks


def accepting(context: MonitorContext) -> dict[str, Task]:
    """Return the tasks of all rounds that take labels from people, also closed ones, by key."""
    with context.database.read() as connection:
        return tasks_of_people(connection, context, _asking_people(connection, context))


def questions_of(context: MonitorContext) -> dict[str, str | None]:
    """Return the question of each task that takes labels, by key; None if it has none."""
    result: dict[str, str | None] = {}
    with context.database.read() as connection:
        for round_ in _asking_people(connection, context):
            questions = {
                one.part: one.labeler.question
                for one in reversed(context.labelers_of(round_.settings))
                if one.labeler.question is not None
            }
            tasks = label_store.all_tasks(connection, [round_.id]) if questions else {}
            result |= {key: questions.get(task.part) for key, task in tasks.items()}
    return result


def tasks_of_people(
    connection: Connection, context: MonitorContext, rounds: Sequence[Round]
) -> dict[str, Task]:
    """Read the tasks of some rounds that people answer, by key."""
    result: dict[str, Task] = {}
    for round_ in rounds:
        parts = {
            one.part for one in context.labelers_of(round_.settings) if one.labeler.asks_people
        }
        tasks = label_store.all_tasks(connection, [round_.id]) if parts else {}
        result |= {key: task for key, task in tasks.items() if task.part in parts}
    return result


def asks_people(context: MonitorContext) -> bool:
    """Whether people label for a monitor: by today's config, or for a round opened before."""
    with context.database.read() as connection:
        today = any(one.labeler.asks_people for one in context.today)
        return today or bool(_asking_people(connection, context))


def labelers_in_use(context: MonitorContext) -> list[Labeler]:
    """Return a monitor's labelers: today's, and the ones of rounds that still take labels."""
    with context.database.read() as connection:
        rounds = round_store.unfinished_rounds(connection, context.settings.name, context.clock())
    used = [one for round_ in rounds for one in context.labelers_of(round_.settings)]
    return [one.labeler for one in (*context.today, *used)]


def _asking_people(connection: Connection, context: MonitorContext) -> list[Round]:
    rounds = round_store.unfinished_rounds(connection, context.settings.name, context.clock())
    return [round_ for round_ in rounds if context.asks_people(round_.settings)]


def store_together(
    several: Sequence[tuple[MonitorContext, Collected]], *, labeler: str | None = None
) -> int:
    """Store the answers of one file to tasks of several monitors, in one transaction.

    ``labeler`` is the labeler that they count as; by default each monitor's own.
    """
    added = 0
    # By name, so that no two processes deadlock.
    ordered = sorted(several, key=lambda one: one[0].settings.name)
    if not ordered:
        return 0
    with ordered[0][0].database.write() as connection:
        for context, collected in ordered:
            now = context.clock()
            round_store.ensure_monitor(connection, context.settings.name, now)
            name = labeler or context.labeler.name
            added += label_store.add_events(connection, name, collected.events, now).total()
    return added


@dataclass(frozen=True, slots=True)
class ForgottenItem:
    """Result of deleting what people were shown of one item in one round.

    deleted: Whether the store had it; false if it was deleted before.
    places: Files from which its texts were removed.
    reached: Whether its labelers were asked; false if the config no longer has the monitor.
    """

    monitor: str
    round: int
    deleted: bool
    places: tuple[str, ...]
    reached: bool


def forget_item(
    database: Database,
    round_: Round,
    item_id: str,
    labelers: Sequence[Labeler],
    clock: Clock,
    *,
    source: Source | None = None,
) -> ForgottenItem:
    """Delete what people were shown of an item in a round; its labels and counts stay.

    ``labelers`` and ``source`` are the round's; none if the config no longer has the monitor. A
    source that stores answers deletes those to the item at the next delivery. Safe to repeat.
    Raises `TryLater` if a worker is busy with the round.
    """
    # Under a claim: a worker that sends tasks would write the item into its file again.
    emptied: list[str] = []
    with claimed(database, round_.id) as claim:
        if claim is None:
            message = (
                f"another worker is busy with round {round_.number} of {round_.monitor}; nothing "
                "of it was deleted, run the same command again"
            )
            raise TryLater(message)
        with database.write() as connection:
            enqueue_forgotten(connection, round_, item_id, source, clock())
            keys = payload_store.task_keys(connection, round_.id, item_id)
            deleted = payload_store.forget_item(connection, round_.id, item_id)
            deleted |= page_store.empty_tasks(connection, round_.name, keys)
            if deleted:
                # Read again: it may have moved before the claim, and the event keeps its state.
                current = round_store.read_round(connection, round_.id)
                reason = forgotten_item_reason(item_id)
                round_transitions.note_event(connection, current, reason, clock())
        for labeler in labelers:
            with outside("forget"):
                emptied += labeler.forget(round_.name, keys)
    return ForgottenItem(round_.monitor, round_.number, deleted, tuple(emptied), bool(labelers))
