"""Read the report of a period from the store, without computing any estimate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.label_parts import COLUMN
from monitor.domain.labels import current_answers
from monitor.domain.model import Window
from monitor.domain.period import Days
from monitor.domain.period_report import PeriodChange, PeriodReport, UncountedRound
from monitor.domain.report import RoundReport
from monitor.domain.round import Round
from monitor.domain.settings import Difference, MonitorSettings, RoundSettings
from monitor.domain.state import RoundState
from monitor.presentation.estimates import provisional_line
from monitor.presentation.outcome import method_sentences
from monitor.presentation.parts.registry import NO_PARTS
from monitor.presentation.periods import no_rounds_text
from monitor.presentation.setting_changes import change_sentence, difference_text
from monitor.rounds.opening.setting_changes import read_changes
from monitor.rounds.round_page import read_report
from monitor.storage.labels import label_store, provisional_store
from monitor.storage.overview import many_rounds
from monitor.storage.results import alert_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.alerting import StoredAlert


def read_period(
    connection: Connection, monitor: MonitorSettings, name: str, days: Days, now: datetime
) -> PeriodReport:
    """Read the rounds whose windows end in a period, by the clock of the monitor's schedule.

    Raises `InputRefused` if there are none; the message lists the existing rounds.
    """
    zone = monitor.round.schedule.time_zone
    start, end = days.instants(zone)
    touching = round_store.find_overlapping(connection, monitor.name, start, end)
    within = [round_ for round_ in touching if round_.window.end <= end]
    if not within:
        every = round_store.find_rounds(connection, monitor.name)
        windows = [(each.number, each.window) for each in every]
        raise InputRefused(no_rounds_text(monitor.name, name, Window(start, end), windows))
    closed = [round_ for round_ in within if round_.state is RoundState.CLOSED]
    reports = [read_report(connection, monitor.name, each.number, None) for each in closed]
    return PeriodReport(
        monitor=monitor.name,
        period=name,
        start=start,
        end=end,
        time_zone=zone,
        made_at=now,
        rounds=[_shortened(report) for report in reports],
        uncounted=_uncounted(connection, within),
        skipped=sum(round_.state is RoundState.SKIPPED for round_ in within),
        later_rounds=[round_.number for round_ in touching if round_.window.end > end],
        alerts=[
            alert
            for alert in alert_store.find_alerts(connection, monitor=monitor.name)
            if _is_of_period(alert, start, end)
        ],
        changes=_changes(connection, within),
        people=_count_people(connection, closed),
        method=method_sentences(reports[-1]) if reports else [],
    )


def _shortened(report: RoundReport) -> RoundReport:
    """Leave out curves, cells, and the timeline before the round; add parts that came later."""
    removed = {"timeline": report.timeline[-1:], "curves": None, "cells": []}
    return report.model_copy(update={**NO_PARTS, **report.parts, **removed})


def _uncounted(connection: Connection, rounds: Sequence[Round]) -> list[UncountedRound]:
    without = [each for each in rounds if each.state not in {RoundState.CLOSED, RoundState.SKIPPED}]
    rows = provisional_store.newest_rows(connection, [each.id for each in without])
    return [
        UncountedRound(
            round=each.number,
            state=each.state,
            reason=provisional_line(rows[each.id]) if each.id in rows else each.reason,
        )
        for each in without
    ]


def _is_of_period(alert: StoredAlert, start: datetime, end: datetime) -> bool:
    if alert.window.end > start:
        return alert.window.end <= end
    return alert.ended_at is None or alert.ended_at > start


def _changes(connection: Connection, rounds: Sequence[Round]) -> list[PeriodChange]:
    """Find the settings that changed in the period, or with its first round."""
    before = many_rounds.read_before(connection, [rounds[0].id], skipped=False)
    ordered = sorted([*before, *rounds], key=attrgetter("slot"))
    changes = read_changes(connection, ordered)
    limits = {after.id: _limit_changes(one, after) for one, after in pairwise(ordered)}
    return [
        PeriodChange(round=each.number, sentence=sentence)
        for each in rounds
        for sentence in (
            *map(change_sentence, changes.get(each.id, ())),
            *map(difference_text, limits.get(each.id, ())),
        )
    ]


def _limit_changes(before: Round, after: Round) -> list[Difference]:
    old, new = _limits(before.settings), _limits(after.settings)
    changed = [name for name in old | new if old.get(name) != new.get(name)]
    return [Difference(name, old.get(name), new.get(name)) for name in changed]


def _limits(settings: RoundSettings) -> dict[str, Any]:
    return {f"limits.{each.metric}.{each.side}": each.value for each in settings.limits.sides()} | {
        "limits.false_alarm_every": settings.limits.false_alarm_every
    }


def _count_people(connection: Connection, rounds: Sequence[Round]) -> int:
    """Count the people with an answer that is not withdrawn."""
    names = {
        name
        for round_ in rounds
        for statements in label_store.statements_of(connection, round_.id).values()
        for name in current_answers(statements)
    }
    return len(names - {COLUMN})
