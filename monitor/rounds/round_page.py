"""Lists of rounds, everything about one version of a round, and the last reports of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.domain.class_report import ClassOverview, ClassReport
from monitor.domain.errors import InputRefused
from monitor.domain.report import EstimateRow, RoundPage, RoundReport
from monitor.domain.round import Round
from monitor.domain.settings import Change, MonitorSettings
from monitor.domain.state import RoundState
from monitor.presentation import rounds
from monitor.rounds.opening.setting_changes import read_changes
from monitor.rounds.reporting.enqueue import with_concerns
from monitor.rounds.reporting.report import band_rows, read_restated_rows
from monitor.rounds.status_reading import first_shown
from monitor.storage.database import Database
from monitor.storage.labels import provisional_store
from monitor.storage.overview import many_rounds
from monitor.storage.results import class_store, concern_store, report_store
from monitor.storage.results.restatement_store import restated_themselves
from monitor.storage.rounds import round_lists, round_store, round_transitions
from monitor.storage.rounds.round_lists import ListQuery
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def read_page(connection: Connection, monitor: str, number: int, version: int | None) -> RoundPage:
    """Gather everything about one version of a round."""
    round_ = find_round(connection, monitor, number)
    version = _version(round_, version)
    issues = frame_store.read_issues(connection, round_.id)
    restated = read_restated_rows(connection, {round_.id}).get(round_.id, [])
    payload = report_store.read_report(connection, round_.id, version) if version else {}
    report = with_concerns(connection, round_, payload)
    if report is None:
        drawn = frame_store.read_strata(connection, round_.id)
        concerns = list(concern_store.read_concerns(connection, round_.id).values())
    else:
        drawn, concerns = [], report.concerns
    return RoundPage(
        round=round_,
        version=version,
        report=report,
        restated=[row for row in restated if row.version <= version],
        restated_since=[row.version for row in restated if row.version > version],
        drawn=band_rows(drawn, round_.settings.sample),
        provisional=provisional_store.newest_rows(connection, [round_.id]).get(round_.id),
        classes=report_with_classes(connection, round_),
        concerns=concerns,
        bad_rows=_issues(issues, are_bad=True),
        notes=_issues(issues, are_bad=False),
        events=round_transitions.read_events(connection, round_.id),
    )


def read_report(
    connection: Connection, monitor: str, number: int | None, version: int | None
) -> RoundReport:
    """Read the stored report of a round, the newest one that has a report unless one is named."""
    if number is not None:
        round_ = find_round(connection, monitor, number)
    elif (done := round_lists.newest_done(connection, monitor)) is not None:
        round_ = round_store.read_round(connection, done)
    else:
        message = f"no round of {monitor} has a report yet: none has closed"
        raise InputRefused(message)
    version_to_read = _version(round_, version)
    if version is None and round_.state is RoundState.ABANDONED:
        version_to_read = report_store.newest_version(connection, round_.id)
    payload = report_store.read_report(connection, round_.id, version_to_read)
    report = with_concerns(connection, round_, payload)
    if report is None:
        message = f"round {round_.number} of {monitor} has no report yet: it is {round_.state}"
        raise InputRefused(message)
    return report


def find_round(connection: Connection, monitor: str, number: int) -> Round:
    """Find a round by its number; raises `InputRefused` with the existing numbers."""
    round_id = round_lists.numbered(connection, monitor, number)
    if round_id is None:
        numbers = round_lists.first_and_last(connection, monitor)
        raise InputRefused(rounds.no_round_text(monitor, number, numbers))
    return round_store.read_round(connection, round_id)


def _version(round_: Round, requested: int | None) -> int:
    newest = round_.estimated_version
    if requested is not None and requested > newest:
        message = (
            f"round {round_.number} of {round_.monitor} has no version {requested}; "
            f"{f'the newest is {newest}' if newest else 'it has no estimate yet'}"
        )
        raise InputRefused(message)
    return requested or newest


def _issues(issues: dict[str, tuple[int, bool]], *, are_bad: bool) -> dict[str, int]:
    return {reason: count for reason, (count, bad) in issues.items() if bad is are_bad}


def class_overviews(database: Database, monitors: Sequence[MonitorSettings]) -> list[ClassOverview]:
    """Return the status of the blocks of classes that some monitors belong to, in their order."""
    blocks: dict[str, dict[str, str]] = {}
    for monitor in monitors:
        block = monitor.round.block
        if block is not None and block.kind == "classes":
            blocks.setdefault(block.name, {})[block.value] = monitor.name
    if not blocks:
        return []
    with database.read() as connection:
        return [_overview(connection, name, classes) for name, classes in blocks.items()]


def report_with_classes(connection: Connection, round_: Round) -> ClassReport | None:
    """Read the class report of a round's window; None if its block has not published one."""
    block = round_.settings.block
    if block is None or block.kind != "classes":
        return None
    return class_store.report_of_block(connection, block.name, round_.slot)


def _overview(connection: Connection, block: str, classes: Mapping[str, str]) -> ClassOverview:
    names = list(classes.values())
    slot = max(class_store.newest_slots(connection, names).values(), default=None)
    report = None if slot is None else class_store.last_report(connection, block, slot)
    waits: tuple[str, ...] = ()
    if slot is not None and (report is None or report.slot < slot):
        rounds = class_store.rounds_of_slot(connection, names, slot)
        waits = tuple(
            value
            for value, name in classes.items()
            if name not in rounds or not rounds[name].is_settled
        )
    return ClassOverview(block, tuple(classes), report, slot, waits)


@dataclass(frozen=True, slots=True)
class Row:
    """A round, its estimates, the history or schedule it begins, and whether it was restated."""

    round: Round
    estimates: Sequence[EstimateRow]
    changes: Sequence[Change]
    restated: bool

    @property
    def remarks(self) -> str:
        """Remarks on its estimates, such as that they are partial or restated."""
        return rounds.remarks_text(
            self.round.estimated_version,
            partial=self.round.partial,
            worst_case=any(row.is_worst_case for row in self.estimates),
            restated=self.restated,
            by_amount=self.round.settings.by_amount,
        )


@dataclass(frozen=True, slots=True)
class ListedRounds:
    """The rounds to list, in slot order, and how many skipped ones are ``hidden``.

    ``has_older``: the list begins later than the rounds do.
    """

    rows: list[Row]
    hidden: int
    has_older: bool
    any_rounds: bool


def listed(connection: Connection, query: ListQuery) -> ListedRounds:
    """Read the rounds to list; the cost grows with these, not with all rounds."""
    ids, has_older = round_lists.find_listed(connection, query)
    rounds = many_rounds.read_many(connection, ids)
    changes = _changes(connection, rounds, query)
    restated = restated_themselves(connection, ids)
    estimates = many_rounds.read_shown(
        connection, [round_.id for round_ in rounds if round_.estimated_version]
    )
    rows = [
        Row(
            round_,
            first_shown(estimates.get(round_.id, [])),
            changes.get(round_.id, []),
            round_.id in restated,
        )
        for round_ in rounds
    ]
    hidden = 0 if query.skipped else round_lists.count_skipped(connection, query.monitor)
    any_rounds = bool(rows) or round_lists.has_rounds(connection, query.monitor)
    return ListedRounds(rows, hidden, has_older, any_rounds)


def _changes(
    connection: Connection, rounds: Sequence[Round], query: ListQuery
) -> dict[int, list[Change]]:
    first = {round_.monitor_id: round_.id for round_ in reversed(rounds)}
    previous = many_rounds.read_before(connection, [*first.values()], skipped=query.skipped)
    return read_changes(connection, sorted([*previous, *rounds], key=attrgetter("slot")))
