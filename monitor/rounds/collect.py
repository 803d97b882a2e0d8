"""Handing out tasks and taking in what annotators said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.model import Collected, Refusal
from monitor.domain.state import RoundState
from monitor.storage import copy_store, label_store, round_claims, round_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from monitor.domain.model import Task
    from monitor.rounds.parts import Parts
    from monitor.storage.round_claims import Claim
    from monitor.storage.round_store import Round

log = structlog.get_logger("monitor.labels")


def send(parts: Parts, found: Round, claim: Claim) -> int:
    """Hand out the tasks that are not out yet; safe to repeat."""
    with parts.database.read() as connection:
        waiting = label_store.unsent_tasks(connection, found.id)
        everything = label_store.all_tasks(connection, [found.id]) if waiting else {}
    if not waiting:
        return 0
    with outside("send"):
        parts.labeler.send(found.name, list(everything.values()))
    with parts.database.write() as connection:
        round_claims.hold(connection, claim)
        label_store.mark_sent(connection, [task.key for task in waiting], parts.clock())
    return len(waiting)


def collect(parts: Parts, round_ids: Sequence[int]) -> Collected | None:
    """Ask the labeler for news of some rounds and store it; None where no round asks."""
    if not round_ids:
        return None
    labeler = parts.labeler
    with parts.database.read() as connection:
        monitor_id = round_store.read_round(connection, round_ids[0]).monitor_id
        tasks = label_store.all_tasks(connection, round_ids)
        cursor = label_store.read_cursor(connection, monitor_id, labeler.name)
    if not tasks:
        return None
    with outside("collect"):
        said = labeler.collect(tasks, cursor)
    collected = without_same_person(parts, said)
    for refusal in collected.refused:
        log.warning("label refused", where=refusal.where, reason=refusal.reason)
    store_labels(parts, collected)
    return collected


def put_away(parts: Parts) -> None:
    """End the asking for rounds that take no labels any more, and forget what people were shown.

    Items and labels stay; a round without payloads has been put away.
    """
    now = parts.clock()
    with parts.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, parts.settings.name)
        if monitor_id is None:
            return
        unfinished = round_store.unfinished_rounds(connection, monitor_id, now)
        accepting_labels = {each.id for each in unfinished}
        ended = [
            round_store.read_round(connection, each)
            for each in label_store.rounds_that_show(connection, monitor_id)
            if each not in accepting_labels
        ]
    for found in ended:
        with outside("close"):
            parts.labeler.close(found.name)
        with parts.database.write() as connection:
            label_store.forget_payloads(connection, found.id)


def without_same_person(parts: Parts, collected: Collected) -> Collected:
    """Refuse answers to one copy of an item by someone who answered its other copy."""
    with parts.database.read() as connection:
        again = copy_store.same_person_again(connection, collected.events)
    refused = [
        Refusal(
            f"task {event.task_key}",
            f"is a second copy of an item that {event.annotator!r} answered already; give it to "
            "another person",
        )
        for event in again
    ]
    kept = tuple(event for event in collected.events if event not in again)
    return Collected(kept, (*collected.refused, *refused), collected.cursor)


def unanswered(parts: Parts, slot: int = 1) -> list[Task]:
    """Tasks of open rounds that have no answer yet: first copies, or second ones."""
    with parts.database.read() as connection:
        open_ids = _labeling(connection, parts)
        tasks = label_store.all_tasks(connection, open_ids)
        answered = copy_store.answered_tasks(connection, open_ids)
    return [task for key, task in tasks.items() if task.slot == slot and key not in answered]


def disputed(parts: Parts) -> list[Task]:
    """First copies of the items on which people contradict each other and nobody decided.

    Those of rounds that take labels now, also of closed ones.
    """
    with parts.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, parts.settings.name)
        if monitor_id is None:
            return []
        rounds = round_store.unfinished_rounds(connection, monitor_id, parts.clock())
        found: list[Task] = []
        for each in rounds:
            items = set().union(*copy_store.disputed_items(connection, each.id).values())
            tasks = label_store.all_tasks(connection, [each.id]).values()
            found += [task for task in tasks if task.slot == 1 and task.item_id in items]
    return found


def _labeling(connection: Connection, parts: Parts) -> list[int]:
    return [
        each.id
        for each in round_store.find_rounds(
            connection, parts.settings.name, states=(RoundState.LABELING,)
        )
    ]


def accepting(parts: Parts) -> dict[str, Task]:
    """Tasks of all rounds that take labels now, by key: open ones, and closed ones a while."""
    with parts.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, parts.settings.name)
        if monitor_id is None:
            return {}
        rounds = round_store.unfinished_rounds(connection, monitor_id, parts.clock())
        return label_store.all_tasks(connection, [each.id for each in rounds])


def store_labels(parts: Parts, collected: Collected) -> int:
    """Store label events and how far the labeler was read, together; returns how many are new."""
    return store_together([(parts, collected)])


def store_together(several: Sequence[tuple[Parts, Collected]]) -> int:
    """Store what one file says about the tasks of several monitors, all of it or nothing."""
    added = 0
    ordered = sorted(several, key=lambda one: one[0].settings.name)  # so that no two can deadlock
    if not ordered:
        return 0
    with ordered[0][0].database.write() as connection:
        for parts, collected in ordered:
            now, labeler = parts.clock(), parts.labeler.name
            monitor_id = round_store.ensure_monitor(connection, parts.settings.name, now)
            added += label_store.add_events(connection, labeler, collected.events, now)
            if collected.cursor is not None:
                label_store.write_cursor(connection, monitor_id, labeler, collected.cursor)
    return added
