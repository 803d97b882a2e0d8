"""A round's own numbers stay as they were shown while its labels stay the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.storage.results import estimate_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.report import ReportedEstimate
    from monitor.rounds.estimation.batch import Estimates, HistoryBatch
    from monitor.storage.rounds.round_store import Round

POOLED = "pooled"


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
    if round_.label_revision != round_.estimated_revision:
        return rows
    stored = {
        (row.metric, row.estimand, row.basis): row.model_dump()
        for row in estimate_store.read_estimates(connection, round_.id, round_.version)
        if row.basis != POOLED
    }
    return [
        row.model_copy(update=stored.get((row.metric, row.estimand, row.basis), {})) for row in rows
    ]
