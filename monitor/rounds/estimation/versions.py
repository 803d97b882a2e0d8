"""A version of each round of a batch as it is written: counts, estimates, evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.rounds.estimation.supplements import Supplements, write_supplements
from monitor.storage.results import estimate_store, evidence_store
from monitor.storage.results.past_counts import write_packed

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.alerting import LimitReading
    from monitor.domain.report import ReportedEstimate
    from monitor.rounds.estimation.batch import Estimates, HistoryBatch, Member, Side
    from monitor.storage.rounds.round_store import Round

_POOLED = "pooled"


def write_versions(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    supplements: Mapping[int, Supplements],
) -> None:
    """Store what versions count and estimate.

    Raises `RoundMoved` if somebody published into the history meanwhile.
    """
    # First of all writes: whoever computed from an older state of the history stops here.
    estimate_store.claim_history(connection, batch.history.id, batch.history.revision)
    members = {(member.round.id, member.version): member for member in batch.affected}
    of_version = {key: estimates[key[0]] for key in members}
    tallies = {key: member.tally.strata for key, member in members.items()}
    estimate_store.write_counts(connection, tallies)
    write_packed(connection, batch.past, tallies)
    estimate_store.write_estimates(
        connection, {key: estimate.rows for key, estimate in of_version.items()}
    )
    estimate_store.write_posteriors(
        connection, {key: estimate.pooled for key, estimate in of_version.items()}
    )
    for round_id, version in members:
        write_supplements(connection, round_id, version, supplements[round_id])


def set_versions(connection: Connection, members: Sequence[Member]) -> None:
    """Make these versions the latest of their rounds, with all labels that there are."""
    for member in members:
        estimate_store.set_version(
            connection,
            member.round.id,
            member.version,
            estimated_revision=member.round.label_revision,
            partial=member.tally.is_partial,
        )


def write_readings(
    connection: Connection,
    members: Sequence[Member],
    readings: Mapping[int, Mapping[Side, LimitReading]],
) -> None:
    """Store the evidence of versions, by the round's id."""
    rows = [
        (member.round.id, member.version, side, reading)
        for member in members
        for side, reading in readings[member.round.id].items()
    ]
    evidence_store.write_readings(connection, rows)


def with_stored_own_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates
) -> Estimates:
    """Keep the estimates that rest on a round's own labels where no label of it changed.

    Such a round gets a version only because an earlier one changed, which moves its pooled
    estimates. Computed again by a newer release, its own might differ by the method alone.
    """
    return {
        member.round.id: replace(
            estimates[member.round.id],
            rows=_stored(connection, member.round, estimates[member.round.id].rows),
        )
        for member in batch.affected
    }


def _stored(
    connection: Connection, round_: Round, rows: list[ReportedEstimate]
) -> list[ReportedEstimate]:
    if round_.is_changed:
        return rows
    stored = {
        (row.metric, row.estimand, row.basis): row.model_dump()
        for row in estimate_store.read_estimates(connection, round_.id, round_.version)
        if row.basis != _POOLED
    }
    return [
        row.model_copy(update=stored.get((row.metric, row.estimand, row.basis), {})) for row in rows
    ]
