"""What another setting means for the next round, compared with what the last one was opened with.

A round keeps its settings, so a change shows between two rounds, or between the newest round and
the config of today.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from monitor.presentation.numbers import minute_text
from monitor.storage import frame_store, round_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.storage.frame_store import History
    from monitor.storage.round_store import Round


class Begins(StrEnum):
    """What a round may be the first of."""

    HISTORY = "history"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Change:
    """Settings that differ between two rounds, as ``threshold 0.5 -> 0.6``, and what begins."""

    begins: Begins
    settings: tuple[str, ...]


_BANDS = frozenset({"sample.bands.flagged", "sample.bands.passed"})

Values = dict[str, object]
"""Settings by their names in the config."""


def changes_ahead(connection: Connection, context: MonitorContext) -> list[str]:
    """Say what the next round begins that the newest one in the store did not have, and why."""
    settings = context.settings.round
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    newest = None if monitor_id is None else round_store.newest_round(connection, monitor_id)
    if newest is None:
        return []
    told = []
    before, after = _of_history(newest.settings), _of_history(settings)
    if before != after:
        meaning = _history_meaning(
            only_bands=_BANDS.issuperset(_differing(before, after)),
            is_known=_has_history(connection, newest.monitor_id, settings),
        )
        told.append(f"{', '.join(_differences(before, after))}: {meaning}")
    before, after = _of_schedule(newest.settings), _of_schedule(settings)
    if before != after:
        told.append(
            f"{', '.join(_differences(before, after))}: the next window begins where the last one "
            f"ended, {minute_text(newest.window.end)} UTC; none overlaps and nothing is left out"
        )
    return told


def changes_between(
    rounds: Sequence[Round], histories: Mapping[int, History]
) -> dict[int, list[Change]]:
    """Find where a new history or another schedule began, by the id of the round that began it.

    Parameters
    ----------
    rounds
        All rounds of one monitor, in slot order.
    histories
        The histories of these rounds, by id.
    """
    found: dict[int, list[Change]] = {}
    before: Round | None = None
    drawn: Round | None = None
    for each in rounds:
        changes = [
            *(_new_history(drawn, each, histories) if drawn is not None else []),
            *(_new_schedule(before, each) if before is not None else []),
        ]
        if changes:
            found[each.id] = changes
        before, drawn = each, each if each.history_id is not None else drawn
    return found


def read_changes(connection: Connection, rounds: Sequence[Round]) -> dict[int, list[Change]]:
    """Find where a new history or another schedule began; see `changes_between`."""
    ids = {each.history_id for each in rounds if each.history_id is not None}
    histories = {each: frame_store.read_history(connection, each) for each in ids}
    by_monitor: dict[int, list[Round]] = {}
    for each in rounds:
        by_monitor.setdefault(each.monitor_id, []).append(each)
    found: dict[int, list[Change]] = {}
    for members in by_monitor.values():
        found |= changes_between(members, histories)
    return found


def change_sentence(change: Change) -> str:
    """Say what a round is the first of, and by which settings."""
    first = {
        Begins.HISTORY: "begins a new history",
        Begins.SCHEDULE: "is the first by another schedule",
    }[change.begins]
    return f"{first} ({', '.join(change.settings)})" if change.settings else first


def _new_history(before: Round, now: Round, histories: Mapping[int, History]) -> list[Change]:
    if now.history_id is None or now.history_id == before.history_id or before.history_id is None:
        return []
    old, new = histories[before.history_id], histories[now.history_id]
    versions = _differences(
        {"model version": old.model_version}, {"model version": new.model_version}
    )
    settings = _differences(_of_history(before.settings), _of_history(now.settings))
    return [Change(Begins.HISTORY, (*settings, *versions))]


def _new_schedule(before: Round, now: Round) -> list[Change]:
    differ = _differences(_of_schedule(before.settings), _of_schedule(now.settings))
    return [Change(Begins.SCHEDULE, differ)] if differ else []


def _has_history(connection: Connection, monitor_id: int, settings: RoundSettings) -> bool:
    from monitor.rounds.sampling.draw import base_key  # noqa: PLC0415  scipy takes half a second

    known = frame_store.newest_history(
        connection, monitor_id, threshold=settings.threshold, key_parts=base_key(settings)
    )
    return known is not None


def _history_meaning(*, only_bands: bool, is_known: bool) -> str:
    if is_known:
        return "the next round goes on with the history that it had with these settings before"
    if only_bands:
        return (
            "the next round begins a new history, which starts from the labels so far, counted by "
            "the new bands"
        )
    return (
        "the next round begins a new history: estimates with earlier rounds begin anew; evidence "
        "gathered so far stays, but without a reference the first round adds none"
    )


def _of_history(settings: RoundSettings) -> Values:
    bands = settings.sample.bands
    return {
        "model": settings.model,
        "source.threshold": settings.threshold,
        "sample.bands.flagged": bands.flagged,
        "sample.bands.passed": bands.passed,
    }


def _of_schedule(settings: RoundSettings) -> Values:
    schedule = settings.schedule
    return {
        "schedule.cron": schedule.cron,
        "schedule.time_zone": schedule.time_zone,
        "schedule.lag": schedule.lag,
    }


def _differing(before: Values, after: Values) -> list[str]:
    return [name for name in after if before[name] != after[name]]


def _differences(before: Values, after: Values) -> tuple[str, ...]:
    return tuple(
        f"{name} {_value(before[name])} -> {_value(after[name])}"
        for name in _differing(before, after)
    )


def _value(value: object) -> str:
    return "not set" if value is None else str(value)
