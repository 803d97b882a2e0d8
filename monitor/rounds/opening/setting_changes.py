"""Find changed settings, and the histories and schedules that start with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.model import Frame
from monitor.domain.registered import alias_of, spellings
from monitor.domain.round import Round
from monitor.domain.sample_settings import Sample
from monitor.domain.settings import Begins, Change, Difference, HistoryStart, RoundSettings
from monitor.presentation import setting_changes
from monitor.rounds.context import MonitorContext
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


_CUTS = frozenset(
    f"sample.{strata}.{of}" for strata in ("bands", "cells") for of in ("flagged", "passed")
)

Values = dict[str, object]  # Settings by their names in the config


def pending_changes(connection: Connection, context: MonitorContext) -> list[str]:
    """Report the history, schedule or challenger that starts with the next round, and why."""
    settings = context.settings.round
    monitor_id = round_store.find_monitor(connection, context.settings.name)
    newest = None if monitor_id is None else round_store.newest_round(connection, monitor_id)
    if newest is None:
        return []
    sentences = []
    differences = _differences(_of_history(newest.settings), _of_history(settings))
    if differences:
        start = _history_start(connection, newest.monitor_id, settings, differences)
        sentences.append(setting_changes.next_history_sentence(differences, start))
    differences = _differences(_of_schedule(newest.settings), _of_schedule(settings))
    if differences:
        sentences.append(setting_changes.next_schedule_sentence(differences, newest.window.end))
    differences = _differences(_of_challenger(newest.settings), _of_challenger(settings))
    if differences and newest.settings.challenger is not None:  # a first one changes nothing
        sentences.append(setting_changes.next_challenger_sentence(differences[0]))
    return sentences


def version_change(context: MonitorContext, frame: Frame) -> list[str]:
    """Report that the next round has another model version than the last drawn round."""
    from monitor.rounds.sampling.window_scan import base_key  # noqa: PLC0415  as below

    settings, version = context.settings.round, frame.model_version
    with context.database.read() as connection:
        rounds = round_store.find_rounds(connection, context.settings.name)
        drawn = [round_ for round_ in rounds if round_.history_id is not None]
        if not drawn or (version is None and alias_of(settings.model)):
            return []
        last = frame_store.read_history(connection, drawn[-1].history_id or 0)
        if last.model_version in spellings(version):
            return []
        existing = frame_store.history_for(
            connection,
            drawn[-1].monitor_id,
            model_version=version,
            threshold=settings.threshold,
            key_parts=base_key(settings),
            unscored=last.edges.unscored,
        )
    difference = Difference("model version", last.model_version, version)
    start = HistoryStart.NOTHING if existing is None else HistoryStart.KNOWN
    return [setting_changes.next_history_sentence([difference], start)]


def read_changes(connection: Connection, rounds: Sequence[Round]) -> dict[int, list[Change]]:
    """Find the rounds with which another history or schedule began, by round id.

    ``rounds`` are in slot order, of any monitors.
    """
    result: dict[int, list[Change]] = {}
    before: dict[int, Round] = {}  # the last round of each monitor, and the last that was drawn
    drawn: dict[int, Round] = {}
    for round_ in rounds:
        monitor = round_.monitor_id
        changes = [
            *(_new_history(connection, drawn[monitor], round_) if monitor in drawn else []),
            *(_new_schedule(before[monitor], round_) if monitor in before else []),
        ]
        if changes:
            result[round_.id] = changes
        before[monitor] = round_
        if round_.history_id is not None:
            drawn[monitor] = round_
    return result


def _new_history(connection: Connection, before: Round, now: Round) -> list[Change]:
    if now.history_id is None or now.history_id == before.history_id or before.history_id is None:
        return []
    histories = frame_store.read_histories(connection, [before.history_id, now.history_id])
    old, new = histories[before.history_id], histories[now.history_id]
    versions = _differences(
        {"model version": old.model_version}, {"model version": new.model_version}
    )
    settings = _differences(_of_history(before.settings), _of_history(now.settings))
    is_first = now.slot == round_store.first_slot(connection, now.history_id)
    begins = Begins.HISTORY if is_first else Begins.EARLIER_HISTORY
    return [Change(begins, (*settings, *versions))]


def _new_schedule(before: Round, now: Round) -> list[Change]:
    differences = _differences(_of_schedule(before.settings), _of_schedule(now.settings))
    return [Change(Begins.SCHEDULE, differences)] if differences else []


def _history_start(
    connection: Connection,
    monitor_id: int,
    settings: RoundSettings,
    differences: Sequence[Difference],
) -> HistoryStart:
    from monitor.rounds.sampling.window_scan import base_key  # noqa: PLC0415  scipy takes half a second

    existing = frame_store.newest_history(
        connection, monitor_id, threshold=settings.threshold, key_parts=base_key(settings)
    )
    if existing is not None:
        return HistoryStart.KNOWN
    # Items that were labeled before have no verdict, so with a judge they cannot be counted again.
    only_cuts = settings.judge is None and {*_CUTS, "judge"}.issuperset(
        one.name for one in differences
    )
    return HistoryStart.REBINNED if only_cuts else HistoryStart.NOTHING


def _of_history(settings: RoundSettings) -> Values:
    return {
        "model": settings.model,
        "source.threshold": settings.threshold,
        "source.columns.weight": settings.weight,
        "source.kept_with": settings.log_sampling,
        "judge": None if settings.judge is None else settings.judge.title,
        **_of_strata(settings.sample),
    }


def _of_strata(sample: Sample) -> Values:
    """Return the settings that cut the scores: cells if there are any, else bands."""
    bands, cells = sample.bands, sample.cells
    if cells is not None:
        return {"sample.cells.flagged": cells.flagged, "sample.cells.passed": cells.passed}
    return {
        "sample.cells.flagged": None,
        "sample.cells.passed": None,
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


def _of_challenger(settings: RoundSettings) -> Values:
    challenger = settings.challenger
    if challenger is None:
        return {"source.challenger": None}
    named = challenger.rule if challenger.name is None else f"{challenger.name} ({challenger.rule})"
    return {"source.challenger": named}


def _differences(before: Values, after: Values) -> tuple[Difference, ...]:
    return tuple(
        Difference(name, before[name], after[name])
        for name in after
        if name in before and before[name] != after[name]
    )
