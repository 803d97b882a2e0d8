"""Close a round whose labels are complete or overdue, or let it wait for labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from monitor.domain.errors import LabelsRefused, RoundMoved
from monitor.domain.label_delays import DelayCurve, LabelDelays
from monitor.domain.label_parts import (
    checks_of,
    class_parts,
    column_classes,
    maturity_of,
    parts_of,
)
from monitor.domain.labels import evidence_label
from monitor.domain.model import Answer
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.domain.time_limit import T
from monitor.presentation import labels as label_texts
from monitor.presentation.moves import LIMITS_OF_TODAY, closed_reason, unlabeled_reason
from monitor.presentation.numbers import minute_text
from monitor.rounds import versions
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.tally import classes_without_label
from monitor.rounds.labels import truth_reach
from monitor.rounds.labels.late_labels import OLDEST, PastLabels, past_labels
from monitor.rounds.labels.older_labels import older_labels_concern
from monitor.rounds.labels.truth_reach import ClassReach, TruthReader
from monitor.rounds.provisional import follow_labels, showed_estimate
from monitor.storage.labels import overlap_store
from monitor.storage.labels.overlap_store import Copies
from monitor.storage.labels.round_labels import RoundLabels, read_labels
from monitor.storage.results.concern_store import UNCHECKED, UNLABELED
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


_UNCLOSED = (RoundState.OPEN, RoundState.LABELING)
_RETRIES = 5  # of a step that lost to another worker, whose step then succeeded


@dataclass(frozen=True, slots=True)
class LabelingState:
    """A round in state labeling and its labels so far, read in one transaction."""

    round: Round
    labels: RoundLabels
    copies: Copies


def read_labeling_state(connection: Connection, round_: Round) -> LabelingState:
    """Read the labels so far of a round in state labeling."""
    labels = read_labels(connection, round_)
    has_copies = round_.settings.overlap > 0
    copies = overlap_store.read_copies(connection, round_.id) if has_copies else Copies(0, 0)
    return LabelingState(round_, labels, copies)


def close_if_due(context: MonitorContext, state: LabelingState, claim: Claim) -> None:
    """Close or abandon a round whose labels are complete or overdue; else estimate it early."""
    round_, labels, copies = state.round, state.labels, state.copies
    answered = labels.answered
    planned = sum(part.planned for part in labels.strata)
    if _waits(state, context.clock(), is_whole=answered >= planned):
        follow_labels(context, round_, labels, claim)
        _read_early(context, state, claim)
        return
    # A disputed item counts as labeled here: people answered it, although they differ.
    empty = classes_without_label(labels.counts(evidence_label))
    if "flagged" in empty:
        _refuse_half_labeled(round_, context.clock(), answered, planned)
        reason = unlabeled_reason(empty[0], answered=answered, expected=planned)
        versions.abandon(context, round_, claim, reason)
        return
    truth = _checked_truth(context, state)
    concerns = truth.concerns
    if empty:
        size = sum(part.size for part in labels.strata if not part.stratum.flagged)
        concerns[UNLABELED] = label_texts.unlabeled_passed_sentence(size, answered, planned)
    checked = len(labels.checks) - labels.unchecked
    if labels.checks and not checked:
        concerns[UNCHECKED] = label_texts.unchecked_sentence(labels.unchecked)
    _freeze(context, round_, claim, truth.delays)
    follow_labels(context, round_, labels, claim, closes=True)
    reason = closed_reason(
        answered=answered,
        expected=planned,
        copies=(copies.answered, copies.wanted),
        checks=(checked, len(labels.checks)),
    )
    retried(
        lambda: versions.close(
            context, round_, claim, reason=reason, labels=labels, concerns=concerns
        )
    )


def _read_early(context: MonitorContext, state: LabelingState, claim: Claim) -> None:
    """Read the evidence of an open round if it has unread answers that count (docs/method.md)."""
    round_, labels = state.round, state.labels
    settings = round_.settings.model_copy(update={"limits": context.settings.round.limits})
    if (
        not round_.has_unread_evidence(context.clock())
        or not settings.limits.sides()
        or settings.origin == "backfill"
        or settings.counted_whole
        or checks_of(settings.labeling)
        or "flagged" in classes_without_label(labels.counts(evidence_label))
        or any(
            reader.labeler.missing_is_negative
            for reader in truth_reach.truth_readers(context.labelers_of(round_.settings))
        )
    ):
        return
    with context.database.read() as connection:
        unclosed = round_store.find_rounds(connection, round_.monitor, states=_UNCLOSED)
    if unclosed[0].id == round_.id:  # evidence goes on in the order in which rounds close
        watched = replace(round_, settings=settings)
        waiting = state.copies.waiting
        retried(lambda: versions.read_early(context, watched, claim, labels, waiting))


def _waits(state: LabelingState, now: datetime, *, is_whole: bool) -> bool:
    """Whether labels are missing, and a labeler that owes some is not past its own deadline."""
    round_, labels = state.round, state.labels
    is_whole = is_whole and not labels.unchecked
    if round_.is_late(now) or (is_whole and not state.copies.missing):
        return False
    if len(parts_of(round_.settings.labeling)) == 1:
        return True
    ends = (round_.deadline_of(part) for part in _behind(state))
    return any(end is None or now < end for end in ends)


def _behind(state: LabelingState) -> set[int]:
    labels, labeling = state.labels, state.round.settings.labeling
    of_class, parts = class_parts(labeling), parts_of(labeling)
    missing = {
        of_class[labels.is_flagged[item.stratum]]
        for item in labels.items
        if item.id not in labels.current
    }
    for part, census in labels.censuses.items():
        if census.answered < sum(census.size(cell) for cell in census.strata):
            missing.add(part)
    if labels.unchecked:
        missing |= {checks.checker for checks in checks_of(labeling).values()}
    if state.copies.missing:
        missing |= {index for index, part in enumerate(parts) if part.get("overlap")}
    return missing


def _refuse_half_labeled(round_: Round, now: datetime, answered: int, planned: int) -> None:
    """Raise `LabelsRefused` while another labeler may still label all flagged items."""
    several = len(parts_of(round_.settings.labeling)) > 1
    end = (round_.deadline or now) + round_.settings.late_labels
    if several and answered and now < end:
        message = (
            f"{answered} of {planned} items have a label, none of them flagged: is the labeler of "
            f"flagged items running? The round waits until {minute_text(end)} UTC, then it is "
            "abandoned"
        )
        raise LabelsRefused(message)


def _freeze(
    context: MonitorContext, round_: Round, claim: Claim, delays: LabelDelays | None
) -> None:
    """Fix the limits of a closing round, and the label delays that its estimates allow for.

    An open round shows no estimate, so today's limits are fixed before the estimate that they judge
    (docs/method.md). A round that showed a provisional estimate keeps its own limits.
    """
    limits = context.settings.round.limits
    takes_limits = limits != round_.settings.limits and not showed_estimate(context, round_)
    fixed = {"delays": delays} | ({"limits": limits} if takes_limits else {})
    settings = round_.settings.model_copy(update=fixed)
    if settings != round_.settings:
        with context.database.write() as connection:
            round_claims.hold(connection, claim)
            round_transitions.replace_settings(connection, round_.id, settings)
            if takes_limits:
                now = context.clock()
                round_transitions.note_event(connection, round_, LIMITS_OF_TODAY, now)


@dataclass(frozen=True, slots=True)
class _CheckedTruth:
    """Result of checking the labels of a closing round: concerns by kind, and label delays."""

    concerns: dict[str, str] = field(default_factory=dict)
    delays: LabelDelays | None = None


def _checked_truth(context: MonitorContext, state: LabelingState) -> _CheckedTruth:
    """Check how a round's items join with the truth; raises `LabelsRefused` if that is in doubt."""
    readers = truth_reach.truth_readers(context.labelers_of(state.round.settings))

    def check(opened: MonitorContext) -> _CheckedTruth:
        concerns: dict[str, list[str]] = {}
        of_class: dict[str, DelayCurve | None] = {}
        for reader in readers:
            past = _past_labels(opened, state.round, reader)
            of_class |= _delays_of(past, state.round, reader)
            late = None if past is None else past.concern
            for kind, sentence in [*_concerns_of(opened, state, reader), ("late_labels", late)]:
                if sentence is not None:
                    concerns.setdefault(kind, []).append(sentence)
        delays = LabelDelays(**of_class)
        return _CheckedTruth(
            {kind: "; ".join(sentences) for kind, sentences in concerns.items()},
            None if delays == LabelDelays() else delays,
        )

    def read_truth() -> _CheckedTruth:
        return context.try_of_round(state.round.settings, check)

    return _rarely(context, state.round, read_truth) if readers else _CheckedTruth()


def _concerns_of(
    context: MonitorContext, state: LabelingState, reader: TruthReader
) -> Iterator[tuple[str, str | None]]:
    labels, labeler, is_flagged = state.labels, reader.labeler, state.labels.is_flagged
    own = {
        item.id: is_flagged[item.stratum]
        for item in labels.items
        if reader.assigned.answers(predicted=is_flagged[item.stratum])
    }
    answers = {id_: labels.current.get(id_) for id_ in own}
    census = labels.censuses.get(reader.assigned.part)
    counts = (
        [] if census is None else [(is_flagged[c.stratum], census.tally(c)) for c in census.strata]
    )
    is_reached = any(answer is Answer.POSITIVE and not own[id_] for id_, answer in answers.items())
    is_reached = is_reached or any(positive and not up for up, (_, positive, _) in counts)
    if labeler.must_reach_passed and not is_reached:
        has_flagged = any(own.values()) or any(up for up, _ in counts)
        parts = [part for part in labels.counts() if part.stratum.flagged and part.labeled]
        positives = sum(part.size * part.positive / part.labeled for part in parts)
        flagged = None if has_flagged else positives
        truth_reach.refuse_unreached(context, reader, state.round.window, flagged)
    is_positive = is_reached or Answer.POSITIVE in answers.values()
    is_positive = is_positive or any(positive for _, (_, positive, _) in counts)
    if labeler.missing_is_negative and not is_positive:
        yield "no_rows", truth_reach.no_rows_concern(context, reader, state.round.window)
    if not labeler.missing_is_negative:
        received = [answer for answer in answers.values() if answer is not None]
        positives = received.count(Answer.POSITIVE)
        reach = ClassReach(len(own), len(own), len(received), positives)
        yield "positives_only", truth_reach.positives_only_concern(reach)
    assumed = {None, Answer.NEGATIVE} if labeler.missing_is_negative else {None}
    unmatched = [id_ for id_, answer in answers.items() if answer in assumed]
    counted = []
    if census is not None and any(census.size(cell) for cell in census.strata):
        counted = truth_reach.some_ids(context, reader, state.round.window)
    unmatched += counted
    yield "label_ids", truth_reach.near_misses_concern(context, labeler, unmatched)
    unanswered = [id_ for id_, answer in answers.items() if answer is None]
    yield "contradictions", truth_reach.contradictions_concern(labeler, unanswered)
    ids = sorted({*own, *counted})
    yield "older_labels", older_labels_concern(context, labeler, ids, state.round.window)
    if census is not None and census.unclear:
        yield "contradictions", label_texts.unclear_sentence(census.unclear)


def _past_labels(context: MonitorContext, round_: Round, reader: TruthReader) -> PastLabels | None:
    """Read past label delays for a young round; None if it is old, or labels have no time."""
    column = parts_of(round_.settings.labeling)[reader.assigned.part]
    matures = maturity_of(column)
    if column.get("time") is None or context.clock() >= round_.window.end + OLDEST * matures:
        return None
    return past_labels(context, reader, matures)


def _delays_of(
    past: PastLabels | None, round_: Round, reader: TruthReader
) -> dict[str, DelayCurve | None]:
    """Return the delays of a column's classes, if it counts items without a row as negative."""
    delays = None if past is None else past.delays
    if delays is None or not reader.labeler.missing_is_negative:
        return {}
    own = column_classes(round_.settings.labeling)
    return {
        name: getattr(delays, name)
        for flagged, name in ((True, "flagged"), (False, "passed"))
        if own.get(flagged) == reader.assigned.part
    }


def _rarely(context: MonitorContext, round_: Round, check: Callable[[], T]) -> T:
    """Check how labels join; for a while after a refusal, raise it again without reading."""
    now = context.clock()
    if (fault := context.tries.still(round_, now)) is not None:
        raise LabelsRefused(fault)
    try:
        result = check()
    except LabelsRefused as error:
        context.tries.note(round_, now, str(error))
        raise
    context.tries.forget(round_)
    return result


def retried(act: Callable[[], None], times: int = _RETRIES) -> None:
    """Run a step, and repeat it up to ``times`` times if another worker changed the history."""
    for _ in range(times):
        try:
            act()
        except RoundMoved:
            continue
        return
    act()
