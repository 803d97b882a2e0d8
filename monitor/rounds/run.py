"""Repeatable steps of a round, shared by `run-once`, the service and backfills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter

import structlog

from monitor.domain.errors import InputRefused, MonitorError, StoppedByBug, TryLater
from monitor.domain.round import Round
from monitor.domain.slots import slots_of_windows, window_of
from monitor.domain.state import RoundState
from monitor.presentation.moves import DRAW_INTERRUPTED
from monitor.rounds import versions
from monitor.rounds.answers import enqueue_answers
from monitor.rounds.claims import claimed
from monitor.rounds.classes import lost_windows, publish_classes, publish_lost
from monitor.rounds.closing import close_if_due, read_labeling_state, retried
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.collect import raise_gravest, retire, send
from monitor.rounds.labels.endpoints import CollectResult, ask
from monitor.rounds.opening.due import open_due, open_slot
from monitor.rounds.past_limits import note_missed_limits
from monitor.rounds.sampling.draw import draw
from monitor.storage.labels import label_store
from monitor.storage.labels.label_store import UnsentRounds
from monitor.storage.results.class_store import ClassVersion
from monitor.storage.rounds import round_claims, round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim

log = structlog.get_logger("monitor.rounds")

SETTLING = timedelta(minutes=15)
"""Grace period for files still being written at the deadline."""


def run(context: MonitorContext) -> None:
    """Run all due steps of one monitor: open, draw, send, collect, close, correct, retire.

    A round that fails does not stop the others, even if it ends the process: rounds whose worker
    stopped in mid-step run last, one at a time, the longest waiting first.

    Raises an error of opening at once, and the gravest `MonitorError` of the other steps after all
    of them have run.
    """
    open_due(context)
    noted = _error_of(partial(note_missed_limits, context))
    rounds = _unfinished(context)
    claimed = [(each.claimed_until, each) for each in rounds if each.claimed_until is not None]
    # These rounds are still claimed: their worker has ended or is still at work.
    interrupted = [round_ for _, round_ in sorted(claimed, key=itemgetter(0))]
    obstacles = [
        noted,
        *_advance(context, [round_ for round_ in rounds if round_ not in interrupted]),
    ]
    for round_ in interrupted:
        obstacles += _advance(context, [round_])
    obstacles += _publish_lost(context)
    obstacles.append(_error_of(partial(enqueue_answers, context)))
    raise_gravest(obstacles)


def _publish_lost(context: MonitorContext) -> list[MonitorError | None]:
    """Publish missing averages over classes; a window that fails does not stop the others."""
    windows: dict[datetime, ClassVersion] = {}
    obstacles = [_error_of(lambda: windows.update(lost_windows(context)))]
    for slot, marker in windows.items():
        obstacles.append(_error_of(partial(publish_lost, context, slot, marker)))
    return obstacles


def _advance(context: MonitorContext, due: list[Round]) -> list[MonitorError | None]:
    obstacles, rounds, sent = _begin_all(context, due)
    return [
        *obstacles,
        *_read_and_finish(context, [round_ for round_ in rounds if _is_out(round_, sent)]),
        _error_of(partial(retire, context)),
    ]


def _read_and_finish(context: MonitorContext, rounds: list[Round]) -> list[MonitorError | None]:
    """Read the labels of rounds whose tasks are out, and finish them."""
    if not rounds:
        return []
    collected = ask(context, rounds)
    return [*collected.unread.values(), *_finish_all(context, rounds, collected)]


def _begin_all(
    context: MonitorContext, due: list[Round]
) -> tuple[list[MonitorError | None], list[Round], UnsentRounds]:
    """Draw rounds and send their tasks; returns errors, rounds, and rounds with unsent tasks."""
    sent, now = _read_sent(context, due), context.clock()
    begun = [round_.id for round_ in due if _may_begin(round_, sent, now)]
    if not begun:
        return [], due, sent
    obstacles = [_error_of(partial(begin, context, round_id)) for round_id in begun]
    rounds = _retry(context, due)
    return obstacles, rounds, _read_sent(context, rounds)


def _finish_all(
    context: MonitorContext, rounds: list[Round], collected: CollectResult
) -> list[MonitorError | None]:
    """Close and correct rounds whose labels were just read; the others may have unread labels."""
    due = [
        round_.id
        for round_ in rounds
        if round_.id in collected.read
        and _may_finish(round_, collected, context.clock())
        and not _stabilizes(context, round_, collected)
    ]
    return [_error_of(partial(finish, context, round_id)) for round_id in due]


def _may_begin(round_: Round, sent: UnsentRounds, now: datetime) -> bool:
    """Whether a round has unsent tasks, or is open and its slot is not in the future."""
    if round_.state is RoundState.OPEN:
        return round_.slot <= now
    return round_.state is RoundState.LABELING and round_.id in sent.not_all


def _error_of(act: Callable[[], object]) -> MonitorError | None:
    """Run a step and return its error instead of raising it, so that other steps still run."""
    try:
        act()
    except MonitorError as error:
        return error
    except Exception as error:
        log.exception("step stopped by a bug")
        return StoppedByBug.of(error)
    return None


def backfill(
    context: MonitorContext, start: datetime, end: datetime | None = None
) -> Iterator[tuple[datetime, Round | None]]:
    """Run every slot whose window begins at ``start`` or later, oldest first.

    Stops at the first of ``end``, the present and the end of the predictions. Yields each slot with
    its round, or None if that had ended before.

    Raises the gravest `MonitorError` after the last slot.
    """
    obstacles: list[MonitorError | None] = []
    for slot in backfill_slots(context, start, end):
        round_id = open_slot(context, slot, backfill=True)
        if round_id is None:
            yield slot, None
            continue
        obstacles.append(_error_of(partial(run_all, context, round_id)))
        yield slot, _read(context, round_id)
    raise_gravest(obstacles)


def backfill_slots(
    context: MonitorContext, start: datetime, end: datetime | None = None
) -> list[datetime]:
    """Slots that a backfill runs."""
    schedule = context.settings.round.schedule
    now = context.clock()
    last = min(now, end) if end is not None else now
    slots = [slot for slot in slots_of_windows(schedule, start, last - schedule.lag) if slot <= now]
    span = context.source.span()
    if span is None:
        return []
    return [
        slot
        for slot in slots
        if (window := window_of(schedule, slot)).start <= span[1] and window.end > span[0]
    ]


def run_all(context: MonitorContext, round_id: int) -> None:
    """Run one round through all due steps, before a later round is drawn that may pool it."""
    begin(context, round_id)
    round_ = _read(context, round_id)
    if _is_out(round_, _read_sent(context, [round_])):
        raise_gravest(_read_and_finish(context, [round_]))


def begin(context: MonitorContext, round_id: int) -> None:
    """Draw an open round and send its tasks."""

    def step(claim: Claim) -> None:
        round_ = _read(context, round_id)
        if round_.state is RoundState.OPEN:
            if claim.was_abandoned:
                _note_obstacle(context, claim, DRAW_INTERRUPTED)
            # If two rounds start one history at once, the second is drawn with the first's bands.
            retried(lambda: draw(context, round_, claim), times=1)
            round_ = _read(context, round_id)
        if round_.state is RoundState.LABELING:
            send(context, round_, claim)

    _claimed(context, round_id, step)


def finish(context: MonitorContext, round_id: int) -> None:
    """Close a round whose labels are complete or overdue, or correct a closed one."""

    def step(claim: Claim) -> None:
        with context.database.read() as connection:
            round_ = round_store.read_round(connection, round_id)
            takes_labels = round_.state is RoundState.LABELING
            state = read_labeling_state(connection, round_) if takes_labels else None
        if state is not None:
            close_if_due(context, state, claim)
        elif round_.state is RoundState.CLOSED:
            if round_.is_changed or _has_all_labels(round_, context.clock()):
                retried(lambda: versions.correct(context, round_, claim))
            _settle(context, round_, claim)

    _claimed(context, round_id, step)


def _stabilizes(context: MonitorContext, round_: Round, collected: CollectResult) -> bool:
    """Whether to wait after the deadline for a file that is still being written."""
    if round_.id not in collected.unsettled:
        return False
    ends, now = (round_.deadline, round_.people_deadline), context.clock()
    return any(timedelta(0) <= now - end < SETTLING for end in ends if end is not None)


def _may_finish(round_: Round, collected: CollectResult, now: datetime) -> bool:
    if round_.state is RoundState.CLOSED:
        is_changed = round_.is_changed or round_.id in collected.changed
        return is_changed or _has_all_labels(round_, now)
    return round_.state is RoundState.LABELING


def _has_all_labels(round_: Round, now: datetime) -> bool:
    """Whether a round still allows for label delays although the longest delay has passed."""
    delays = round_.settings.delays
    return delays is not None and now >= round_.window.end + timedelta(days=delays.longest)


def _settle(context: MonitorContext, round_: Round, claim: Claim) -> None:
    """Clear the label delays of a round once the longest has passed, which makes it final."""
    if _has_all_labels(round_, context.clock()):
        settings = round_.settings.model_copy(update={"delays": None})
        with context.database.write() as connection:
            round_claims.hold(connection, claim)
            round_transitions.replace_settings(connection, round_.id, settings)


def _claimed(context: MonitorContext, round_id: int, step: Callable[[Claim], None]) -> None:
    with claimed(context.database, round_id) as claim:
        if claim is None:
            log.info("another worker has this round", round=round_id)
            return
        try:
            step(claim)
        except (InputRefused, TryLater) as error:
            _note_obstacle(context, claim, str(error))
            raise
        except MonitorError:
            raise  # such as a refused config, which is shown with the config and not with a round
        except Exception as error:
            log.exception("round stopped by a bug", monitor=context.settings.name, round=round_id)
            bug = StoppedByBug.of(error)
            _note_obstacle(context, claim, str(bug))
            raise bug from error
    if context.class_monitors:
        publish_classes(context, [_read(context, round_id).slot])


def _note_obstacle(context: MonitorContext, claim: Claim, obstacle: str) -> None:
    number = None
    # If the store is unavailable, the caller still raises the obstacle itself.
    with suppress(TryLater), context.database.write() as connection:
        round_transitions.note_obstacle(connection, claim, obstacle, context.clock())
        number = round_store.read_round(connection, claim.round_id).number
    log.warning("round waits", monitor=context.settings.name, round=number, reason=obstacle)


def _unfinished(context: MonitorContext) -> list[Round]:
    with context.database.read() as connection:
        return round_store.unfinished_rounds(connection, context.settings.name, context.clock())


def _retry(context: MonitorContext, rounds: list[Round]) -> list[Round]:
    ids = {round_.id for round_ in rounds}
    return [round_ for round_ in _unfinished(context) if round_.id in ids]


def _read_sent(context: MonitorContext, rounds: list[Round]) -> UnsentRounds:
    with context.database.read() as connection:
        return label_store.read_sent(connection, [round_.id for round_ in rounds])


def _is_out(round_: Round, sent: UnsentRounds) -> bool:
    """Whether to read a round's labels: it is drawn, and has no tasks or some were sent."""
    drawn = round_.state in {RoundState.LABELING, RoundState.CLOSED}
    return drawn and round_.id not in sent.none


def _read(context: MonitorContext, round_id: int) -> Round:
    with context.database.read() as connection:
        return round_store.read_round(connection, round_id)
