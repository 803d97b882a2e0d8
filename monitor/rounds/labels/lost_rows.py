"""Keep the labels of rounds whose items have lost all rows in the truth.

A truth that was emptied, or whose id column was renamed, would otherwise withdraw all labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from monitor.domain.label_parts import COLUMN
from monitor.domain.labels import current_answers
from monitor.domain.model import Answer, Collected, Refusal
from monitor.presentation.labels import lost_rows_sentence
from monitor.rounds.censuses import Recounts
from monitor.rounds.context import MonitorContext
from monitor.storage.labels import label_store
from monitor.storage.rounds import round_store


def without_lost_rows(
    context: MonitorContext, collected: Collected, recounts: Recounts
) -> Collected:
    """Remove the events of rounds that lost all rows, and note these rounds as stale."""
    if collected.unmatched is None:
        return collected
    events: defaultdict[int, dict[str, Answer | None]] = defaultdict(dict)
    with context.database.read() as connection:
        keys = [event.task_key for event in collected.events]
        location = label_store.task_locations(connection, keys)
        for event in collected.events:
            round_id, item = location[event.task_key]
            events[round_id][item] = event.answer
            if event.task_key not in collected.unmatched:
                recounts.matched.add(round_id)
        for round_id in events.keys() - recounts.matched:
            labels = {
                item: answers[COLUMN]
                for item, of in label_store.statements_of(connection, round_id).items()
                if COLUMN in (answers := current_answers(of))
            }
            if _changes(labels, events[round_id]):
                [round_] = round_store.read_rounds(connection, [round_id])
                sentence = lost_rows_sentence(len(labels))
                recounts.stale[round_id] = Refusal(round_.name, sentence)
    remaining = [
        each for each in collected.events if location[each.task_key][0] not in recounts.stale
    ]
    return replace(collected, events=tuple(remaining))


def _changes(labels: Mapping[str, Answer], events: Mapping[str, Answer | None]) -> bool:
    return any(events.get(item, label) != label for item, label in labels.items())
