"""From an open round to its sample: one scan, a plan, and the items in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.label_parts import class_parts
from monitor.domain.model import Frame
from monitor.domain.ports import at_snapshot
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.presentation import windows
from monitor.presentation.moves import drawn_reason
from monitor.rounds.censuses import first_censuses
from monitor.rounds.context import MonitorContext, waits_until
from monitor.rounds.parts.registry import drawn_counts
from monitor.rounds.reporting.concerns import note
from monitor.rounds.reporting.enqueue import enqueue_abandoned
from monitor.rounds.sampling.plausibility import Concern, broken_pictures
from monitor.rounds.sampling.reference import References
from monitor.rounds.sampling.round_sample import plan_sample
from monitor.rounds.sampling.window_check import DrawTrial, WindowCheck, best_trial
from monitor.rounds.sampling.window_scan import WindowScan, base_key
from monitor.storage.labels import census_store
from monitor.storage.results import part_store
from monitor.storage.rounds import round_claims, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_transitions import note_first_scan
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def draw(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Scan the window with the settings that the round was opened with, plan, and write the sample.

    If the window is unusable or looks wrong with these, and is better with today's config, the
    round takes today's settings, with a concern: a wrong path or name can be corrected.

    After its grace period a round with an unusable window is abandoned. A window that looks
    incomplete is drawn as it is, with a concern.

    Raises `SourceRefused` with the fault if the round waits for its predictions.
    """
    now = context.clock()
    first_scan = round_.first_look_at or now
    can_wait = now < waits_until(round_, first_scan)
    # A scan may take minutes: a window that was refused just now is not read again at once.
    if can_wait and (last_fault := context.tries.still(round_, now)) is not None:
        raise SourceRefused(last_fault)
    trial = best_trial(context, round_)
    context, round_, seen = trial.context, trial.round, trial.seen
    if seen.why is not None and (can_wait or _stops_a_backfill(round_, seen)):
        with context.database.write() as connection:
            note_first_scan(connection, claim, first_scan)
        context.tries.note(round_, now, seen.why)
        raise SourceRefused(seen.why)
    if seen.usable is None:
        _abandon(context, round_, claim, seen, first_scan)
    else:
        concerns = (*seen.concerns, *seen.alias_concerns, *trial.concerns)
        _write_sample(trial, claim, seen.usable, concerns, first_scan)
    context.tries.forget(round_)


def _stops_a_backfill(round_: Round, seen: WindowCheck) -> bool:
    """Whether a backfill is refused at its first scan: its config may be wrong for all windows."""
    is_first = round_.settings.origin == "backfill" and round_.first_look_at is None
    return is_first and seen.scan is None


def _abandon(
    context: MonitorContext, round_: Round, claim: Claim, seen: WindowCheck, first_scan: datetime
) -> None:
    now = context.clock()
    frame = None if seen.scan is None else seen.scan.frame
    reason, rows = seen.fault or "", None if frame is None else frame.rows
    with context.database.write() as connection:
        frame_store.write_issues(connection, round_.id, {} if frame is None else _issues(frame))
        round_transitions.move(
            connection,
            claim,
            RoundState.OPEN,
            RoundState.ABANDONED,
            reason=reason,
            now=now,
            rows=rows,
            first_look_at=first_scan,
            closed_at=now,
        )
        enqueue_abandoned(connection, round_, seen.public_fault or reason, now)


def _write_sample(
    trial: DrawTrial,
    claim: Claim,
    scan: WindowScan,
    concerns: Sequence[Concern],
    first_scan: datetime,
) -> None:
    context, round_, frame = trial.context, trial.round, scan.frame
    settings = round_.settings
    frame, censuses = first_censuses(context, round_, frame)
    scan = replace(scan, frame=frame)
    sample = plan_sample(context, round_, scan)
    out = sample.items
    # Before the transaction: a source that takes minutes must not hold the store's write lock.
    with outside("show"):
        source = at_snapshot(context.source, frame.snapshot)
        shown = source.show([item.id for item in out], round_.window) if out else {}
    removed = sum(item.id not in shown for item in out)
    if removed > settings.bad_rows_max * len(out):  # the predictions have changed
        raise SourceUnavailable(windows.changed_sentence(removed, len(out)))
    notes = [*sample.notes, *broken_pictures(shown.values(), settings)]
    now = context.clock()
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        history_id = _history_of(connection, round_, scan, sample.reference, now)
        frame_store.write_strata(connection, round_.id, sample.tallies(frame))
        issues = _issues(frame) | dict.fromkeys(notes, (1, False))
        frame_store.write_issues(connection, round_.id, issues)
        frame_store.add_items(
            connection,
            round_.id,
            out,
            shown=shown,
            doubled=sample.doubled,
            parts=class_parts(settings.labeling),
            checkers=sample.checkers,
        )
        for part, census in censuses.items():
            census_store.write_census(connection, round_.id, part, census, now)
        drawn = {(round_.id, part_store.DRAWN): drawn_counts(frame)}
        part_store.write_counts(connection, drawn)
        frame_store.write_margins(connection, round_.id, sample.margins)
        round_transitions.move(
            connection,
            claim,
            RoundState.OPEN,
            RoundState.LABELING,
            reason=drawn_reason(len(out), frame.items, counted=sample.counted),
            now=now,
            history_id=history_id,
            rows=frame.rows,
            snapshot=frame.snapshot,
            registered=scan.registered,
            **_changed_settings(trial, settings),
            first_look_at=first_scan,
            deadline=_deadline(context, round_, now),
        )
        # Only the first of each kind is noted.
        for concern in (*concerns, *sample.concerns):
            note(connection, round_, concern.kind, concern.sentence, now)


def _changed_settings(trial: DrawTrial, settings: RoundSettings) -> dict[str, Any]:
    """Return the settings to store with the round if the draw changed them; else empty."""
    return {"settings": settings.model_dump(mode="json")} if trial.is_of_today else {}


def _history_of(
    connection: Connection,
    round_: Round,
    scan: WindowScan,
    reference: References | None,
    now: datetime,
) -> int:
    if scan.known is not None:
        return scan.known.id
    return frame_store.add_history(
        connection,
        round_.monitor_id,
        model_version=scan.version,
        threshold=round_.settings.threshold,
        key_parts=base_key(round_.settings),
        edges=scan.edges,
        reference=reference,
        now=now,
    )


def _deadline(context: MonitorContext, round_: Round, now: datetime) -> datetime:
    """Return the deadline of a round drawn now: for people from now on, for columns from the slot.

    A backfill waits for columns too: early labels are no random part of all.
    """
    settings = round_.settings
    if context.asks_people(settings):
        return now + settings.deadline
    return max(now, round_.slot + settings.deadline)


def _issues(frame: Frame) -> dict[str, tuple[int, bool]]:
    bad = {str(reason): (count, True) for reason, count in frame.bad_rows.items()}
    notes = {**frame.notes, **frame.omitted}
    return bad | {reason: (count, False) for reason, count in notes.items()}
