"""Opens and moves rounds: once per slot, by one worker, with an event for the reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from monitor.domain.block import seed_of
from monitor.domain.errors import RoundMoved
from monitor.domain.model import Window
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState, check_move
from monitor.storage.database import change, insert_all, insert_all_new, remove
from monitor.storage.rounds.round_claims import Claim, hold, is_held, wait_for_monitor
from monitor.storage.schema import store_id
from monitor.storage.tables import concerns, round_events, round_issues, rounds


def add_rounds(
    connection: Connection,
    *,
    monitor_id: int,
    first_number: int,
    slots: Sequence[datetime],
    windows: Sequence[Window],
    state: RoundState,
    settings: RoundSettings,
    reason: str,
    now: datetime,
) -> list[int]:
    """Insert rounds for consecutive slots without rounds; returns their ids."""
    store = store_id(connection)
    shared = {
        "monitor_id": monitor_id,
        "state": state,
        "reason": reason if state is RoundState.SKIPPED else None,
        "settings": settings.model_dump(mode="json"),
        "opened_at": now,
    }
    rows = [
        shared
        | {"number": number, "slot": slot, "window_start": window.start, "window_end": window.end}
        | {"seed": seed_of(store, monitor_id, slot, settings.block)}
        for number, (slot, window) in enumerate(zip(slots, windows, strict=True), first_number)
    ]
    added = insert_all_new(connection, rounds, rows)
    event = {"at": now, "before": None, "after": state, "reason": reason}
    insert_all(connection, round_events, [{"round_id": each, **event} for each in added])
    return added


def reopen(
    connection: Connection, round_: Round, *, settings: RoundSettings, now: datetime, reason: str
) -> None:
    """Open a recorded skip, or a round that was abandoned before it was drawn.

    The next version of an abandoned round is above the version that reported it as abandoned.
    """
    check_move(round_.state, RoundState.OPEN)
    change(
        connection,
        rounds,
        rounds.c.id == round_.id,
        state=RoundState.OPEN,
        settings=settings.model_dump(mode="json"),
        opened_at=now,
        **dict.fromkeys(("reason", "first_look_at", "rows", "closed_at")),
    )
    if round_.state is RoundState.ABANDONED:
        start_above(connection, round_.id, round_.first_version)
        for table in (concerns, round_issues):
            remove(connection, table, table.c.round_id == round_.id)
    note_move(connection, round_.id, round_.state, RoundState.OPEN, reason, now)


def move(
    connection: Connection,
    claim: Claim,
    before: RoundState,
    after: RoundState,
    *,
    reason: str,
    now: datetime,
    **values: Any,
) -> None:
    """Move a claimed round; raises `RoundMoved` if it was moved, or if the claim is lost."""
    check_move(before, after)
    # Lock the monitor before the round, as all writers do, so that they cannot deadlock.
    wait_for_monitor(connection, claim)
    shown = reason if after in {RoundState.ABANDONED, RoundState.SKIPPED} else None
    is_before = rounds.c.state == before
    values |= {"state": after, "reason": shown}
    if not change(connection, rounds, is_held(claim), is_before, **values):
        message = f"round {claim.round_id} was moved by another worker; nothing was written"
        raise RoundMoved(message)
    note_move(connection, claim.round_id, before, after, reason, now)


def start_above(connection: Connection, round_id: int, version: int) -> bool:
    """Set a round's first version above a version; False if it is estimated, or already above."""
    is_early = rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING))
    which = (rounds.c.id == round_id, is_early, rounds.c.version < version)
    # The version stays below the first one, as in every round without an estimate.
    return change(connection, rounds, *which, first_version=version + 1, version=version) == 1


def read_events(connection: Connection, round_id: int) -> list[dict[str, Any]]:
    """Read all events of a round with their reasons, oldest first."""
    columns = [round_events.c[name] for name in ("at", "before", "after", "reason")]
    query = select(*columns).where(round_events.c.round_id == round_id).order_by(round_events.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


def last_reasons(connection: Connection, round_ids: Sequence[int]) -> dict[int, str]:
    """Read the reason of each round's last move, without events that did not move it."""
    c = round_events.c
    is_move = c.before.is_distinct_from(c.after)
    query = select(c.round_id, c.reason).where(c.round_id.in_(round_ids), is_move).order_by(c.id)
    return {round_id: str(reason) for round_id, reason in connection.execute(query)}


def note_reason(connection: Connection, round_: Round, reason: str, now: datetime) -> None:
    """Replace the reason why a round ended."""
    change(connection, rounds, rounds.c.id == round_.id, reason=reason)
    note_event(connection, round_, reason, now)


def replace_settings(connection: Connection, round_id: int, settings: RoundSettings) -> None:
    """Replace the settings of a round in any state."""
    frozen = settings.model_dump(mode="json")
    change(connection, rounds, rounds.c.id == round_id, settings=frozen)


def note_evidence(
    connection: Connection, claim: Claim, revision: int, due_at: datetime | None
) -> None:
    """Record the label revision up to which evidence of a claimed open round was computed.

    ``due_at`` is when the next of these labels counts; None if all count.
    """
    hold(connection, claim)
    values = {"evidence_revision": revision, "evidence_due_at": due_at}
    change(connection, rounds, rounds.c.id == claim.round_id, **values)


def note_event(connection: Connection, round_: Round, reason: str, now: datetime) -> None:
    """Record an event of a round that does not move it."""
    note_move(connection, round_.id, round_.state, round_.state, reason, now)


def note_obstacle(connection: Connection, claim: Claim, obstacle: str, now: datetime) -> None:
    """Record why a claimed round cannot continue; repeats of the same reason are ignored."""
    goes_on = rounds.c.state.not_in((RoundState.SKIPPED, RoundState.ABANDONED))
    other = update(rounds).where(
        is_held(claim), goes_on, rounds.c.reason.is_distinct_from(obstacle)
    )
    noted = connection.scalar(other.values(reason=obstacle).returning(rounds.c.state))
    if noted is not None:
        state = RoundState(noted)
        note_move(connection, claim.round_id, state, state, obstacle, now)


def note_move(
    connection: Connection,
    round_id: int,
    before: RoundState | None,
    after: RoundState,
    reason: str,
    now: datetime,
) -> None:
    """Record a move, or an event without one."""
    event = {"round_id": round_id, "at": now, "before": before, "after": after, "reason": reason}
    insert_all(connection, round_events, [event])


def note_first_scan(connection: Connection, claim: Claim, at: datetime) -> None:
    """Record the time of the first scan of a claimed round's predictions."""
    change(connection, rounds, is_held(claim), rounds.c.first_look_at.is_(None), first_look_at=at)
