"""Closing and correcting: counts, estimates, evidence, alert moves and effects in one go.

A batch is computed from one state of the store and written only if the history is still in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.labels import corrected_evidence_label, current_label, evidence_label
from monitor.domain.state import RoundState
from monitor.rounds.estimation.alerts import correct_evidence, freeze_evidence
from monitor.rounds.estimation.anomalies import round_news
from monitor.rounds.estimation.batch import Batch, Evidence, Member
from monitor.rounds.estimation.curves import with_pictures
from monitor.rounds.estimation.disputes import look_for_disputes
from monitor.rounds.estimation.estimate import estimate_round
from monitor.rounds.estimation.history import known_around
from monitor.rounds.estimation.score_order import inverted_order
from monitor.rounds.estimation.supplements import is_as_stored, look_beside, write_beside
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.reporting.concerns import INVERTED, note, note_disputes
from monitor.rounds.reporting.enqueue import tell, tell_abandoned
from monitor.storage import estimate_store, frame_store, label_store, round_claims, round_store
from monitor.storage.estimate_store import StratumTally
from monitor.storage.schema import store_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.domain.alerting import Reading
    from monitor.domain.settings import Pooling
    from monitor.rounds.context import Parts
    from monitor.rounds.estimation.batch import Estimates, Side
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.rounds.estimation.history import Known
    from monitor.rounds.estimation.supplements import Beside
    from monitor.storage.label_store import LabelOf
    from monitor.storage.round_claims import Claim
    from monitor.storage.round_store import Round


def close(parts: Parts, found: Round, claim: Claim, *, partial: bool, reason: str) -> None:
    """Close a round: its first version, frozen evidence, alert moves and effects."""
    batch = _read_batch(parts, found)
    estimates = with_pictures(parts.database, batch, _estimated(batch))
    beside = look_beside(parts.database, batch)
    disputes = look_for_disputes(parts.database, batch.affected[0])
    inverted = inverted_order(parts.database, batch, estimates[found.id].pictures)
    now = parts.clock()
    with parts.database.write() as connection:
        round_store.move(
            connection,
            claim,
            RoundState.LABELING,
            RoundState.CLOSED,
            reason=reason,
            now=now,
            closed_at=now,
            # A clock that is behind does not shorten the time for late labels.
            labels_until=max(now, found.slot) + found.settings.late_labels,
            partial=partial,
        )
        _write_versions(connection, batch, estimates, beside)
        due, *later = batch.affected
        note_disputes(connection, due.round, disputes, now)
        readings, moves = freeze_evidence(connection, due.round, estimates[due.round.id], now)
        # Stored before the rounds after it are corrected: an alert that it fires is read there.
        _write_readings(connection, due, readings)
        corrected, revised = correct_evidence(connection, later, estimates, now)
        for member in later:
            _write_readings(connection, member, corrected[member.round.id])
        evidence = Evidence({due.round.id: readings} | corrected, (*moves, *revised))
        if inverted is not None:
            note(connection, due.round, INVERTED, inverted, now)
        tell(connection, batch, estimates, evidence, now)


def correct(
    parts: Parts, found: Round, claim: Claim, *, above: Mapping[int, int] | None = None
) -> None:
    """Give a closed round, and those that pool it, a new version from labels that came late.

    Label events that leave all counts as they were (a second annotator agrees) make none, unless
    ``above`` says, by round id, which versions MLflow shows that the store has forgotten.
    """
    batch = _read_batch(parts, found, above or {})
    disputes = look_for_disputes(parts.database, batch.affected[0])
    if not above and _says_the_same(parts, batch.affected[0]):
        with parts.database.write() as connection:
            round_claims.hold(connection, claim)
            note_disputes(connection, found, disputes, parts.clock())
            due = batch.affected[0].round
            estimate_store.set_version(
                connection, due.id, due.version, estimated_revision=due.label_revision
            )
        return
    estimates = with_pictures(parts.database, batch, _estimated(batch))
    beside = look_beside(parts.database, batch)
    now = parts.clock()
    version = batch.affected[0].version
    with parts.database.write() as connection:
        round_claims.hold(connection, claim)
        why = "MLflow showed a later version" if above else "labels changed"
        round_store.note_event(connection, found, f"{why}: version {version}", now)
        note_disputes(connection, found, disputes, now)
        _write_versions(connection, batch, estimates, beside)
        readings, moves = correct_evidence(connection, batch.affected, estimates, now)
        for member in batch.affected:
            _write_readings(connection, member, readings[member.round.id])
        tell(connection, batch, estimates, Evidence(readings, tuple(moves)), now)


def abandon(parts: Parts, found: Round, claim: Claim, reason: str) -> None:
    """End a round without an estimate and tell people why."""
    now = parts.clock()
    with parts.database.write() as connection:
        round_store.move(
            connection,
            claim,
            found.state,
            RoundState.ABANDONED,
            reason=reason,
            now=now,
            closed_at=now,
        )
        tell_abandoned(connection, found, reason, now)


def _read_batch(parts: Parts, found: Round, above: Mapping[int, int] | None = None) -> Batch:
    if found.history_id is None:
        message = f"round {found.id} was not drawn, so it has no history to publish into"
        raise AssertionError(message)
    with parts.database.read() as connection:
        history = frame_store.read_history(connection, found.history_id)
        closed = round_store.closed_rounds(connection, history.id)
        # Read again here: whoever published meanwhile gave the due round a later version too.
        due_round = round_store.read_round(connection, found.id)
        rounds = sorted({each.id: each for each in (*closed, due_round)}.values(), key=_slot)
        due = next(i for i, each in enumerate(rounds) if each.id == found.id)
        return Batch(
            store_id=store_id(connection),
            history=history,
            members=tuple(
                Member(each, tally, max(each.version, (above or {}).get(each.id, 0)) + 1)
                for each, tally in zip(rounds, _tallies(connection, rounds), strict=True)
            ),
            due=due,
            evidence={each.id: _evidence_tally(connection, each) for each in rounds[due:]},
        )


def _evidence_tally(connection: Connection, found: Round) -> Tally:
    closed = found.state is RoundState.CLOSED
    label_of = corrected_evidence_label if closed else evidence_label
    return _labeled_tally(connection, found.id, label_of)


def _says_the_same(parts: Parts, member: Member) -> bool:
    with parts.database.read() as connection:
        stored = estimate_store.read_counts(connection, [member.round.id])
        unchanged = Tally(stored[member.round.id]) == member.tally
        return unchanged and is_as_stored(connection, member.round)


def _slot(found: Round) -> datetime:
    return found.slot


def _tallies(connection: Connection, rounds: list[Round]) -> list[Tally]:
    """Count each round: as stored where its labels did not change, else counted anew."""
    stored = estimate_store.read_counts(connection, [each.id for each in rounds])
    return [
        _labeled_tally(connection, each.id)
        if each.label_revision != each.estimated_revision
        else Tally(stored[each.id])
        for each in rounds
    ]


def _labeled_tally(
    connection: Connection, round_id: int, label_of: LabelOf = current_label
) -> Tally:
    return Tally(
        tuple(
            StratumTally(
                stratum=part.stratum.name,
                flagged=part.stratum.flagged,
                size=part.size,
                planned=part.planned,
                labeled=mine.labeled,
                positive=mine.positive,
                declined=mine.declined,
            )
            for part, mine in zip(
                frame_store.read_strata(connection, round_id),
                label_store.label_counts(connection, round_id, label_of),
                strict=True,
            )
        )
    )


def _estimated(batch: Batch) -> Estimates:
    tallies = [member.tally for member in batch.members]
    known = _known(batch, tallies)
    return {
        member.round.id: _estimate(
            batch, member, tallies[:place], known[member.round.settings.pooling][place]
        )
        for place, member in enumerate(batch.affected, start=batch.due)
    }


def _known(batch: Batch, tallies: Sequence[Tally]) -> dict[Pooling, list[Known]]:
    """Pooling the history once for each way that the affected rounds ask for: mostly just one."""
    asked = {member.round.settings.pooling for member in batch.affected}
    return {each: known_around(tallies, batch.history.reference, each) for each in asked}


def _estimate(batch: Batch, member: Member, earlier: list[Tally], known: Known) -> RoundEstimate:
    settings, seed = member.round.settings, member.round.sobol_seed
    estimate = estimate_round(
        member.tally,
        earlier,
        known,
        evidence=batch.evidence[member.round.id],
        reference=batch.history.reference,
        settings=settings,
        seed=seed,
    )
    news = round_news(member.tally, earlier, known, hazard=settings.pooling.hazard, seed=seed)
    return replace(estimate, notices=news.notices, distances=news.distances)


def _write_versions(
    connection: Connection, batch: Batch, estimates: Estimates, beside: Mapping[int, Beside]
) -> None:
    estimate_store.claim_history(connection, batch.history.id, batch.history.revision)
    for member in batch.affected:
        found, version = member.round, member.version
        estimate = estimates[found.id]
        estimate_store.write_counts(connection, found.id, version, member.tally.strata)
        estimate_store.write_estimates(connection, found.id, version, estimate.rows)
        estimate_store.write_posterior(connection, found.id, version, estimate.pooled)
        write_beside(connection, found.id, version, beside[found.id])
        estimate_store.set_version(
            connection, found.id, version, estimated_revision=found.label_revision
        )


def _write_readings(
    connection: Connection, member: Member, readings: Mapping[Side, Reading]
) -> None:
    for (metric, side), reading in readings.items():
        estimate_store.write_reading(
            connection, member.round.id, member.version, metric, side, reading
        )
