"""Answers of people to be written back to the source, and items whose answers it must forget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection, select

from monitor.domain.labels import Statement, current_answers
from monitor.domain.model import Answer, EffectKind, LabelKind
from monitor.storage.queries import named
from monitor.storage.tables import effects, label_events, monitors, rounds


def label_revisions(connection: Connection, monitor: str) -> Sequence[tuple[int, int, int]]:
    """Return the id, the monitor's id and the label revision of each round that has labels."""
    query = (
        select(rounds.c.id, rounds.c.monitor_id, rounds.c.label_revision)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(named(monitor), rounds.c.label_revision > 0)
        .order_by(rounds.c.slot)
    )
    return [(row.id, row.monitor_id, row.label_revision) for row in connection.execute(query)]


def answers_by(connection: Connection, round_id: int, labeler: str) -> dict[str, dict[str, Answer]]:
    """Return the current answers from a labeler, by item and annotator.

    An item whose answers were all withdrawn has an empty mapping.
    """
    c = label_events.c
    query = (
        select(c.item_id, c.at, c.annotator, c.kind, c.answer)
        .where(c.round_id == round_id, c.labeler == labeler)
        .order_by(c.id)
    )
    statements = defaultdict[str, list[Statement]](list)
    for row in connection.execute(query):
        answer = None if row.answer is None else Answer(row.answer)
        statement = Statement(row.at, row.annotator, LabelKind(row.kind), answer)
        statements[row.item_id].append(statement)
    return {item: current_answers(listed) for item, listed in statements.items()}


def forgotten_items(connection: Connection, round_id: int) -> set[str]:
    """Return the items of a round whose answers somebody asked to forget."""
    is_of_round = effects.c.round_id == round_id, effects.c.kind == EffectKind.ANSWERS
    payloads = connection.scalars(select(effects.c.payload).where(*is_of_round))
    return {payload["item"] for payload in payloads if "item" in payload}
