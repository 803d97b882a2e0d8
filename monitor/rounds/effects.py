"""Delivering effects: claimed in order, tried again until done, one sink never holding another."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import DeliveryFailed
from monitor.rounds.tell import MLFLOW
from monitor.storage import effect_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from monitor.domain.model import Effect
    from monitor.domain.ports import Clock, EffectHandler
    from monitor.storage.database import Database

log = structlog.get_logger("monitor.effects")

FIRST_WAIT = timedelta(minutes=1)
LONGEST_WAIT = timedelta(hours=1)


@dataclass(slots=True)
class Delivered:
    """What one pass did: how many effects each sink took, and why a sink took no more."""

    done: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)

    def note(self, sink: str, error: DeliveryFailed | None) -> None:
        """Count one delivery."""
        if error is None:
            self.done[sink] = self.done.get(sink, 0) + 1
            return
        self.failed[sink] = str(error)
        if error.sink_down:
            self.down.add(sink)


def deliver(
    database: Database,
    handlers: Mapping[str, EffectHandler],
    clock: Clock,
    *,
    stopping: Callable[[], bool] = lambda: False,
    on_delivered: Callable[[Effect], None] = lambda _: None,
) -> Delivered:
    """Deliver all that is due, notices before MLflow, each queue in its order.

    A sink that is down is asked once per call. Safe to run in several processes at a time: an
    effect belongs to whoever claimed it, and a write-back after the claim is lost is dropped.
    A handler that breaks holds up its own queue only.
    """
    result = Delivered()
    passed: set[int] = set()
    while turn := _turn(database, handlers, clock, result, passed):
        for effect_id, sink in turn:
            if stopping():
                return result
            if sink in result.down:
                continue
            with database.write() as connection:
                effect = effect_store.claim_effect(connection, effect_id, clock())
            if effect is None:  # another process has it, or had it
                passed.add(effect_id)
                continue
            error = _deliver_one(database, handlers[sink], effect, clock)
            result.note(sink, error)
            if error is None:
                on_delivered(effect)
            else:
                passed.add(effect_id)
    return result


def _turn(
    database: Database,
    handlers: Mapping[str, EffectHandler],
    clock: Clock,
    result: Delivered,
    passed: set[int],
) -> list[tuple[int, str]]:
    """Heads of the queues that may go on; MLflow only when no notice waits."""
    with database.read() as connection:
        heads = effect_store.heads(connection, clock())
    ready = [
        (effect_id, sink)
        for effect_id, sink in heads
        if sink in handlers and sink not in result.down and effect_id not in passed
    ]
    return [head for head in ready if head[1] != MLFLOW] or ready


def _deliver_one(
    database: Database, handler: EffectHandler, effect: Effect, clock: Clock
) -> DeliveryFailed | None:
    try:
        receipt = handler.deliver(effect)
    except DeliveryFailed as error:
        log.warning("not delivered", sink=effect.sink, effect=effect.key, error=str(error))
        return _put_off(database, effect, error, clock)
    except Exception as error:
        log.exception("delivery broke", sink=effect.sink, effect=effect.key)
        return _put_off(database, effect, _broken(effect, error), clock)
    with database.write() as connection:
        effect_store.finish_effect(connection, effect, receipt, clock())
    return None


def _put_off(
    database: Database, effect: Effect, error: DeliveryFailed, clock: Clock
) -> DeliveryFailed:
    with database.write() as connection:
        tries = effect_store.tries(connection, effect.id)
        effect_store.put_off_effect(connection, effect, str(error), _next_try(clock(), tries))
    return error


def _broken(effect: Effect, error: Exception) -> DeliveryFailed:
    """Say that the handler has a bug; its text stays in the log, since it may hold secrets."""
    message = (
        f"{effect.sink} did not take {effect.kind}: its handler broke with "
        f"{type(error).__name__}; the log says where. It is tried again"
    )
    return DeliveryFailed(message, sink_down=False)


def _next_try(now: datetime, tries: int) -> datetime:
    """Wait a minute after the first failure, twice as long after each further, an hour at most."""
    doublings = min(tries, 10)
    return now + min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)
