"""Claims of rounds, renewed by a thread while a step runs.

A claim expires so that another worker can continue the round of a worker that vanished. A scan may
take longer than a claim lasts, hence the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from monitor.domain.errors import MonitorError
from monitor.storage.database import Database
from monitor.storage.rounds import round_claims
from monitor.storage.rounds.round_claims import CLAIM_MS, Claim

log = structlog.get_logger("monitor.rounds")

EVERY = CLAIM_MS / 1000 / 5
"""Seconds between renewals; several may fail before the claim expires."""

_stopping = threading.Event()


def let_claims_run_out() -> None:
    """Stop renewing this process's claims: it is ending, and other workers continue its rounds."""
    _stopping.set()


@contextmanager
def renewed(database: Database, claim: Claim) -> Iterator[None]:
    """Renew a claim from a thread while the block runs."""
    ended = threading.Event()
    thread = threading.Thread(
        target=_beat, args=(database, claim, ended), name="heartbeat", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()


@contextmanager
def claimed(database: Database, round_id: int) -> Iterator[Claim | None]:
    """Claim a round while the block runs; yields None if another worker has it."""
    with database.write() as connection:
        claim = round_claims.claim_round(connection, round_id)
    if claim is None:
        yield None
        return
    try:
        with renewed(database, claim):
            yield claim
    finally:
        with database.write() as connection:
            round_claims.release_round(connection, claim)


def _beat(database: Database, claim: Claim, ended: threading.Event) -> None:
    while not ended.wait(EVERY) and not _stopping.is_set():
        try:
            with database.write() as connection:
                held = round_claims.renew_round(connection, claim)
        except MonitorError as error:  # the next beat may reach the store again
            log.warning("claim not renewed", round=claim.round_id, reason=str(error))
            continue
        if not held:  # another worker has it; the step finds that out when it writes
            return
