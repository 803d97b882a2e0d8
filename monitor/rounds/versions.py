"""Closing and correcting: counts, estimates, evidence, alert moves and effects in one go.

A batch is computed from one state of the store and written only if the history is still in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from monitor.domain.alerting import AlertState
from monitor.domain.label_parts import checks_of
from monitor.domain.labels import corrected_evidence_label, evidence_label
from monitor.domain.settings import Pooling
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
from monitor.rounds.estimation.batch import (
    read_unrestated,
    set_versions,
    with_stored_own_rows,
    write_readings,
    write_versions,
)
from monitor.rounds.estimation.curves import inverted_order, with_pictures
from monitor.rounds.estimation.estimate import estimate_round
from monitor.rounds.estimation.evidence import classifier_evidence, recovery_rows
from monitor.rounds.estimation.history import (
    HistoryState,
    before_launch,
    cells_to_pool,
    history_states,
)
from monitor.rounds.estimation.judge import judge_notices
from monitor.rounds.estimation.label_errors import (
    arrived_shares,
    checked_labels,
    provisional_notices,
)
from monitor.rounds.estimation.supplements import Supplements, is_as_stored, read_supplements
from monitor.rounds.estimation.tally import Completed, Counted, Tally
from monitor.rounds.estimation.types import (
    BatchEvidence,
    Estimates,
    HistoryBatch,
    Member,
    RoundEstimate,
)
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
from monitor.stats.detection.blocks import BLOCKS
from monitor.storage.database import in_chunks
from monitor.storage.labels import check_store
from monitor.storage.labels.check_store import PastChecks
from monitor.storage.labels.round_labels import RoundLabels, read_all_labels, read_recurring
from monitor.storage.results import alert_store, concern_store, estimate_store
from monitor.storage.results.past_counts import PastRound, read_past
from monitor.storage.results.restatement_store import read_restated
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.stats.labels.audit import ClassAudits

    Labels = dict[int, RoundLabels]
    """Labels of rounds, by their id."""


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
    due, blocks = batch.affected[0], _evidence_tallies(round_, sample.settled(waiting))
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


def read_batch(
    context: MonitorContext,
    this_round: Round,
    *,
    round_labels: RoundLabels | None = None,
    revised: Callable[[list[Round], Labels], tuple[list[Round], Labels]] | None = None,
) -> HistoryBatch:
    """Read a round and all later ones of its history, as labeled, or as ``revised`` has them."""
    if this_round.history_id is None:
        message = f"round {this_round.id} was not drawn, so it has no history to publish into"
        raise AssertionError(message)
    with context.database.read() as connection:
        history, store_id = frame_store.read_history_here(connection, this_round.history_id)
        past = read_past(connection, history.id, before=this_round.slot)
        # Read again here: whoever published meanwhile gave the due round a later version too.
        rounds = round_store.rounds_from(connection, history.id, this_round)
        stored = estimate_store.read_counts(connection, [round_.id for round_ in rounds])
        changed_ids = [each.id for each in past if each.is_changed]
        changed = round_store.read_rounds(connection, changed_ids) if changed_ids else []
        labels = _read_labels(connection, [*changed, *rounds], rounds[0], round_labels)
        restated = read_restated(connection, monitor_id=this_round.monitor_id)
        unrestated = read_unrestated(connection, restated)
        recurring = read_recurring(connection, rounds)
        past_checks: dict[int, PastChecks] = {}
        if any(checks_of(round_.settings.labeling) for round_ in rounds):
            past_checks = in_chunks(connection, [each.id for each in past], check_store.read_past)
    if revised is not None:
        rounds, labels = revised(rounds, labels)
    return HistoryBatch(
        store_id=store_id,
        history=history,
        earlier=tuple(_earlier(each, labels) for each in past),
        affected=tuple(
            Member(
                round_,
                _labeled_tally(labels[round_.id])
                if round_.is_changed
                else Tally(stored[round_.id]),
                max(round_.version, round_.settings.shown_version) + 1,
            )
            for round_ in rounds
        ),
        evidence={
            round_.id: _evidence_tallies(round_, labels[round_.id].without(recurring[round_.id]))
            for round_ in rounds
        },
        labels=labels,
        recurring=recurring,
        past=tuple(past),
        stored=Tally(stored[this_round.id]) if this_round.id in stored else None,
        restated=restated,
        unrestated=unrestated,
        checked=checked_labels(
            rounds, labels, [past_checks[each.id] for each in past if each.id in past_checks]
        ),
    )


def _earlier(past: PastRound, labels: Mapping[int, RoundLabels]) -> PastRound:
    """Count an earlier round: as stored, or from its labels where they changed since."""
    if not past.is_changed:
        return past
    now = _labeled_tally(labels[past.id])
    return replace(past, counts=now.counts, missing=now.missing)


def _read_labels(
    connection: Connection, rounds: list[Round], due: Round, round_labels: RoundLabels | None
) -> dict[int, RoundLabels]:
    """Read the labels of some rounds, of the due one only if they changed since then."""
    if round_labels is None or round_labels.label_revision != due.label_revision:
        return read_all_labels(connection, rounds)
    others = [round_ for round_ in rounds if round_.id != due.id]
    return {due.id: round_labels} | read_all_labels(connection, others)


def _evidence_tallies(round_: Round, labels: RoundLabels) -> tuple[Tally, ...]:
    closed = round_.state is RoundState.CLOSED
    label_of = corrected_evidence_label if closed else evidence_label
    return tuple(Tally(tuple(block)) for block in labels.by_block(label_of, blocks=BLOCKS))


def _changes_nothing(context: MonitorContext, batch: HistoryBatch) -> bool:
    member = batch.affected[0]
    if member.tally != batch.stored or member.round.settings.delays is not None:
        return False
    with context.database.read() as connection:
        return is_as_stored(connection, member.round, batch.labels[member.round.id])


def _labeled_tally(labels: RoundLabels) -> Tally:
    return Tally(tuple(labels.counts()))


def estimate_batch(context: MonitorContext, batch: HistoryBatch) -> Estimates:
    """Estimate each affected round; its own numbers stay where no label changed."""
    estimates = _estimated(batch, context.clock())
    with context.database.read() as connection:
        estimates = with_stored_own_rows(connection, batch, estimates)
    return with_pictures(batch, estimates)  # takes seconds, so no transaction waits for it


def _estimated(batch: HistoryBatch, now: datetime) -> Estimates:
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
    """Pool up to each affected round, in each way that one of them asks for: mostly just one."""
    poolings = {member.round.settings.pooling for member in batch.affected}
    due = batch.affected[0]
    cells = cells_to_pool(due.tally.frame, due.round.settings.sample)  # alike in a history
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
    notices = [*provisional_notices(arrived), *judge_notices(member.tally, earlier)]
    return replace(estimate, notices=notices)
