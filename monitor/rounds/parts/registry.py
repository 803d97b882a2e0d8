"""All parts of a report, and their results for the versions of a batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from monitor.domain.model import Frame
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.types import Estimates, HistoryBatch
from monitor.rounds.parts import *  # noqa: F403  loads the modules of the package
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import part_store, report_store
from monitor.storage.results.part_store import CountsByRound, PastCounts

if TYPE_CHECKING:
    from sqlalchemy import Connection

PARTS = sorted((part() for part in ReportPart.__subclasses__()), key=lambda part: part.name)
"""All parts in the order of their names, which is also the order of their notices."""


@dataclass(slots=True)
class VersionParts:
    """Results of the parts for one version: counts and report rows by part, and notices."""

    counts: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Any] = field(default_factory=dict)
    notices: list[NoticeRow] = field(default_factory=list)

    def add(self, part: ReportPart, version: ReportedVersion) -> None:
        """Add a part's results for the version."""
        if version.counts is not None:
            self.counts[part.name] = version.counts
        row = self.rows[part.name] = part.row(version)
        self.notices += part.notices(version, row)


def version_parts(
    database: Database,
    batch: HistoryBatch,
    estimates: Estimates,
    restated: Collection[int] = (),
    closing: Mapping[str, Any] = MappingProxyType({}),
) -> dict[int, VersionParts]:
    """Compute the parts of each affected round, by round.

    ``restated`` are rounds restated now. ``closing`` is `counts_at_closing` of the first round.
    """
    frozen = {*restated, *(version.round_id for version in batch.restated if version.own)}
    with database.read() as connection:
        rounds = [member.round for member in batch.affected]
        drawn, stored = part_store.read_counts(connection, [round_.id for round_ in rounds])
        stored = {batch.affected[0].round.id: closing, **stored}
        read = [
            (part, _read_part(connection, part, batch, estimates, drawn, stored, frozen))
            for part in PARTS
        ]
        _read_earlier(connection, batch, read)
    # Computed after the transaction: curves take seconds.
    result = {round_.id: VersionParts() for round_ in rounds}
    for part, versions in read:
        for version in versions:
            result[version.round.id].add(part, version)
    return result


def _read_part(
    connection: Connection,
    part: ReportPart,
    batch: HistoryBatch,
    estimates: Estimates,
    drawn: CountsByRound,
    stored: CountsByRound,
    frozen: Collection[int],
) -> list[ReportedVersion]:
    """Count changed labels for a part, and read its other data on affected rounds."""
    versions = [
        ReportedVersion(
            round=member.round,
            labels=batch.labels[each],
            drawn=drawn.get(each, {}).get(part.name),
            stored=stored.get(each, {}).get(part.name),
            recurring=batch.recurring[each],
            is_restated=each in frozen,
            tally=member.tally,
            estimate=estimates[each],
            before=batch.before(index),
            checked=batch.checked.get(each),
        )
        for index, member in enumerate(batch.affected)
        if part.applies(member.round, batch.labels[each := member.round.id])
    ]
    for version in versions:
        version.counts = part.counts(version) if version.round.is_changed else version.stored
    if part.repeats:
        _read_repeated(connection, part, versions)
    return versions


def _read_repeated(
    connection: Connection, part: ReportPart, versions: Sequence[ReportedVersion]
) -> None:
    unchanged = {
        version.round.id: version
        for version in versions
        if not version.round.is_changed and version.counts is not None
    }
    stored = report_store.read_parts(connection, [*unchanged], part.name)
    for round_id, parts in stored.items():
        unchanged[round_id].repeated = parts[part.name]


def _read_earlier(
    connection: Connection,
    batch: HistoryBatch,
    read: Sequence[tuple[ReportPart, Sequence[ReportedVersion]]],
) -> None:
    """Read the counts of earlier rounds, for all parts together."""
    reaching = {part.name: part.reach for part, versions in read if part.reach and versions}
    if not reaching:
        return
    ids = [each.id for each in batch.earlier][-max(reaching.values()) :]
    past = part_store.read_past(connection, ids, *reaching)
    for part, versions in read:
        if part.name in reaching:
            _add_earlier(part, batch, versions, [past[part.name].get(each) for each in ids])


def _add_earlier(
    part: ReportPart,
    batch: HistoryBatch,
    versions: Sequence[ReportedVersion],
    earlier: list[PastCounts | None],
) -> None:
    by_round = {version.round.id: version for version in versions}
    for member in batch.affected:
        counted = None
        if (version := by_round.get(member.round.id)) is not None:
            version.earlier = earlier[-part.reach :]
            if version.counts is not None:
                settings = member.round.settings.model_dump(mode="json")
                counted = PastCounts(settings, version.counts)
        earlier.append(counted)


def have_other_counts(connection: Connection, round_: Round, labels: RoundLabels) -> bool:
    """Whether the current labels give other counts than the last version stored."""
    both = part_store.read_counts(connection, [round_.id])
    drawn, stored = (counts.get(round_.id, {}) for counts in both)
    for part in (each for each in PARTS if each.corrects(round_)):
        now, before = None, stored.get(part.name)
        if part.applies(round_, labels):
            of_draw = drawn.get(part.name)
            labeled = LabeledRound(round=round_, labels=labels, drawn=of_draw, stored=before)
            now = part.counts(labeled)
        if now != before:
            return True
    return False


def drawn_counts(frame: Frame) -> dict[str, Any]:
    """Return the counts of a drawn window, by part."""
    return _present({part.name: part.drawn(frame) for part in PARTS})


def counts_at_closing(
    context: MonitorContext, round_: Round, labels: RoundLabels
) -> dict[str, Any]:
    """Return the data that parts read when a round closes, by part."""
    return _present({part.name: part.at_closing(context, round_, labels) for part in PARTS})


def _present(counts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: of_part for name, of_part in counts.items() if of_part is not None}
