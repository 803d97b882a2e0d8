"""Closing and correcting: counts, estimates, evidence, alert moves and effects in one go.

A batch is computed from one state of the store and written only if the history is still in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState
from monitor.domain.state import RoundState
from monitor.presentation.alerts import early_text
from monitor.presentation.moves import corrected_reason
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.alerts import (
    after_moves,
    correct_evidence,
    find_disputes,
    fire_early,
    freeze_evidence,
)
from monitor.rounds.estimation.batch import set_versions, write_readings, write_versions
from monitor.rounds.estimation.batch_estimates import estimate_batch
from monitor.rounds.estimation.curves import inverted_order
from monitor.rounds.estimation.evidence import classifier_evidence, recovery_rows
from monitor.rounds.estimation.history import before_launch
from monitor.rounds.estimation.reading import evidence_tallies, read_batch
from monitor.rounds.estimation.supplements import Supplements, is_as_stored, read_supplements
from monitor.rounds.estimation.types import BatchEvidence, Estimates, HistoryBatch
from monitor.rounds.reporting.concerns import (
    INVERTED,
    note,
    note_correction,
    note_disputes,
    note_missing,
)
from monitor.rounds.reporting.enqueue import (
    enqueue,
    enqueue_abandoned,
    enqueue_early,
    enqueue_ended,
)
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import alert_store, concern_store, estimate_store
from monitor.storage.rounds import round_claims, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round

if TYPE_CHECKING:
    from sqlalchemy import Connection


def close(
    context: MonitorContext,
    round_: Round,
    claim: Claim,
    *,
    reason: str,
    labels: RoundLabels | None = None,
    concerns: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Close a round: its first version, frozen evidence, alert moves and effects.

    ``labels`` are its labels if they were read already. ``concerns`` are sentences by their kind.
    """
    batch = read_batch(context, round_, round_labels=labels)
    estimates = estimate_batch(context, batch)
    supplements = read_supplements(context.database, batch)
    disputes = find_disputes(batch.affected[0], batch.labels[round_.id])
    inverted = inverted_order(context.database, batch, estimates[round_.id].pictures)
    now = context.clock()
    due, *later = batch.affected
    end: dict[str, Any] = {
        "version": due.version,
        "estimated_revision": due.round.label_revision,
        "closed_at": now,
        # A clock that is behind does not shorten the time for late labels.
        "labels_until": max(now, round_.slot) + round_.settings.late_labels,
        "partial": due.tally.answers.too_few,
    }
    before, after = RoundState.LABELING, RoundState.CLOSED
    with context.database.write() as connection:
        round_transitions.move(connection, claim, before, after, reason=reason, now=now, **end)
        closed = replace(due.round, state=after, reason=None, **end)
        batch = batch.with_due(closed)
        write_versions(connection, batch, estimates, supplements)
        set_versions(connection, later)
        if disputes:  # none can stand from before the closing
            note_disputes(connection, closed, disputes, now)
        if due.tally.answers.too_few:
            note_missing(connection, closed, due.tally, now)
        alerts = alert_store.find_alerts(connection, monitor=closed.monitor)
        estimate = estimates[closed.id]
        readings, moves = freeze_evidence(connection, closed, estimate, alerts, now)
        alerts = after_moves(alerts, moves)
        # Stored before the rounds after it are corrected: an alert that it fires is read there.
        write_readings(connection, [due], {closed.id: readings})
        corrected, revised = correct_evidence(
            connection, later, estimates, alerts, now, restated=batch.unrestated
        )
        alerts = after_moves(alerts, revised)
        write_readings(connection, later, corrected)
        noted = dict(concerns) if inverted is None else {**concerns, INVERTED: inverted}
        for kind, sentence in noted.items():
            note(connection, closed, kind, sentence, now)
        evidence = BatchEvidence({closed.id: readings} | corrected, [*moves, *revised], alerts)
        publish(connection, batch, estimates, supplements, evidence, reason, now)


def correct(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Give a closed round, and those that pool it, a new version from labels that came late.

    Label events that leave all counts as they were make none.
    """
    batch = read_batch(context, round_)
    disputes = find_disputes(batch.affected[0], batch.labels[round_.id])
    if _changes_nothing(context, batch):
        with context.database.write() as connection:
            round_claims.hold(connection, claim)
            note_disputes(connection, round_, disputes, context.clock())
            due = batch.affected[0].round
            estimate_store.set_version(
                connection, due.id, due.version, estimated_revision=due.label_revision
            )
        return
    estimates = estimate_batch(context, batch)
    supplements = read_supplements(context.database, batch)
    now = context.clock()
    version = batch.affected[0].version
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        reason = corrected_reason(version)
        round_transitions.note_event(connection, round_, reason, now)
        note_disputes(connection, round_, disputes, now)
        note_missing(connection, round_, batch.affected[0].tally, now)
        if batch.labels[round_.id].unchecked < len(batch.labels[round_.id].checks):
            concern_store.drop_concern(connection, round_.id, concern_store.UNCHECKED)
        note_correction(connection, batch.affected[0], batch.stored, now)
        write_versions(connection, batch, estimates, supplements)
        set_versions(connection, batch.affected)
        alerts = alert_store.find_alerts(connection, monitor=round_.monitor)
        readings, moves = correct_evidence(
            connection, batch.affected, estimates, alerts, now, restated=batch.unrestated
        )
        write_readings(connection, batch.affected, readings)
        alerts = after_moves(alerts, moves)
        evidence = BatchEvidence(readings, moves, alerts)
        publish(connection, batch, estimates, supplements, evidence, reason, now)


def publish(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    supplements: Mapping[int, Supplements],
    evidence: BatchEvidence,
    reason: str,
    now: datetime,
) -> None:
    """Report stored versions, and how far open alerts are from their end.

    ``reason`` is why the due round has a new version.
    """
    recoveries = recovery_rows(connection, batch, estimates, evidence.alerts)
    evidence = replace(evidence, recoveries=recoveries)
    enqueue(connection, batch, estimates, evidence, supplements, reason, now)


def read_early(
    context: MonitorContext,
    round_: Round,
    claim: Claim,
    labels: RoundLabels,
    waiting: Collection[str],
) -> None:
    """Read the evidence of a round that takes labels: it fires what its closing will fire anyway.

    Answers that an adjudicator may still decide count as missing, as do those to items ``waiting``
    for a second person.
    """
    batch = read_batch(context, round_, round_labels=labels)
    sample = batch.labels[round_.id].without(batch.recurring[round_.id])
    due, blocks = batch.affected[0], evidence_tallies(round_, sample.settled(waiting))
    launch = before_launch(due.tally.frame, batch.history.reference)
    evidence = classifier_evidence(blocks, batch.before_restated(0), launch, round_.settings)
    now, revision = context.clock(), batch.labels[round_.id].label_revision
    with context.database.write() as connection:
        round_transitions.note_evidence(connection, claim, revision)
        if alerts := fire_early(connection, round_, evidence, now):
            answers = due.tally.answers
            progress = answers.labeled, answers.wanted
            round_transitions.note_event(connection, round_, early_text(*progress), now)
            enqueue_early(connection, round_, alerts, progress, now)


def abandon(context: MonitorContext, round_: Round, claim: Claim, reason: str) -> None:
    """End a round without an estimate and notify people why."""
    now = context.clock()
    with context.database.write() as connection:
        round_transitions.move(
            connection,
            claim,
            round_.state,
            RoundState.ABANDONED,
            reason=reason,
            now=now,
            closed_at=now,
        )
        for alert in alert_store.find_alerts(
            connection, monitor=round_.monitor, state=AlertState.FIRING
        ):  # of answers that were taken back since
            if alert.fired_round_id == round_.id:
                alert_store.end(connection, alert.id, AlertState.REVISED, why=reason, now=now)
                enqueue_ended(connection, alert, reason, now, by_hand=False)
        enqueue_abandoned(connection, round_, reason, now)


def _changes_nothing(context: MonitorContext, batch: HistoryBatch) -> bool:
    member = batch.affected[0]
    if member.tally != batch.stored or member.round.settings.delays is not None:
        return False
    with context.database.read() as connection:
        return is_as_stored(connection, member.round, batch.labels[member.round.id])
