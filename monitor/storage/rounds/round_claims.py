"""Claims on rounds: taken, renewed, released, and lost to a later attempt."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select, update

from monitor.domain.errors import RoundMoved
from monitor.storage.claims import claim_of_ours, is_free, wait_for_turn
from monitor.storage.database import change, clock_ms
from monitor.storage.tables import monitors, rounds

# Ten times the duration of most steps, and renewed during longer ones (monitor.rounds.claims); the
# claim of a dead worker on this machine is free at once.
CLAIM_MS = 15 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a round; ``was_abandoned`` if the previous worker ended within a step."""

    round_id: int
    attempt: int
    was_abandoned: bool = False


def is_held(claim: Claim) -> ColumnElement[bool]:
    """Whether the claim on a row of ``rounds`` is still valid; a stale worker loses here."""
    return and_(rounds.c.id == claim.round_id, rounds.c.attempt == claim.attempt)


def claim_round(connection: Connection, round_id: int) -> Claim | None:
    """Claim a round for this process; None if another process has it."""
    # Most rounds are unclaimed: then one statement suffices, and no claim has to be read.
    this, ours = rounds.c.id == round_id, claim_of_ours(rounds, CLAIM_MS)
    unclaimed = update(rounds).where(this, rounds.c.claimed_by.is_(None)).values(ours)
    returned = connection.scalar(unclaimed.returning(rounds.c.attempt))
    if returned is not None:
        return Claim(round_id, returned)
    query = select(rounds.c.claimed_by, rounds.c.attempt).where(this)
    claimed_by, attempt = connection.execute(query).one()
    free = is_free(rounds, claimed_by, attempt, CLAIM_MS)
    taken = change(connection, rounds, this, free, **ours)
    return Claim(round_id, attempt + 1, claimed_by is not None) if taken else None


def renew_round(connection: Connection, claim: Claim) -> bool:
    """Renew a claim for its full duration; False if it is lost or released."""
    held = (is_held(claim), rounds.c.claimed_by.is_not(None))
    return change(connection, rounds, *held, claimed_until=clock_ms() + CLAIM_MS) == 1


def release_round(connection: Connection, claim: Claim) -> None:
    """Release a claim, if it is still valid."""
    change(connection, rounds, is_held(claim), claimed_by=None, claimed_until=None)


def hold(connection: Connection, claim: Claim) -> None:
    """Lock a claimed round and clear its obstacle; raises `RoundMoved` if the claim is lost."""
    wait_for_monitor(connection, claim)
    # This write locks the row until the commit, so that nobody takes over the round meanwhile.
    until = clock_ms() + CLAIM_MS
    if not change(connection, rounds, is_held(claim), claimed_until=until, reason=None):
        message = f"round {claim.round_id} was taken over by another worker; nothing was written"
        raise RoundMoved(message)


def wait_for_monitor(connection: Connection, claim: Claim) -> None:
    """Lock the monitor of a claimed round for writing."""
    monitor_id = select(rounds.c.monitor_id).where(rounds.c.id == claim.round_id).scalar_subquery()
    wait_for_turn(connection, monitors.c.id == monitor_id)
