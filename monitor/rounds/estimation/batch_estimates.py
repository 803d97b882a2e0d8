"""Estimates of the rounds that get a new version together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.report import ReportedEstimate
from monitor.domain.round import Round
from monitor.domain.settings import Pooling
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.estimate import estimate_round
from monitor.rounds.estimation.groups import group_notices
from monitor.rounds.estimation.history import (
    HistoryState,
    before_launch,
    cells_to_pool,
    history_states,
)
from monitor.rounds.estimation.label_errors import arrived_shares, provisional_notices
from monitor.rounds.estimation.tally import Completed, Counted
from monitor.rounds.estimation.types import Estimates, HistoryBatch, Member, RoundEstimate
from monitor.storage.results import estimate_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.stats.labels.audit import ClassAudits


def estimate_batch(context: MonitorContext, batch: HistoryBatch) -> Estimates:
    """Estimate each affected round; estimates from its own labels stay if no label changed."""
    estimates = estimated(batch, context.clock())
    with context.database.read() as connection:
        return _with_stored_own_rows(connection, batch, estimates)


def estimated(batch: HistoryBatch, now: datetime) -> Estimates:
    """Compute the estimates of each affected round."""
    histories = _recorded(batch, batch.counted)
    ways = [
        _recorded(batch, [Completed.of(each, positive=positive) for each in batch.counted])
        for positive in (False, True)
        if any(each.missing.any() for each in batch.counted)
    ]
    return {
        member.round.id: _estimate(
            batch,
            member,
            index,
            histories[pooling := member.round.settings.pooling][index],
            [way[pooling][index] for way in ways],
            arrived_shares(member.round.settings, now - member.round.window.end),
        )
        for index, member in enumerate(batch.affected)
    }


def _recorded(batch: HistoryBatch, counted: Sequence[Counted]) -> dict[Pooling, list[HistoryState]]:
    """Pool up to each affected round, for each pooling setting among them (mostly just one)."""
    poolings = {member.round.settings.pooling for member in batch.affected}
    due = batch.affected[0]
    cells = cells_to_pool(due.tally.frame, due.round.settings.sample)  # equal in a history
    reference = before_launch(due.tally.frame, batch.history.reference)
    return {
        pooling: history_states(counted, reference, pooling, cells=cells, since=len(batch.earlier))
        for pooling in poolings
    }


def _estimate(
    batch: HistoryBatch,
    member: Member,
    index: int,
    history: HistoryState,
    ways: Sequence[HistoryState],
    arrived: ClassAudits | None,
) -> RoundEstimate:
    earlier = batch.before(index)
    is_complete = not any(each.missing.any() for each in (*earlier, member.tally))
    settings, seed = member.round.settings, member.round.sobol_seed
    estimate = estimate_round(
        member.tally,
        earlier,
        history,
        evidence=batch.evidence[member.round.id],
        evidence_earlier=batch.before_restated(index),
        reference=batch.history.reference,
        settings=settings,
        seed=seed,
        completed=() if is_complete else ways,
        checked=batch.checked.get(member.round.id),
        arrived=arrived,
    )
    notices = [*provisional_notices(arrived), *group_notices(member.tally)]
    return replace(estimate, notices=notices)


def _with_stored_own_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates
) -> Estimates:
    """Keep the stored estimates from a round's own labels if no label of it changed.

    A newer release might compute other values by its method alone.
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
