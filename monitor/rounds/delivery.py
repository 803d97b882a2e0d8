"""Deliver effects in order and retry failed ones; one sink never holds up another.

A failed effect is retried after a minute, then after twice as long each time, up to an hour, or up
to a day if its error is lasting. After failing for a day, or with a lasting error, it is `dead`:
the log, the monitor's other hooks and `status` report it, at most once a day for each sink and
receiver, and it is still retried. If a bug of this program breaks the delivery, or the sink refuses
its content, it is set aside once it is dead: later effects do not wait for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import DeliveryBroke, DeliveryFailed
from monitor.domain.model import LOG, MLFLOW, Effect, EffectKind
from monitor.domain.notice import Notice
from monitor.domain.ports import Clock, EffectHandler
from monitor.domain.round import Round
from monitor.presentation import delivery
from monitor.rounds.reporting.enqueue import add_notice, names_of, notice_of
from monitor.storage.database import Database
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.outbox.effect_store import LONGEST_WAIT, LONGEST_WAIT_IF_DEAD, Head, Turn
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


log = structlog.get_logger("monitor.effects")

FIRST_WAIT = timedelta(minutes=1)
JITTER = 0.25
"""Random share of a wait, so that queues do not all call a sink at the same time."""

DEAD_AFTER = timedelta(days=1)
DEAD_ATTEMPTS = 5  # An effect that has queued for days is not dead because its first try fails
DEAD_ATTEMPTS_IF_LASTING = 3  # A receiver that is being replaced may answer 404 for a minute


@dataclass(slots=True)
class Delivered:
    """Result of one pass, by sink: effects delivered, the last error, and sinks that are down."""

    done: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)

    def note(self, sink: str, error: DeliveryFailed | None) -> None:
        """Count one delivery, or keep its error."""
        if error is None:
            self.done[sink] = self.done.get(sink, 0) + 1
            return
        self.failed[sink] = str(error)
        if error.sink_down:
            self.down.add(sink)

    def add(self, more: Delivered) -> None:
        """Add the result of a later pass, whose errors replace earlier ones."""
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
    """Deliver all due effects: notices before MLflow, each queue in order.

    A sink that is down is tried once per call. Several processes may deliver at a time: a result is
    dropped if its claim was lost. A handler with a bug holds up its own queue only.
    """
    call = _Call(database, handlers, clock, link)
    while turn := call.turn():
        for head in turn:
            if stopping():
                return call.result
            # Checked again: an earlier effect of this turn may have found the sink down.
            if call.may_try(head) and (effect := call.deliver(head)) is not None:
                on_delivered(effect)
    return call.result


@dataclass(frozen=True, slots=True)
class _Call:
    database: Database
    handlers: Mapping[str, EffectHandler]
    clock: Clock
    link: Callable[[Notice], str | None] | None
    result: Delivered = field(default_factory=Delivered)
    set_aside: set[int] = field(default_factory=set)
    """Effects that failed in this call, or that another process has."""

    def turn(self) -> list[Head]:
        """Choose the queue heads to deliver next; MLflow's only if no notice is waiting.

        An effect whose delivery ended its process is tried last, and alone.
        """
        ready = self._ready()
        fresh = [head for head in ready if not head.suspicion]
        notices = [head for head in fresh if head.sink != MLFLOW]
        # By how often their delivery ended its process, notices before MLflow.
        by_harm = sorted(ready, key=lambda head: (head.suspicion, head.sink == MLFLOW, head.id))
        return notices or fresh or by_harm[:1]

    def _ready(self) -> list[Head]:
        with self.database.read() as connection:
            heads = effect_store.heads(connection, self.clock())
        return [head for head in heads if self.may_try(head)]

    def may_try(self, head: Head) -> bool:
        """Whether an effect may be delivered in this call."""
        is_up = head.sink in self.handlers and head.sink not in self.result.down
        return is_up and head.id not in self.set_aside

    def deliver(self, head: Head) -> Effect | None:
        """Claim an effect and deliver it; returns None if it was not delivered."""
        with self.database.write() as connection:
            effect = effect_store.claim_effect(
                connection, head.id, self.clock(), interrupted=delivery.INTERRUPTED
            )
        if effect is None:  # another process has it, or had it
            self.set_aside.add(head.id)
            return None
        effect = self._with_link(effect)
        error = self._deliver(effect)
        self.result.note(head.sink, error)
        if error is not None:
            self.set_aside.add(head.id)
            return None
        return effect

    def _with_link(self, effect: Effect) -> Effect:
        """Add the link to a notice before any sink gets it, so that all get the same one."""
        if self.link is None or effect.kind is not EffectKind.NOTICE:
            return effect
        if effect.payload.get("link") is not None:
            return effect
        result = self.link(Notice.model_validate(dict(effect.payload))) or ""
        keys = [f"{effect.key.removesuffix(effect.sink)}{sink}" for sink in self.handlers]
        with self.database.write() as connection:
            payload = effect_store.put_link(connection, effect, keys, result)
        return replace(effect, payload=payload)

    def _deliver(self, effect: Effect) -> DeliveryFailed | None:
        if effect.is_deadly:
            # The handler is not called: the effect would end one process after another.
            attempts = effect_store.DEADLY_ATTEMPTS
            reason = delivery.crash_looping_reason(effect.sink, effect.kind, attempts=attempts)
            return self._postpone(effect, DeliveryBroke(reason))
        try:
            with outside("deliver"):
                receipt = self.handlers[effect.sink].deliver(effect)
        except DeliveryFailed as error:
            log.warning("not delivered", sink=effect.sink, effect=effect.key, error=str(error))
            return self._postpone(effect, error)
        except Exception as error:
            log.exception("delivery broke", sink=effect.sink, effect=effect.key)
            reason = delivery.broken_handler_reason(effect.sink, effect.kind, error)
            return self._postpone(effect, DeliveryBroke(reason))
        with self.database.write() as connection:
            written = effect_store.finish_effect(connection, effect, receipt, self.clock())
            if written and effect.has_failed:
                log.info("delivered again", sink=effect.sink, effect=effect.key)
                notify_recovered(connection, effect.sink, self.clock())
            if not written:
                _settle(connection, effect, self.clock())
        return None

    def _postpone(self, effect: Effect, error: DeliveryFailed) -> DeliveryFailed:
        now = self.clock()
        with self.database.write() as connection:
            turn = effect_store.read_turn(connection, effect.id)
            dead = turn.dead or _is_dead(turn, error, now)
            steps_aside = dead and error.concerns_one and not turn.aside
            next_try = now + _wait(effect, max(turn.tries - 1, 0), error)
            written = effect_store.put_off_effect(
                connection,
                effect,
                str(error),
                next_try,
                status=effect_store.DEAD if dead else effect_store.WAITING,
                aside_at=now if steps_aside else None,
            )
            if not written:
                _settle(connection, effect, now)
            elif dead and not turn.dead:
                notify_dead(connection, effect, turn, error, now)
            if error.retry_after and error.sink_down:
                effect_admin.hold(connection, effect.sink, next_try)
        return error


def _settle(connection: Connection, effect: Effect, now: datetime) -> None:
    """Deliver an effect again if its claim was lost: another worker may have delivered meanwhile.

    Skips notices: receivers recognize a duplicate by its id.
    """
    if effect.kind is EffectKind.NOTICE:
        return
    repeated = effect_admin.retry_effect(connection, effect, now)
    log.warning("claim lost while delivering", effect=effect.key, delivered_again=repeated)


def _is_dead(turn: Turn, error: DeliveryFailed, now: datetime) -> bool:
    if error.lasting:
        return turn.tries >= DEAD_ATTEMPTS_IF_LASTING
    is_old = now - turn.since >= DEAD_AFTER or turn.since > now  # by a clock that was ahead
    return turn.tries >= DEAD_ATTEMPTS and is_old


def _wait(effect: Effect, attempts: int, error: DeliveryFailed) -> timedelta:
    """Return the wait: about a minute after the first failure, doubled after each further one.

    Longer if the sink asks for it, but then at most an hour, so that it cannot hold up alerts.
    """
    longest = LONGEST_WAIT_IF_DEAD if error.lasting else LONGEST_WAIT
    backoff = min(FIRST_WAIT * (1 << min(attempts, 11)), longest)  # 2^11 minutes are over a day
    chance = hashlib.sha256(f"{effect.key}/{attempts}".encode()).digest()[0] / 256
    retry_after = min(error.retry_after or timedelta(0), LONGEST_WAIT)
    return max(backoff * (1 - JITTER * chance), retry_after)


ORPHANED = timedelta(hours=1)
"""Grace period for unknown hooks: replicas do not all get a new config at the same time."""

_DEAD, _RECOVERED = "delivery.dead", "delivery.recovered"


def notify_dead(
    connection: Connection, effect: Effect, turn: Turn, error: DeliveryFailed, now: datetime
) -> None:
    """Notify the other sinks that an effect is dead, unless it is itself such a notice."""
    log.error("dead effect", sink=effect.sink, effect=effect.key, reason=str(error))
    if str(effect.payload.get("event", "")).startswith("delivery."):
        return
    round_ = round_store.read_round(connection, turn.round_id)
    sentence = (
        delivery.aside_sentence(round_.monitor, round_.number, effect.sink, turn.tries, str(error))
        if error.concerns_one
        else delivery.dead_sentence(effect.monitor, effect.sink, turn.since, turn.tries, str(error))
    )
    _notify(connection, round_, effect.sink, sentence, now)


def notify_recovered(connection: Connection, sink: str, now: datetime) -> None:
    """Notify the receivers of a dead-effect notice once the sink has no dead effect."""
    if effect_admin.has_dead(connection, sink):
        return
    for round_id, target in effect_admin.notified_since(
        connection, f"{_DEAD}/{sink}/", f"{_RECOVERED}/{sink}/"
    ):
        round_ = round_store.read_round(connection, round_id)
        notice = _notice(
            connection, round_, _RECOVERED, sink, delivery.recovered_sentence(sink), now
        )
        key = f"{_RECOVERED}/{sink}/{now.timestamp()}/{target}"
        add_notice(connection, round_, notice, target, now, key=key)


def retire_orphans(database: Database, sinks: Collection[str], clock: Clock) -> None:
    """Mark effects as dead if the config no longer has their hook.

    sinks: All sinks of the config, even if this process delivers to only some.
    """
    now = clock()
    before = now - ORPHANED
    with database.read() as connection:
        orphans = effect_admin.orphans(connection, sinks, before)
    for sink, first in orphans.items():
        with database.write() as connection:
            _retire(connection, sink, first, before, now)


def _retire(connection: Connection, sink: str, first: int, before: datetime, now: datetime) -> None:
    why = delivery.no_hook_reason(sink)
    turn = effect_store.read_turn(connection, first)
    count = effect_admin.set_dead(connection, sink, why, before, now)
    if not count:  # another process was faster
        return
    log.error("dead effects", sink=sink, effects=count, reason=why)
    round_ = round_store.read_round(connection, turn.round_id)
    sentence = delivery.orphaned_sentence(round_.monitor, sink, count)
    _notify(connection, round_, sink, sentence, now, delivery.orphaned_to_do(sink))


def _notify(
    connection: Connection,
    round_: Round,
    sink: str,
    sentence: str,
    now: datetime,
    to_do: str | None = None,
) -> None:
    day = f"{now:%Y-%m-%d}"
    notice = _notice(connection, round_, _DEAD, sink, sentence, now)
    notice = notice.model_copy(update={"to_do": to_do or delivery.dead_to_do(sink)})
    for target in (LOG, *round_.settings.hooks):
        if target != sink:
            key = f"{_DEAD}/{sink}/{day}/{target}"
            add_notice(connection, round_, notice, target, now, key=key)


def _notice(
    connection: Connection, round_: Round, event: str, sink: str, sentence: str, now: datetime
) -> Notice:
    """Make a notice; its id contains the round, so no two notices of one id differ in text."""
    names = names_of(connection, round_)
    return notice_of(
        event,
        f"{names['store_id']}/{sink}/{round_.id}/{now.isoformat()}",
        round_,
        sentence=sentence,
        at=now,
        sink=sink,
        **names,
    )
