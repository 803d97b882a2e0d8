"""The place of a window among those that a block of classes reported, while classes come and go."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.class_report import ClassReport
from monitor.storage.results import class_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.results.class_store import ClassRound


@dataclass(frozen=True, slots=True)
class ClassPosition:
    """The number and version of a window's report, and the classes of the window before."""

    round: int
    version: int
    before: tuple[str, ...] | None

    def new(self, classes: Iterable[str]) -> tuple[str, ...]:
        """Choose the classes that the window before did not have."""
        if self.before is None:
            return ()
        return tuple(value for value in classes if value not in self.before)

    def removed(self, classes: Collection[str]) -> tuple[str, ...]:
        """Choose the classes of the window before that are not among these."""
        return tuple(value for value in self.before or () if value not in classes)


def index_among(
    connection: Connection, block: str, slot: datetime, rounds: Collection[ClassRound]
) -> ClassPosition:
    """Place a window by the reports that the block has of it and of those around it.

    Rounds are numbered from the first of their monitor. When the first classes of a block leave,
    the highest number of a window falls back, and MLflow would have two windows at one step. So
    windows are counted on from the one before by the rounds of any monitor that has one in both.
    """
    same = _report(class_store.report_of_block(connection, block, slot))
    previous = _report(class_store.report_before(connection, block, slot))
    version = sum(each.version for each in rounds)
    return ClassPosition(
        round=_number(connection, block, slot, rounds, previous) if same is None else same.round,
        version=version if same is None else max(version, same.version + 1),
        before=None if previous is None else tuple(row.value for row in previous.classes),
    )


def _number(
    connection: Connection,
    block: str,
    slot: datetime,
    rounds: Collection[ClassRound],
    previous: ClassReport | None,
) -> int:
    if previous is not None:
        return max([previous.round + 1, *_counted_from(previous, rounds)])
    following = _report(class_store.report_after(connection, block, slot))
    if following is not None:
        return min([following.round - 1, *_counted_from(following, rounds)])
    return max(each.number for each in rounds)


def _counted_from(report: ClassReport, rounds: Iterable[ClassRound]) -> list[int]:
    round_of = {row.monitor: row.round for row in report.classes if row.round is not None}
    return [
        report.round + each.number - round_of[each.monitor]
        for each in rounds
        if each.monitor in round_of
    ]


def _report(payload: dict[str, Any] | None) -> ClassReport | None:
    return None if payload is None else ClassReport.model_validate(payload)
