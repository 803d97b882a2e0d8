"""Delivering effects: claimed in order, tried again until done, one sink never holding another.

A failed effect is tried again after a minute, then after twice as long each time, up to an hour,
or up to a day where trying cannot help. When it has failed for a day, or for a reason that lasts,
it is `dead`: the log, the monitor's other hooks and `status` report it, at most once a day for each
sink and each of them, and it is still tried. A delivery that breaks by a fault of this program, or
that its sink refuses for what it holds, steps aside once it is dead: others do not wait for it.
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
"""Share of a wait that is left to chance, so that queues do not ask a sink all at once."""

DEAD_AFTER = timedelta(days=1)
DEAD_ATTEMPTS = 5  # An effect that has queued for days is not dead because its first try fails
DEAD_ATTEMPTS_IF_LASTING = 3  # A receiver that is being replaced may answer 404 for a minute


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
        """Add what a later pass did; why a sink takes no more is what that one met."""
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

    A sink that is down is asked once per call. Safe to run in several processes at a time: a
    write-back after the claim is lost is dropped. A handler that breaks holds up its own queue
    only.
    """
    call = _Call(database, handlers, clock, link)
    while turn := call.turn():
        for head in turn:
            if stopping():
                return call.result
            # Asked again, since an effect before it in this turn may have found its sink down.
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
        """Choose the heads of the queues that may go on; MLflow's only when no notice waits.

        One whose process did not come back is tried by itself, when all else is done.
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
        """Claim an effect and deliver it; None if it is still to be done."""
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
            # Without asking the handler, so that the effect does not end every process.
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
    """Let an effect be done again whose claim was lost: another worker may have come between.

    Not a notice: anyone who got it twice knows it by its id.
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
    """Wait about a minute after the first failure and twice as long after each further.

    Longer if the sink asks for it, but not for more than an hour: it may not hold alerts up.
    """
    longest = LONGEST_WAIT_IF_DEAD if error.lasting else LONGEST_WAIT
    backoff = min(FIRST_WAIT * (1 << min(attempts, 11)), longest)  # 2^11 minutes are over a day
    chance = hashlib.sha256(f"{effect.key}/{attempts}".encode()).digest()[0] / 256
    retry_after = min(error.retry_after or timedelta(0), LONGEST_WAIT)
    return max(backoff * (1 - JITTER * chance), retry_after)


ORPHANED = timedelta(hours=1)
"""Replicas get a new config one after the other; one of them may not know a new hook yet."""

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
    """Notify those who know of a dead sink that nothing is held up there any more."""
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
    """Mark as dead what waits for hooks that the config no longer has.

    sinks: All that the config has, even where this process delivers to only some.
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
    """Make a notice; each monitor has its own, so that no two of one id say different things."""
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
