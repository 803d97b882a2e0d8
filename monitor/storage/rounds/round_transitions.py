"""Opening and moving rounds: once per slot, by one worker, with an event that says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select, update

from monitor.domain.block import seed_of
from monitor.domain.errors import RoundMoved
from monitor.domain.state import RoundState, check_move
from monitor.storage.database import insert_all, insert_all_new
from monitor.storage.rounds.round_claims import Claim, hold, wait_for_monitor
from monitor.storage.schema import store_id
from monitor.storage.tables import round_events, rounds

if TYPE_CHECKING:
    from monitor.domain.model import Window
    from monitor.domain.settings import Limits, RoundSettings
    from monitor.storage.rounds.round_store import Round


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
    """Insert the rounds of consecutive slots; a slot that has one already keeps it.

    Returns the ids of those that are new.
    """
    store = store_id(connection)
    shared = {
        "monitor_id": monitor_id,
        "state": state,
        "reason": reason if state is RoundState.SKIPPED else None,
        "settings": settings.model_dump(mode="json"),
        "opened_at": now,
    }
    rows = [
        {
            "number": number,
            "slot": slot,
            "window_start": window.start,
            "window_end": window.end,
            "seed": seed_of(store, monitor_id, slot, settings.block),
            **shared,
        }
        for number, (slot, window) in enumerate(zip(slots, windows, strict=True), first_number)
    ]
    added = insert_all_new(connection, rounds, rows)
    event = {"at": now, "before": None, "after": state, "reason": reason}
    insert_all(connection, round_events, [{"round_id": each, **event} for each in added])
    return added


def reopen_skipped(
    connection: Connection, round_id: int, *, settings: RoundSettings, now: datetime, reason: str
) -> bool:
    """Open a recorded skip; false if another worker did."""
    check_move(RoundState.SKIPPED, RoundState.OPEN)
    moved = connection.execute(
        update(rounds)
        .where(rounds.c.id == round_id, rounds.c.state == RoundState.SKIPPED)
        .values(
            state=RoundState.OPEN,
            reason=None,
            settings=settings.model_dump(mode="json"),
            opened_at=now,
        )
    )
    if moved.rowcount == 1:
        note_move(connection, round_id, RoundState.SKIPPED, RoundState.OPEN, reason, now)
    return moved.rowcount == 1


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
    """Move the claimed round and record why; of several racing workers exactly one succeeds.

    Raises `RoundMoved` if the round is not in ``before``, or the claim is no longer ours.
    """
    check_move(before, after)
    # The monitor before the round, as all writers do: two of them cannot wait for each other.
    wait_for_monitor(connection, claim)
    shown = reason if after in {RoundState.ABANDONED, RoundState.SKIPPED} else None
    moved = connection.execute(
        update(rounds)
        .where(
            rounds.c.id == claim.round_id,
            rounds.c.state == before,
            rounds.c.attempt == claim.attempt,  # a stale worker loses here
        )
        .values(state=after, reason=shown, **values)
    )
    if moved.rowcount == 0:
        message = f"round {claim.round_id} was moved by another worker; nothing was written"
        raise RoundMoved(message)
    note_move(connection, claim.round_id, before, after, reason, now)


def read_events(connection: Connection, round_id: int) -> list[dict[str, Any]]:
    """Read every move of a round and why, oldest first."""
    columns = [round_events.c[name] for name in ("at", "before", "after", "reason")]
    query = select(*columns).where(round_events.c.round_id == round_id).order_by(round_events.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


def last_reasons(connection: Connection, round_ids: Sequence[int]) -> dict[int, str]:
    """Read why each of some rounds made its last move; what else was noted of it is not for all."""
    query = (
        select(round_events.c.round_id, round_events.c.reason)
        .where(
            round_events.c.round_id.in_(round_ids),
            round_events.c.before.is_distinct_from(round_events.c.after),
        )
        .order_by(round_events.c.id)
    )
    return {row.round_id: str(row.reason) for row in connection.execute(query)}


def set_limits(
    connection: Connection, claim: Claim, round_: Round, limits: Limits, reason: str, now: datetime
) -> None:
    """Replace the limits that watch a claimed round."""
    hold(connection, claim)
    settings = round_.settings.model_copy(update={"limits": limits})
    connection.execute(
        update(rounds)
        .where(rounds.c.id == round_.id)
        .values(settings=settings.model_dump(mode="json"))
    )
    note_event(connection, round_, reason, now)


def note_evidence(connection: Connection, claim: Claim, revision: int) -> None:
    """Record up to which label revision the evidence of a claimed open round was read."""
    hold(connection, claim)
    connection.execute(
        update(rounds).where(rounds.c.id == claim.round_id).values(evidence_revision=revision)
    )


def note_event(connection: Connection, round_: Round, reason: str, now: datetime) -> None:
    """Record something about a round that does not move it."""
    note_move(connection, round_.id, round_.state, round_.state, reason, now)


def note_obstacle(connection: Connection, claim: Claim, obstacle: str, now: datetime) -> None:
    """Record why a claimed round cannot go on now.

    A reason that stands already is not written again, so that a round that is tried at every pass
    does not get an event each time.
    """
    noted = connection.execute(
        update(rounds)
        .where(
            rounds.c.id == claim.round_id,
            rounds.c.attempt == claim.attempt,
            rounds.c.state.not_in((RoundState.SKIPPED, RoundState.ABANDONED)),
            rounds.c.reason.is_distinct_from(obstacle),
        )
        .values(reason=obstacle)
        .returning(rounds.c.state)
    ).scalar()
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
    """Record a move, or what happened in a state."""
    event = {"round_id": round_id, "at": now, "before": before, "after": after, "reason": reason}
    insert_all(connection, round_events, [event])


def note_first_scan(connection: Connection, claim: Claim, at: datetime) -> None:
    """Record when the predictions of a claimed round were looked at, unless they were before."""
    connection.execute(
        update(rounds)
        .where(
            rounds.c.id == claim.round_id,
            rounds.c.attempt == claim.attempt,
            rounds.c.first_look_at.is_(None),
        )
        .values(first_look_at=at)
    )
