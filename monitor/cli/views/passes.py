"""Result of one pass over the monitors, as text and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import echo, echo_error
from monitor.domain.errors import MonitorError
from monitor.domain.slots import slots_after, window_of
from monitor.domain.state import RoundState
from monitor.presentation.numbers import plural
from monitor.presentation.status import until_text
from monitor.rounds.context import gives_up_at
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from datetime import datetime

    from monitor.domain.ports import Labeler
    from monitor.domain.round import Round
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.open_rounds import OpenRound
    from monitor.service.loop import Pass
    from monitor.storage.rounds.round_store import RoundVersion
    from monitor.wiring import Application

WAITING = frozenset({RoundState.OPEN, RoundState.LABELING})


def marks(application: Application, context: MonitorContext) -> dict[int, RoundVersion]:
    """Return the state of every round of a monitor, to find later which moved."""
    with application.database.read() as connection:
        return round_store.read_marks(connection, context.settings.name)


def moves(application: Application, name: str, before: dict[int, RoundVersion]) -> list[Round]:
    """Find the rounds that are new or in another state than before."""
    with application.database.read() as connection:
        now = round_store.read_marks(connection, name)
        moved = {each for each, marker in now.items() if before.get(each) != marker}
        rounds = round_store.find_rounds(connection, name) if moved else []
    return [round_ for round_ in rounds if round_.id in moved]


def pass_json(result: Pass, moved: dict[str, list[Round]]) -> dict[str, Any]:
    """Return a pass for programs: rounds that moved, errors, what sinks accepted and did not."""
    from monitor.presentation.delivery import waiting_sentence

    return {
        "monitors": {name: [_round_json(r) for r in rounds] for name, rounds in moved.items()},
        "errors": {name: str(error) for name, error in result.errors.items()},
        "delivered": result.delivered.done,
        "waiting": result.delivered.failed,
        "dead": [
            {"monitor": effect.monitor, "sink": effect.sink, "sentence": waiting_sentence(effect)}
            for effect in result.dead
        ],
    }


def echo_pass(
    application: Application,
    monitors: Sequence[MonitorContext],
    result: Pass,
    moved: dict[str, list[Round]],
    new: Collection[str],
) -> None:
    """Print the result of a pass; errors go to standard error.

    ``new`` are the monitors that had no round before.
    """
    from monitor.rounds.open_rounds import all_open_rounds

    with application.database.read() as connection:
        waiting = all_open_rounds(
            connection, monitors[0].settings.name if len(monitors) == 1 else None
        )
    for context in monitors:
        name = context.settings.name
        for sentence in _round_sentences(moved[name], is_stated=name in result.errors):
            echo(f"{name}: {sentence}", indent="  ")
        if not moved[name]:
            for sentence in _still(context, waiting.get(name, []), is_stated=name in result.errors):
                echo(f"{name}: {sentence}", indent="  ")
        for hint in _hints(context, moved[name], is_new=name in new):
            echo(f"{name}: {hint}", indent="  ")
    echo_failures(result)


def _hints(context: MonitorContext, moved: Sequence[Round], *, is_new: bool) -> Iterator[str]:
    """Return what people can do next: answer items, or run past windows of a new monitor."""
    if sentence := people_sentence(context):
        yield sentence
    if is_new and moved and not context.asks_people(context.settings.round):
        with suppress(MonitorError):  # which the round itself reports
            yield from _backfill_hint(context, {round_.slot for round_ in moved})


def people_sentence(context: MonitorContext, rounds: Sequence[Round] = ()) -> str | None:
    """Return how many items wait for people, where, and the first deadline of some rounds.

    None if no item waits.
    """
    from monitor.rounds.labels.collect import unanswered

    items = len(unanswered(context))
    if not items:
        return None
    deadlines = [at for round_ in rounds if (at := round_.people_deadline) is not None]
    by = f" until {minute(min(deadlines))} UTC" if deadlines else ""
    asking = [one.labeler for one in context.today if one.labeler.asks_people]
    openings = "; ".join(dict.fromkeys(map(_opened_by, asking)))
    waits = "1 item waits" if items == 1 else f"{items:,} items wait"
    return f"{waits} for people{by}: {openings}; then run pr-monitor run-once"


def _opened_by(labeler: Labeler) -> str:
    from monitor.labeling.files import FilesLabeler
    from monitor.labeling.page import PageLabeler

    if isinstance(labeler, PageLabeler):
        return "pr-monitor label opens the page"
    if isinstance(labeler, FilesLabeler):
        return f"fill copies of the files in {labeler.folder} and put them into {labeler.filled}"
    return f"label in {getattr(labeler, 'location', labeler.name)}"


def _backfill_hint(context: MonitorContext, done: Collection[datetime]) -> Iterator[str]:
    """Return the command that runs the windows before the first round, if there are any."""
    from monitor.rounds.run import backfill_slots

    span, schedule = context.source.span(), context.settings.round.schedule
    slots = [] if span is None else backfill_slots(context, span[0])
    earlier = [slot for slot in slots if slot not in done]
    if earlier:
        start = window_of(schedule, earlier[0]).start
        yield (
            f"{plural(len(earlier), 'earlier window')} can run now: pr-monitor backfill --from "
            f"{start:%Y-%m-%dT%H:%MZ} -m {context.settings.name}"
        )


def echo_failures(result: Pass) -> None:
    """Print what stopped a monitor, and what waits outside, to standard error."""
    from monitor.presentation.delivery import waiting_sentence

    for name, error in result.errors.items():
        for sentence in (error, *getattr(error, "__notes__", ())):
            echo_error(f"{name}: {sentence}")
    for why in result.delivered.failed.values():
        echo_error(f"not delivered: {why}")
    for effect in result.dead:
        # A sink that failed just now has its line already.
        if effect.sink not in result.delivered.failed:
            echo_error(f"not delivered: {effect.monitor}: {waiting_sentence(effect)}")


def _round_sentences(rounds: Sequence[Round], *, is_stated: bool) -> Iterator[str]:
    """Describe the state of each round; consecutive skipped rounds share a sentence.

    ``is_stated`` is true if the reason why a round waits is printed elsewhere.
    """
    for state, group in groupby(rounds, key=lambda round_: round_.state):
        members = list(group)
        if state is RoundState.SKIPPED and len(members) > 1:
            first, last = members[0], members[-1]
            yield (
                f"rounds {first.number} to {last.number} (due {minute(first.slot)} to "
                f"{minute(last.slot)} UTC) are skipped: {last.reason}"
            )
        else:
            yield from (_round_sentence(round_, is_stated=is_stated) for round_ in members)


def _round_sentence(round_: Round, *, is_stated: bool) -> str:
    due = f"round {round_.number} (due {minute(round_.slot)} UTC)"
    newest = round_.estimated_version
    version = f", version {newest}" if newest > 1 else ""
    partial = ", partial" if round_.partial else ""
    silent = not round_.reason or (is_stated and round_.state in WAITING)
    reason = "" if silent else f": {round_.reason}"
    waits = (
        f", labels due by {minute(round_.people_deadline)} UTC"
        if round_.state is RoundState.LABELING
        else _waits(round_)
    )
    return f"{due} is {round_.state}{version}{partial}{waits}{reason}"


def _waits(round_: Round) -> str:
    until = gives_up_at(round_)
    return "" if until is None else f" and waits{until_text(until)}"


def _still(
    context: MonitorContext, waiting: Sequence[OpenRound], *, is_stated: bool
) -> Iterator[str]:
    """Describe what a monitor in which nothing moved waits for.

    ``is_stated`` is true if the reason why it waits is printed elsewhere.
    """
    for open_round in waiting:
        if open_round.waits_until is not None:
            yield (
                f"round {open_round.round}, due {minute(open_round.slot)} UTC, is open and waits"
                f"{until_text(open_round.waits_until)}"
            )
        elif not is_stated:
            yield open_round.line
    if not waiting and not is_stated:
        following = next(slots_after(context.settings.round.schedule, context.clock()))
        yield f"nothing due; the next round is due {minute(following)} UTC"


def _round_json(round_: Round) -> dict[str, Any]:
    return {
        "round": round_.number,
        "slot": round_.slot,
        "state": round_.state,
        "version": round_.estimated_version,
        "partial": round_.partial,
        "reason": round_.reason,
        "waits_until": gives_up_at(round_),
    }
