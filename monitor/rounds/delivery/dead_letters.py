"""The notices that a sink has taken nothing for long, and that it does again.

The notice goes to the log and to the monitor's other hooks, at most once a day for each sink and
each of them, however many monitors and effects it holds up. A notice of this kind that cannot be
delivered goes to the log alone, so that two broken hooks do not write to each other.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import structlog

from monitor.domain.model import LOG, Effect
from monitor.presentation import delivery
from monitor.rounds.reporting.enqueue import add_notice, names_of
from monitor.rounds.reporting.notices import notice_of
from monitor.storage.outbox import effect_admin, effect_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.errors import DeliveryFailed
    from monitor.domain.notice import Notice
    from monitor.domain.ports import Clock
    from monitor.storage.database import Database
    from monitor.storage.outbox.effect_store import Turn
    from monitor.storage.rounds.round_store import Round

log = structlog.get_logger("monitor.effects")

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
