"""Versions of a round: counts, estimates, evidence, alert moves and effects in one transaction.

A batch is computed from one snapshot of the store and written only if the history has not changed
since.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState, StoredAlert
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation.alerts import early_text
from monitor.presentation.moves import corrected_reason
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.alerts import (
    Readings,
    after_moves,
    correct_evidence,
    find_disputes,
    fire_early,
    freeze_evidence,
    read_stored_readings,
)
from monitor.rounds.estimation.batch_estimates import estimate_batch
from monitor.rounds.estimation.evidence import classifier_evidence, recovery_rows
from monitor.rounds.estimation.history import before_launch
from monitor.rounds.estimation.reading import evidence_tallies, read_batch
from monitor.rounds.estimation.types import BatchEvidence, Estimates, HistoryBatch, Member
from monitor.rounds.parts.corrections import CORRECTIONS, ROUNDS, unsettled_answers
from monitor.rounds.parts.curves import INVERTED, inverted_order
from monitor.rounds.parts.registry import (
    VersionParts,
    counts_at_closing,
    have_other_counts,
    version_parts,
)
from monitor.rounds.reporting.concerns import (
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
from monitor.storage.queries import VersionId
from monitor.storage.results import (
    alert_store,
    concern_store,
    estimate_store,
    evidence_store,
    part_store,
)
from monitor.storage.results.past_counts import write_packed
from monitor.storage.rounds import round_claims, round_transitions
from monitor.storage.rounds.round_claims import Claim

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Step:
    """A change that gives a new version to a round and to the later rounds that pool it.

    reason: Why the round has a new version.
    concerns: Sentences by kind, noted after alerts have moved.
    restated: Ids of rounds whose labels were changed by people who may know the results.
    """

    claim: Claim
    reason: str
    concerns: Mapping[str, str] = field(default_factory=dict)
    restated: Collection[int] = ()

    def begin(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:  # noqa: ARG002
        """Hold the claim and write what must precede the version; returns the updated batch."""
        round_claims.hold(connection, self.claim)
        return batch

    def counted_revision(self, member: Member) -> int | None:
        """Return the label revision that a version counts; None if late labels still count."""
        return member.round.label_revision

    def record(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:  # noqa: ARG002
        """Write the other rows of the step; returns the updated batch."""
        return batch

    def evidence(
        self,
        connection: Connection,
        batch: HistoryBatch,
        estimates: Estimates,  # noqa: ARG002  of steps that read evidence
        now: datetime,  # noqa: ARG002
    ) -> BatchEvidence:
        """Write the evidence of the versions and move alerts; by default both stay unchanged."""
        alerts = alert_store.find_alerts(connection, monitor=batch.affected[0].round.monitor)
        readings = read_stored_readings(connection, batch.affected)
        evidence_store.write_readings(connection, _by_version(batch.affected, readings))
        return BatchEvidence(readings, alerts=alerts)


def commit_version(
    context: MonitorContext,
    batch: HistoryBatch,
    estimates: Estimates,
    parts: Mapping[int, VersionParts],
    step: Step,
) -> None:
    """Write a step in one transaction: counts, estimates, evidence, alert moves and effects.

    Raises `RoundMoved` if another worker has changed the history meanwhile.
    """
    now = context.clock()
    with context.database.write() as connection:
        batch = step.begin(connection, batch, now)
        _write_versions(connection, batch, estimates, parts, step)
        batch = step.record(connection, batch, now)
        evidence = step.evidence(connection, batch, estimates, now)
        for kind, sentence in step.concerns.items():
            note(connection, batch.affected[0].round, kind, sentence, now)
        recoveries = recovery_rows(connection, batch, estimates, evidence.alerts)
        evidence = replace(evidence, recoveries=recoveries)
        enqueue(connection, batch, estimates, evidence, parts, step.reason, now)


def _write_versions(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    parts: Mapping[int, VersionParts],
    step: Step,
) -> None:
    """Store the counts and estimates of versions, and make them the latest of their rounds."""
    # A worker that computed from an older state of the history stops here.
    estimate_store.claim_history(connection, batch.history.id, batch.history.revision)
    members = {(member.round.id, member.version): member for member in batch.affected}
    tallies = {key: member.tally.strata for key, member in members.items()}
    estimate_store.write_counts(connection, tallies)
    write_packed(connection, batch.past, tallies)
    estimate_store.write_estimates(connection, {key: estimates[key[0]].rows for key in members})
    part_store.write_counts(connection, {key: parts[key[0]].counts for key in members})
    for (round_id, version), member in members.items():
        estimate_store.set_version(
            connection,
            round_id,
            version,
            estimated_revision=step.counted_revision(member),
            partial=member.tally.answers.too_few,
        )


def _corrected(
    connection: Connection,
    batch: HistoryBatch,
    members: Sequence[Member],
    estimates: Estimates,
    alerts: Sequence[StoredAlert],
    now: datetime,
) -> BatchEvidence:
    readings, moves = correct_evidence(
        connection, members, estimates, alerts, now, restated=batch.unrestated
    )
    evidence_store.write_readings(connection, _by_version(members, readings))
    return BatchEvidence(readings, moves, after_moves(alerts, moves))


def _by_version(
    members: Sequence[Member], readings: Mapping[int, Readings]
) -> dict[VersionId, Readings]:
    return {(each.round.id, each.version): readings[each.round.id] for each in members}


class _Closing(Step):
    def begin(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:
        """Move the round to closed, with its first version."""
        due = batch.affected[0]
        # A clock that is behind does not shorten the time for late labels.
        until = max(now, due.round.slot) + due.round.settings.late_labels
        end: dict[str, Any] = {"closed_at": now, "labels_until": until}
        before, after = RoundState.LABELING, RoundState.CLOSED
        reason = self.reason
        round_transitions.move(connection, self.claim, before, after, reason=reason, now=now, **end)
        return batch.with_due(replace(due.round, state=after, reason=None, **end))

    def record(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:
        """Note missing answers and disputes; a round has no such concern before it closes."""
        due = batch.affected[0]
        if disputes := find_disputes(due, batch.labels[due.round.id]):
            note_disputes(connection, due.round, disputes, now)
        if due.tally.answers.too_few:
            note_missing(connection, due.round, due.tally, now)
        return batch

    def evidence(
        self, connection: Connection, batch: HistoryBatch, estimates: Estimates, now: datetime
    ) -> BatchEvidence:
        """Freeze the round's evidence, which may fire alerts; correct evidence of later rounds."""
        due, *later = batch.affected
        alerts = alert_store.find_alerts(connection, monitor=due.round.monitor)
        own = estimates[due.round.id]
        readings, moves = freeze_evidence(connection, due.round, own, alerts, now)
        # Stored before later rounds are corrected: they read the alerts that it fires.
        evidence_store.write_readings(connection, {(due.round.id, due.version): readings})
        alerts = after_moves(alerts, moves)
        rest = _corrected(connection, batch, later, estimates, alerts, now)
        of_all = {due.round.id: readings, **rest.readings}
        return replace(rest, readings=of_all, moves=[*moves, *rest.moves])


class _Correction(Step):
    def begin(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:
        """Note what the new labels changed."""
        batch, due = super().begin(connection, batch, now), batch.affected[0]
        labels = batch.labels[due.round.id]
        round_transitions.note_event(connection, due.round, self.reason, now)
        note_disputes(connection, due.round, find_disputes(due, labels), now)
        note_missing(connection, due.round, due.tally, now)
        if labels.unchecked < len(labels.checks):
            concern_store.drop_concern(connection, due.round.id, concern_store.UNCHECKED)
        note_correction(connection, due, batch.stored, now)
        return batch

    def evidence(
        self, connection: Connection, batch: HistoryBatch, estimates: Estimates, now: datetime
    ) -> BatchEvidence:
        """Recompute the evidence of all affected rounds; it may revise an alert, but fires none."""
        alerts = alert_store.find_alerts(connection, monitor=batch.affected[0].round.monitor)
        return _corrected(connection, batch, batch.affected, estimates, alerts, now)


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

    ``labels`` are its labels if they were read already. ``concerns`` are sentences by kind.
    """
    batch = read_batch(context, round_, round_labels=labels)
    estimates = estimate_batch(context, batch)
    closing = counts_at_closing(context, round_, batch.labels[round_.id])
    parts = version_parts(context.database, batch, estimates, closing=closing)
    inverted = inverted_order(context.database, batch, parts[round_.id].rows["curves"])
    if inverted is not None:  # later versions do not note it
        concerns = {**concerns, INVERTED: inverted}
    commit_version(context, batch, estimates, parts, _Closing(claim, reason, concerns))


def correct(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Give a closed round, and the rounds that pool it, a new version with its late labels.

    Makes no version if no count has changed, unless the round allows for label delays.
    """
    batch = read_batch(context, round_)
    due = batch.affected[0]
    if not _changes_nothing(context, batch):
        step = _Correction(claim, corrected_reason(due.version))
        estimates = estimate_batch(context, batch)
        parts = version_parts(context.database, batch, estimates)
        commit_version(context, batch, estimates, parts, step)
        return
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        disputes = find_disputes(due, batch.labels[round_.id])
        note_disputes(connection, round_, disputes, context.clock())
        revision = due.round.label_revision
        estimate_store.set_version(
            connection, round_.id, due.round.version, estimated_revision=revision
        )


def read_early(
    context: MonitorContext,
    round_: Round,
    claim: Claim,
    labels: RoundLabels,
    waiting: Collection[str],
) -> None:
    """Read the evidence of an open round early, and fire the alerts that its closing would fire.

    Counts as missing: answers that an adjudicator may still decide, answers to items ``waiting``
    for a second person, and recent answers that people may still correct.
    """
    batch, now = read_batch(context, round_, round_labels=labels), context.clock()
    sample = batch.labels[round_.id].without(batch.recurring[round_.id]).settled(waiting)
    ids = [each.id for each in batch.past][1 - ROUNDS :]
    with context.database.read() as connection:
        past = part_store.read_past(connection, ids, CORRECTIONS)[CORRECTIONS]
    unsettled = unsettled_answers(sample, [each.counts for each in past.values()], now)
    due, blocks = batch.affected[0], evidence_tallies(round_, sample.unanswered(unsettled))
    launch = before_launch(due.tally.frame, batch.history.reference)
    evidence = classifier_evidence(blocks, batch.before_restated(0), launch, round_.settings)
    revision = batch.labels[round_.id].label_revision
    with context.database.write() as connection:
        due_at = min(unsettled.values(), default=None)
        round_transitions.note_evidence(connection, claim, revision, due_at)
        if alerts := fire_early(connection, round_, evidence, now):
            answers = due.tally.answers
            progress = answers.labeled, answers.wanted, len(unsettled)
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
        ):  # fired early, by answers that were withdrawn since
            if alert.fired_round_id == round_.id:
                alert_store.end(connection, alert.id, AlertState.REVISED, why=reason, now=now)
                enqueue_ended(connection, alert, reason, now, by_hand=False)
        enqueue_abandoned(connection, round_, reason, now)


def _changes_nothing(context: MonitorContext, batch: HistoryBatch) -> bool:
    member = batch.affected[0]
    if member.tally != batch.stored or member.round.settings.delays is not None:
        return False
    with context.database.read() as connection:
        return not have_other_counts(connection, member.round, batch.labels[member.round.id])
