"""Second copies of an item must be answered by a second person."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.model import Collected, Refusal
from monitor.presentation.labels import same_person_reason
from monitor.storage.labels import overlap_store

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext


def without_same_person(context: MonitorContext, collected: Collected) -> Collected:
    """Refuse answers to one copy of an item by someone who answered its other copy."""
    with context.database.read() as connection:
        repeated = overlap_store.same_person_twice(connection, collected.events)
    refused = [
        Refusal(f"task {event.task_key}", same_person_reason(event.annotator)) for event in repeated
    ]
    retained = tuple(event for event in collected.events if event not in repeated)
    return replace(collected, events=retained, refused=(*collected.refused, *refused))
