"""Write the answers of the labeling page back to the source, beside its predictions.

An effect writes the answers of its round that count at the time of delivery. So effects may be
repeated, and may arrive out of order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.errors import DeliveryFailed, MonitorError, TryLater
from monitor.domain.model import ANSWERS, Answer, Effect, EffectKind
from monitor.domain.ports import Source, TakesAnswers
from monitor.rounds.context import MonitorContext
from monitor.rounds.reporting.enqueue import names_of
from monitor.storage.labels import answer_store
from monitor.storage.outbox import effect_store
from monitor.storage.outbox.effect_store import NewEffect
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.round import Round
    from monitor.storage.database import Database

_PAGE = "page"  # The only labeler whose answers are written back; the others read labels
_BOOLEAN = {Answer.POSITIVE: True, Answer.NEGATIVE: False}


def enqueue_answers(context: MonitorContext) -> None:
    """Add an effect for each round whose labels the source lacks; safe to repeat."""
    if not _takes_answers(context.source):
        return
    with context.database.read() as connection:
        revisions = answer_store.label_revisions(connection, context.settings.name)
        keys = {f"{ANSWERS}/{id_}/{revision}": (id_, of) for id_, of, revision in revisions}
        missing = keys.keys() - effect_store.read_stored(connection, list(keys))
    if not missing:
        return
    new = [_effect(key, *keys[key], {}) for key in keys if key in missing]
    with context.database.write() as connection:
        effect_store.add_effects(connection, new, context.clock())


def enqueue_forgotten(
    connection: Connection, round_: Round, item_id: str, source: Source | None, now: datetime
) -> None:
    """Add an effect that deletes the answers to an item, even if writing back is off today."""
    if source is None or not isinstance(source, TakesAnswers):
        return
    digest = hashlib.sha256(item_id.encode()).hexdigest()[:32]
    key = f"{ANSWERS}/{round_.id}/forget/{digest}"
    new = _effect(key, round_.id, round_.monitor_id, {"item": item_id})
    effect_store.add_effects(connection, [new], now)


def _effect(key: str, round_id: int, monitor_id: int, payload: Mapping[str, str]) -> NewEffect:
    return NewEffect(
        key=key,
        monitor_id=monitor_id,
        round_id=round_id,
        kind=EffectKind.ANSWERS,
        sink=ANSWERS,
        payload={"round_id": round_id, **payload},
    )


def store_of_answers(context: MonitorContext) -> TakesAnswers | None:
    """Return the source if it takes the answers of the labeling page; None if not."""
    asks = any(one.labeler.name == _PAGE for one in context.today)
    source = context.source
    return source if asks and isinstance(source, TakesAnswers) and source.takes_answers else None


def _takes_answers(source: Source) -> bool:
    return isinstance(source, TakesAnswers) and source.takes_answers


class AnswersHandler:
    """An `EffectHandler` that writes a round's answers to the source of its monitor."""

    def __init__(self, database: Database, monitors: Mapping[str, MonitorContext]) -> None:
        self._database = database
        self._monitors = monitors

    def deliver(self, effect: Effect) -> str:
        """Write the current answers of a round to the source; returns their number as a text."""
        context = self._monitors.get(effect.monitor)
        if context is None:
            message = f"the config has no monitor {effect.monitor}, whose source takes the answers"
            raise DeliveryFailed(message, lasting=True, sink_down=False)
        with self._database.read() as connection:
            round_ = round_store.read_round(connection, effect.payload["round_id"])
            key = names_of(connection, round_)["round_key"]
            answers = answer_store.answers_by(connection, round_.id, _PAGE)
            forgotten = answer_store.forgotten_items(connection, round_.id)
        source = context.of_round(round_.settings).source
        values = {
            item: {
                name: _BOOLEAN[answer]
                for name, answer in by_annotator.items()
                if answer in _BOOLEAN
            }
            for item, by_annotator in answers.items()
            if _takes_answers(source)
        }
        values |= {item: {} for item in forgotten}
        if isinstance(source, TakesAnswers):
            _put(source, effect.monitor, key, values)
        return f"{sum(map(len, values.values()))} answers"


def _put(
    source: TakesAnswers, monitor: str, key: str, values: Mapping[str, Mapping[str, bool]]
) -> None:
    try:
        source.put_answers(monitor, key, values)
    except DeliveryFailed:
        raise
    except MonitorError as error:
        raise DeliveryFailed(str(error), lasting=not isinstance(error, TryLater)) from error
