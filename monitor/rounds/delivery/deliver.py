"""Delivering effects: claimed in order, tried again until done, one sink never holding another.

A failed effect is tried again after a minute, then after twice as long each time, up to an hour,
or up to a day where trying cannot help. Before somebody has to know it is `waiting`; when it has
failed for a day, or for a reason that lasts, it is `dead`: the other hooks and `status` report it
(`monitor.rounds.delivery.dead_letters`), and it is still tried, so that nothing has to be
repaired by hand.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import DeliveryFailed
from monitor.domain.model import EffectKind
from monitor.domain.ports import AlertKeeper
from monitor.domain.report import Notice
from monitor.domain.sinks import MLFLOW
from monitor.rounds.delivery.dead_letters import notify_dead, notify_recovered
from monitor.rounds.reporting.notices import notice_id
from monitor.storage import alert_store, effect_admin, effect_store
from monitor.storage.effect_store import LONGEST_WAIT, LONGEST_WAIT_IF_DEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.model import Effect
    from monitor.domain.ports import Clock, EffectHandler
    from monitor.storage.database import Database
    from monitor.storage.effect_store import Head, Turn

log = structlog.get_logger("monitor.effects")

FIRST_WAIT = timedelta(minutes=1)
JITTER = 0.25
"""Share of a wait that is left to chance, so that queues do not knock all at once."""

DEAD_AFTER = timedelta(days=1)
DEAD_TRIES = 5
"""An effect that waits for its turn for days is not dead because its first try fails."""

DEAD_TRIES_IF_LASTING = 3
"""A receiver that is being replaced may answer 404 for a minute."""

ENDED_SINCE = timedelta(days=1)
"""How long ended alerts are told again to sinks that keep them, should one have been missed."""


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

    def add(self, more: Delivered) -> None:
        """Add what a later pass did; why a sink takes no more is the later one's word."""
        for sink, count in more.done.items():
            self.done[sink] = self.done.get(sink, 0) + count
        self.failed |= more.failed
        self.down |= more.down


def deliver(
    database: Database,
    handlers: Mapping[str, EffectHandler],
    clock: Clock,
    *,
    link: Callable[[Notice], str | None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
    on_delivered: Callable[[Effect], None] = lambda _: None,
) -> Delivered:
    """Deliver all that is due, notices before MLflow, each queue in its order.

    A sink that is down is asked once per call. Safe to run in several processes at a time: an
    effect belongs to whoever claimed it, and a write-back after the claim is lost is dropped.
    A handler that breaks holds up its own queue only, and one that ends the process is tried
    again when all else is done. At the end, sinks that forget alerts are
    told again which are open.

    Parameters
    ----------
    link
        Finds where the round of a notice shows in MLflow; asked once for each notice.
    """
    result = Delivered()
    passed: set[int] = set()
    while turn := _turn(database, handlers, clock, result, passed):
        for head in turn:
            if stopping():
                return result
            if head.sink in result.down:
                continue
            with database.write() as connection:
                effect = effect_store.claim_effect(connection, head.id, clock())
            if effect is None:  # another process has it, or had it
                passed.add(head.id)
                continue
            if link is not None and effect.kind is EffectKind.NOTICE:
                effect = _with_link(database, effect, handlers, link)
            error = _deliver_one(database, handlers[head.sink], effect, clock)
            result.note(head.sink, error)
            if error is None:
                on_delivered(effect)
            else:
                passed.add(head.id)
    _keep_alerts(database, handlers, clock, result)
    return result


def _turn(
    database: Database,
    handlers: Mapping[str, EffectHandler],
    clock: Clock,
    result: Delivered,
    passed: set[int],
) -> list[Head]:
    """Heads of the queues that may go on; MLflow only when no notice waits.

    One whose process did not come back is tried by itself, when all else is done.
    """
    with database.read() as connection:
        heads = effect_store.heads(connection, clock())
    ready = [
        head
        for head in heads
        if head.sink in handlers and head.sink not in result.down and head.id not in passed
    ]
    fresh = [head for head in ready if not head.suspicion]
    if fresh:
        return [head for head in fresh if head.sink != MLFLOW] or fresh
    return sorted(ready, key=lambda head: (head.suspicion, head.sink == MLFLOW, head.id))[:1]


def _deliver_one(
    database: Database, handler: EffectHandler, effect: Effect, clock: Clock
) -> DeliveryFailed | None:
    if effect.is_deadly:
        return _put_off(database, effect, _crash_looping(effect), clock)
    try:
        with outside("deliver"):
            receipt = handler.deliver(effect)
    except DeliveryFailed as error:
        log.warning("not delivered", sink=effect.sink, effect=effect.key, error=str(error))
        return _put_off(database, effect, error, clock)
    except Exception as error:
        log.exception("delivery broke", sink=effect.sink, effect=effect.key)
        return _put_off(database, effect, _broken(effect, error), clock)
    with database.write() as connection:
        written = effect_store.finish_effect(connection, effect, receipt, clock())
        if written and effect.has_failed:
            notify_recovered(connection, effect.sink, clock())
        if not written:
            _settle(connection, effect, clock())
    return None


def _with_link(
    database: Database,
    effect: Effect,
    sinks: Iterable[str],
    link: Callable[[Notice], str | None],
) -> Effect:
    """Put the link into a notice before anybody gets it: what is sent twice is the same twice."""
    if effect.payload.get("link") is not None:
        return effect
    found = link(Notice.model_validate(dict(effect.payload))) or ""
    keys = [f"{effect.key.removesuffix(effect.sink)}{sink}" for sink in sinks]
    with database.write() as connection:
        return replace(effect, payload=effect_store.put_link(connection, effect, keys, found))


def _settle(connection: Connection, effect: Effect, now: datetime) -> None:
    """Mend what was written after the claim was lost; a notice that came twice has one id."""
    if effect.kind is EffectKind.NOTICE:
        return
    again = effect_admin.do_again(connection, effect, now)
    log.warning("claim lost while delivering", effect=effect.key, delivered_again=again)


def _put_off(
    database: Database, effect: Effect, error: DeliveryFailed, clock: Clock
) -> DeliveryFailed:
    now = clock()
    with database.write() as connection:
        turn = effect_store.read_turn(connection, effect.id)
        dead = turn.dead or _is_dead(turn, error, now)
        next_try = now + _wait(effect, max(turn.tries - 1, 0), error)
        written = effect_store.put_off_effect(
            connection,
            effect,
            str(error),
            next_try,
            status=effect_store.DEAD if dead else effect_store.WAITING,
        )
        if written and dead and not turn.dead:
            notify_dead(connection, effect, turn, str(error), now)
        if not written:
            _settle(connection, effect, now)
        if error.retry_after and error.sink_down:
            effect_admin.hold(connection, effect.sink, next_try)
    return error


def _broken(effect: Effect, error: Exception) -> DeliveryFailed:
    """Say that the handler has a bug; its text stays in the log, since it may hold secrets."""
    message = (
        f"{effect.sink} did not take {effect.kind}: its handler broke with "
        f"{type(error).__name__}; the log says where. It is tried again"
    )
    return DeliveryFailed(message, sink_down=False)


def _crash_looping(effect: Effect) -> DeliveryFailed:
    """Say that nobody comes back from this delivery, so that it does not end every process."""
    message = (
        f"{effect.sink} is not asked to take {effect.kind}: {effect_store.DEADLY_TRIES} times or "
        f"more, each time with nothing else to do, {effect_store.NO_WORD}. The system's log may "
        "say why (memory?); it is tried again, more and more rarely"
    )
    return DeliveryFailed(message, sink_down=False, lasting=True)


def _is_dead(turn: Turn, error: DeliveryFailed, now: datetime) -> bool:
    """Whether somebody has to know, now that one more try has failed."""
    if error.lasting:
        return turn.tries >= DEAD_TRIES_IF_LASTING
    is_old = now - turn.since >= DEAD_AFTER or turn.since > now  # by a clock that was ahead
    return turn.tries >= DEAD_TRIES and is_old


def _wait(effect: Effect, tries: int, error: DeliveryFailed) -> timedelta:
    """Wait about a minute after the first failure and twice as long after each further.

    Longer if the sink asks for it, but not for more than an hour: it may not hold alerts up.
    """
    longest = LONGEST_WAIT_IF_DEAD if error.lasting else LONGEST_WAIT
    whole = min(FIRST_WAIT * (1 << min(tries, 11)), longest)
    chance = hashlib.sha256(f"{effect.key}/{tries}".encode()).digest()[0] / 256
    asked = min(error.retry_after or timedelta(0), LONGEST_WAIT)
    return max(whole * (1 - JITTER * chance), asked)


def _keep_alerts(
    database: Database, handlers: Mapping[str, EffectHandler], clock: Clock, result: Delivered
) -> None:
    """Tell sinks that hold state, and may lose it, which alerts are open or have just ended.

    Only what they were told before by an effect of its own, which alone keeps the order.
    """
    keepers = {
        sink: handler
        for sink, handler in handlers.items()
        if isinstance(handler, AlertKeeper) and sink not in result.failed
    }
    if not keepers:
        return
    with database.read() as connection:
        ids = _alert_notices(connection, clock())
        known = {
            sink: effect_admin.with_keys(connection, [f"{each}/{sink}" for each in ids])
            for sink in keepers
        }
    for sink, handler in keepers.items():
        if known[sink] and (error := _keep(handler, sink, list(known[sink].values()))):
            result.failed[sink] = error


def _keep(handler: AlertKeeper, sink: str, notices: list[dict[str, Any]]) -> str | None:
    """Tell one sink how alerts stand; what went wrong comes back as a sentence."""
    try:
        with outside("keep"):
            handler.keep(notices)
    except DeliveryFailed as error:
        log.warning("alerts not kept up", sink=sink, error=str(error))
        return str(error)
    except Exception as error:
        log.exception("keeping alerts up broke", sink=sink)
        return f"{sink} was not told again of open alerts: {type(error).__name__}; see the log"
    return None


def _alert_notices(connection: Connection, now: datetime) -> list[str]:
    """Ids of the newest notice of each alert that is open or ended not long ago."""
    return [
        notice_id(f"alert.{alert.state}", alert.id)
        for alert in alert_store.current_alerts(connection, now - ENDED_SINCE)
    ]
