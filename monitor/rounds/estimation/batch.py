"""Writing what is computed for the rounds that get a new version together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.alerting import LimitReading
from monitor.domain.report import ReportedEstimate
from monitor.rounds.estimation.supplements import Supplements, write_supplements
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.estimation.types import Estimates, HistoryBatch, Member, Side
from monitor.storage.results import estimate_store, evidence_store
from monitor.storage.results.past_counts import write_packed
from monitor.storage.results.restatement_store import RestatedVersion
from monitor.storage.rounds.round_store import Round

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    tallies = {key: member.tally.strata for key, member in members.items()}
    estimate_store.write_counts(connection, tallies)
    write_packed(connection, batch.past, tallies)
    estimate_store.write_estimates(connection, {key: estimates[key[0]].rows for key in members})
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
            partial=member.tally.answers.too_few,
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


def read_unrestated(
    connection: Connection, restated: Sequence[RestatedVersion]
) -> dict[int, Tally]:
    """Read how restated rounds were counted before the first time that they were."""
    first: dict[int, int] = {}
    for version in restated:
        if version.own:
            first.setdefault(version.round_id, version.before)
    result: dict[int, Tally] = {}
    for replaced in sorted(set(first.values())):
        ids = [round_id for round_id, first_version in first.items() if first_version == replaced]
        counted = estimate_store.read_counts(connection, ids, version=replaced)
        result |= {round_id: Tally(strata) for round_id, strata in counted.items()}
    return result


def with_stored_own_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates
) -> Estimates:
    """Keep the estimates that rest on a round's own labels where no label of it changed.

    Computed again by a newer release, they might differ by the method alone.
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
    if round_.is_changed or round_.settings.delays is not None:
        return rows
    stored = {
        (row.metric, row.estimand, row.basis): row.model_dump()
        for row in estimate_store.read_estimates(connection, round_.id, round_.version)
        if row.basis != "pooled"
    }
    return [
        row.model_copy(update=stored.get((row.metric, row.estimand, row.basis), {})) for row in rows
    ]
