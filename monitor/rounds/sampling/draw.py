"""From an open round to its sample: one scan, a plan, and the items in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.crashpoint import outside
from monitor.domain.errors import SnapshotMissing, SourceRefused, SourceUnavailable
from monitor.domain.label_parts import rules_of
from monitor.domain.model import Frame
from monitor.domain.ports import as_counted
from monitor.domain.settings import RoundSettings
from monitor.domain.slots import slots_after
from monitor.domain.state import RoundState
from monitor.presentation import windows
from monitor.presentation.moves import drawn_reason
from monitor.presentation.reasons import plan_note
from monitor.presentation.segments import explored_sentence
from monitor.rounds.censuses import first_censuses
from monitor.rounds.context import MonitorContext, waits_until
from monitor.rounds.reporting.concerns import note
from monitor.rounds.reporting.enqueue import enqueue_abandoned
from monitor.rounds.sampling.aliases import find_versions
from monitor.rounds.sampling.baseline import check_baseline, doubts
from monitor.rounds.sampling.first_phase import judged_scan, resolved_settings, with_resolved_judge
from monitor.rounds.sampling.plan import (
    References,
    broken_pictures,
    doubled,
    plan_labels,
    rates_before,
    reference_of,
)
from monitor.rounds.sampling.plausibility import Concern, of_present_judge, refuse_unknown
from monitor.rounds.sampling.round_sample import choose_items, goes_out_at
from monitor.rounds.sampling.window_scan import WindowScan, base_key, scan_window, why_unusable
from monitor.stats.design.prior import PriorRates
from monitor.stats.detection.alternatives import check_testable
from monitor.stats.detection.half_space import LimitCannotBeTested
from monitor.storage.labels import census_store
from monitor.storage.results import challenger_store, segment_store
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim
from monitor.storage.rounds.round_store import Round
from monitor.storage.rounds.round_transitions import note_first_scan
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class WindowCheck:
    """What a look at a window found.

    ``fault`` is why it cannot be sampled, ``public_fault`` the same without a row's own text;
    a round waits for what ``concerns`` say, but not for ``alias_concerns``.
    """

    scan: WindowScan | None
    fault: str | None = None
    public_fault: str | None = None
    concerns: tuple[Concern, ...] = ()
    alias_concerns: tuple[Concern, ...] = ()

    @property
    def usable(self) -> WindowScan | None:
        """The scan, if the window can be sampled."""
        return self.scan if self.fault is None else None

    @property
    def why(self) -> str | None:
        """Why the round should rather wait; None if it can be drawn."""
        return self.fault or "; ".join(concern.sentence for concern in self.concerns) or None


def draw(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Scan the window, plan, and write the sample.

    After its grace a window that cannot be used abandons the round; one that looks incomplete is
    drawn as it is, with a concern.

    Raises `SourceRefused` if the round waits for its predictions, with what is wrong with them;
    `JudgeUnavailable` if it waits for the version of its judge.
    """
    round_, changed = of_present_judge(context, round_)
    settings, unresolved = with_resolved_judge(context, round_, claim)
    round_ = replace(round_, settings=settings)
    now = context.clock()
    first_scan = round_.first_look_at or now
    can_wait = now < waits_until(round_, first_scan)
    # A scan may take minutes: a window that was refused just now is not read again at once.
    if can_wait and (last_fault := context.tries.still(round_, now)) is not None:
        raise SourceRefused(last_fault)
    seen = _check_window(context, round_)
    if seen.why is not None and (can_wait or _stops_a_backfill(round_, seen)):
        with context.database.write() as connection:
            note_first_scan(connection, claim, first_scan)
        context.tries.note(round_, now, seen.why)
        raise SourceRefused(seen.why)
    if seen.usable is None:
        _abandon(context, round_, claim, seen, first_scan)
    else:
        scan, silent = judged_scan(context, round_, claim, seen.usable)
        concerns = (*seen.concerns, *seen.alias_concerns, *changed, *unresolved, *silent)
        _write_sample(context, round_, claim, scan, concerns, first_scan)
    context.tries.forget(round_)


def _check_window(context: MonitorContext, round_: Round) -> WindowCheck:
    why_not = find_versions(context, round_)
    try:
        scan = _checked(context, round_)
        refuse_unknown(scan.frame, round_.settings)
        fault = why_unusable(scan.frame, round_.settings)
        if fault is not None and not scan.frame.rows:
            fault = _why_empty(context, round_)
        concerns = doubts(context, round_, scan.frame) if fault is None else ()
    except SourceRefused as error:
        public = (
            None if error.is_public else windows.held_back_sentence(round_.monitor, round_.number)
        )
        return WindowCheck(None, str(error), public)
    # Not where the rows say which version made them.
    alias = scan.alias if scan.frame.model_version is None else None
    unknown = () if alias is None else tuple(alias.concerns(why_not))
    return WindowCheck(scan, fault, concerns=concerns, alias_concerns=unknown)


def _checked(context: MonitorContext, round_: Round) -> WindowScan:
    """Check what the round was drawn from before, if it was and that is still kept."""
    before = as_counted(context.source, round_.settings.snapshot)
    try:
        return scan_window(replace(context, source=before), round_)
    except SnapshotMissing:
        return scan_window(context, round_)


def _stops_a_backfill(round_: Round, seen: WindowCheck) -> bool:
    """Whether a backfill is refused at its first look: its config may be wrong for all windows."""
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
    context: MonitorContext,
    round_: Round,
    claim: Claim,
    scan: WindowScan,
    concerns: Sequence[Concern],
    first_scan: datetime,
) -> None:
    frame = scan.frame
    settings = round_.settings
    frame, censuses = first_censuses(context, round_, frame)
    scan = replace(scan, frame=frame)
    reference = reference_of(context, round_, scan)
    existing = rates_before(context, round_, scan, reference)
    plan = plan_labels(frame, existing, settings, round_.seed)
    untestable = _untestable(frame, existing, settings)
    invalid = check_baseline(context, frame, round_.slot, settings)
    notes = [plan_note(note) for note in plan.notes]
    sample = choose_items(context, round_, scan, plan, is_new=existing is None)
    settings, out = sample.settings, [*sample.items, *sample.explored]
    # Before the transaction: a source that takes minutes must not hold the store's write lock.
    with outside("show"):
        source = as_counted(context.source, frame.snapshot)
        shown = source.show([item.id for item in out], round_.window) if out else {}
    removed = sum(item.id not in shown for item in out)
    if removed > settings.bad_rows_max * len(out):  # the predictions are others by now
        raise SourceUnavailable(windows.changed_sentence(removed, len(out)))
    answers = [*notes, *untestable, *invalid.notes, *broken_pictures(shown.values(), settings)]
    answers += [] if settings.explored is None else [explored_sentence(settings.explored)]
    now = context.clock()
    with context.database.write() as connection:
        round_claims.hold(connection, claim)
        history_id = _history_of(connection, round_, scan, reference, now)
        frame_store.write_strata(connection, round_.id, sample.tallies(frame))
        issues = _issues(frame) | dict.fromkeys(answers, (1, False))
        frame_store.write_issues(connection, round_.id, issues)
        frame_store.add_items(
            connection,
            round_.id,
            out,
            shown=shown,
            doubled=doubled(sample.items, settings),
            rules=rules_of(settings.labeling),
            checkers=sample.checkers,
            explored={item.id for item in sample.explored},
        )
        for part, census in censuses.items():
            census_store.write_census(connection, round_.id, part, census, now)
        frame_store.write_reserve(connection, round_.id, sample.spare(frame))
        segment_store.write_sizes(connection, round_.id, frame)
        challenger_store.write_sizes(connection, round_.id, frame)
        # Those of a plan that is drawn; where the round has its old one, nobody knows them.
        margins = {} if sample.is_repeated else plan.margins
        frame_store.write_margins(connection, round_.id, margins)
        deadline = _deadline(context, round_, now)
        round_transitions.move(
            connection,
            claim,
            RoundState.OPEN,
            RoundState.LABELING,
            reason=drawn_reason(
                len(out),
                frame.size,
                later=0 if sample.first is None else sum(sample.sizes) - len(sample.items),
                counted=sample.counted,
            ),
            now=now,
            history_id=history_id,
            rows=frame.rows,
            snapshot=frame.snapshot,
            registered=scan.registered,
            **resolved_settings(settings),
            first_look_at=first_scan,
            deadline=deadline,
            second_wave_at=None
            if sample.first is None
            else goes_out_at(settings, now, deadline, asks_people=context.asks_people(settings)),
        )
        # Of one kind the first is noted: a window with few rows is the plainest lost traffic.
        for concern in (*concerns, *invalid.concerns):
            note(connection, round_, concern.kind, concern.sentence, now)


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
    """Deadline of a round drawn now: people get their whole time, columns have it since the slot.

    A backfill waits for columns too: what is there early is no random part of all.
    """
    settings = round_.settings
    if context.asks_people(settings):
        return now + settings.deadline
    return max(now, round_.slot + settings.deadline)


def _untestable(frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings) -> list[str]:
    size = np.array([part.size for part in frame.strata])
    is_flagged = np.array([part.stratum.flagged for part in frame.strata])
    rate = None if prior_rates is None else prior_rates.rate
    results = []
    for limit in settings.limits.watched():
        try:
            check_testable(limit, size, is_flagged, rate)
        except LimitCannotBeTested as error:
            results.append(str(error))
    return results


def _issues(frame: Frame) -> dict[str, tuple[int, bool]]:
    bad = {str(reason): (count, True) for reason, count in frame.bad_rows.items()}
    return bad | {reason: (count, False) for reason, count in frame.notes.items()}


def _why_empty(context: MonitorContext, round_: Round) -> str:
    """Describe where the predictions end, and how to run the newest window that has any."""
    window, span = round_.window, context.source.span()
    if span is None:
        return windows.never_any_sentence(window)
    newest = span[1]
    if newest >= window.end:
        return windows.gap_sentence(window, newest)
    schedule = round_.settings.schedule
    slot = next(slots_after(schedule, newest + schedule.lag))
    with context.database.read() as connection:
        is_run = round_store.round_at(connection, round_.monitor_id, slot) is not None
    return windows.ended_before_sentence(window, newest, None if is_run else (round_.monitor, slot))
