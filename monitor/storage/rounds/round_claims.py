"""The right to work on a round: taken, renewed, given back, and lost to another attempt."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select, update

from monitor.domain.errors import RoundMoved
from monitor.storage.claims import claim_of_ours, is_free, wait_for_turn
from monitor.storage.database import change, clock_ms
from monitor.storage.tables import monitors, rounds

# Ten times what most steps need, and renewed while a longer one runs (monitor.rounds.claims);
# a worker of this machine that died gives its claim up at once.
CLAIM_MS = 15 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a round; ``was_abandoned`` if the worker before ended in mid-step."""

    round_id: int
    attempt: int
    was_abandoned: bool = False


def is_held(claim: Claim) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` is still ours: a stale worker loses here."""
    return and_(rounds.c.id == claim.round_id, rounds.c.attempt == claim.attempt)


def claim_round(connection: Connection, round_id: int) -> Claim | None:
    """Take the round for this process; None while another works on it."""
    # Mostly nobody has it: then one statement does, and none is needed to read the claim before.
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
    """Let the claim run for its whole time again; false if it is no longer ours, or given back."""
    held = (is_held(claim), rounds.c.claimed_by.is_not(None))
    return change(connection, rounds, *held, claimed_until=clock_ms() + CLAIM_MS) == 1


def release_round(connection: Connection, claim: Claim) -> None:
    """Give the claim back, if it is still ours."""
    change(connection, rounds, is_held(claim), claimed_by=None, claimed_until=None)


def hold(connection: Connection, claim: Claim) -> None:
    """Make sure that the claim is still ours, and forget what kept the round from going on."""
    wait_for_monitor(connection, claim)
    # The write keeps the row locked until the commit: nobody takes the round over in between.
    until = clock_ms() + CLAIM_MS
    if not change(connection, rounds, is_held(claim), claimed_until=until, reason=None):
        message = f"round {claim.round_id} was taken over by another worker; nothing was written"
        raise RoundMoved(message)


def wait_for_monitor(connection: Connection, claim: Claim) -> None:
    """Wait for the turn to write to the monitor of a claimed round."""
    monitor_id = select(rounds.c.monitor_id).where(rounds.c.id == claim.round_id).scalar_subquery()
    wait_for_turn(connection, monitors.c.id == monitor_id)
