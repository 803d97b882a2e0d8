"""All parts, and what they make of the versions of a batch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from monitor.domain.model import Frame
from monitor.domain.report import NoticeRow
from monitor.rounds.estimation.types import Estimates, HistoryBatch
from monitor.rounds.parts.agreement import AgreementPart
from monitor.rounds.parts.challenger import ChallengerPart
from monitor.rounds.parts.checks import ChecksPart
from monitor.rounds.parts.curves import CurvesPart
from monitor.rounds.parts.judge import JudgePart
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.rounds.parts.segments import SegmentSearchPart, SegmentsPart
from monitor.storage.database import Database
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import part_store, report_store
from monitor.storage.results.part_store import PastCounts
from monitor.storage.rounds.round_store import Round

if TYPE_CHECKING:
    from sqlalchemy import Connection

    ByRound = Mapping[int, Any]

PARTS: tuple[ReportPart, ...] = (
    JudgePart(),
    ChecksPart(),
    AgreementPart(),
    SegmentsPart(),
    SegmentSearchPart(),
    ChallengerPart(),
    CurvesPart(),
)
"""In the order of their notices."""


@dataclass(slots=True)
class VersionParts:
    """What the parts make of one version: counts to store by part, report fields, and notices."""

    counts: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    notices: list[NoticeRow] = field(default_factory=list)


def version_parts(
    database: Database, batch: HistoryBatch, estimates: Estimates, restated: Collection[int] = ()
) -> dict[int, VersionParts]:
    """Compute the parts of each affected round, by round; ``restated`` are restated now."""
    frozen = {*restated, *(version.round_id for version in batch.restated if version.own)}
    with database.read() as connection:
        rounds = [member.round for member in batch.affected]
        estimated = [round_.id for round_ in rounds if round_.estimated_version]
        stored = part_store.read_counts(connection, estimated) if estimated else {}
        drawn = part_store.read_drawn(connection, [each.id for each in rounds if each.is_changed])
        read = [_PartOfBatch.read(connection, part, batch, drawn, stored, frozen) for part in PARTS]
    # Computed after the transaction: curves take seconds.
    result = {member.round.id: VersionParts() for member in batch.affected}
    for of_part in read:
        for index, member in enumerate(batch.affected):
            of_part.add_to(result[member.round.id], batch, index, estimates)
    return result


def have_other_counts(connection: Connection, round_: Round, labels: RoundLabels) -> bool:
    """Whether the labels as they are now give other counts than the last version stored."""
    stored = part_store.read_counts(connection, [round_.id]).get(round_.id, {})
    drawn = part_store.read_drawn(connection, [round_.id]).get(round_.id, {})
    for part in PARTS:
        now = None
        if part.applies(round_, labels):
            of_draw, before = drawn.get(part.name), stored.get(part.name)
            now = part.counts(LabeledRound(round_, labels, of_draw, before, frozenset(), False))
        if part.differs(round_, now, stored.get(part.name)):
            return True
    return False


def drawn_counts(frame: Frame) -> dict[str, Any]:
    """Return what parts count of a drawn window, by part."""
    counts = {part.name: part.drawn(frame) for part in PARTS}
    return {name: of_part for name, of_part in counts.items() if of_part is not None}


def closing_concerns(
    database: Database, batch: HistoryBatch, fields: Mapping[str, Any]
) -> dict[str, str]:
    """State what the parts of a closing round show that needs a look, by kind."""
    return {
        kind: sentence
        for part in PARTS
        for kind, sentence in part.concerns(database, batch, fields).items()
    }


@dataclass(frozen=True, slots=True)
class _PartOfBatch:
    """One part, with its counts of the rounds of a batch, and fields of earlier versions."""

    part: ReportPart
    drawn: ByRound
    counts: ByRound
    earlier: Sequence[PastCounts | None]
    repeated: Mapping[str, ByRound]

    @classmethod
    def read(
        cls,
        connection: Connection,
        part: ReportPart,
        batch: HistoryBatch,
        drawn: Mapping[int, Mapping[str, Any]],
        stored: Mapping[int, Mapping[str, Any]],
        frozen: Collection[int],
    ) -> _PartOfBatch:
        """Count the labels that changed, and read what the part needs of other rounds."""
        rounds = [
            member.round
            for member in batch.affected
            if part.applies(member.round, batch.labels[member.round.id])
        ]
        changed = [round_ for round_ in rounds if round_.is_changed]
        of_draw = {each: of[part.name] for each, of in drawn.items() if part.name in of}
        counts = {
            each: of[part.name]
            for each, of in stored.items()
            if part.name in of and each not in {round_.id for round_ in changed}
        }
        unchanged = list(counts)
        for round_ in changed:
            counted = LabeledRound(
                round_,
                batch.labels[round_.id],
                of_draw.get(round_.id),
                stored.get(round_.id, {}).get(part.name),
                batch.recurring[round_.id],
                round_.id in frozen,
            )
            counts[round_.id] = part.counts(counted)
        before = [each.id for each in batch.earlier][-part.reach :] if part.reach and rounds else []
        past = part_store.read_past(connection, before, part.name) if before else {}
        repeated = {
            name: report_store.read_part(connection, unchanged, name)
            for name in part.repeats
            if unchanged
        }
        return cls(part, of_draw, counts, [past.get(each) for each in before], repeated)

    def add_to(
        self, parts: VersionParts, batch: HistoryBatch, index: int, estimates: Estimates
    ) -> None:
        """Add what this part has of the affected round at an index."""
        part, member = self.part, batch.affected[index]
        round_, labels = member.round, batch.labels[member.round.id]
        if not part.applies(round_, labels):
            return
        counts = self.counts.get(round_.id)
        if counts is not None:
            parts.counts[part.name] = counts
        version = ReportedVersion(
            member=member,
            labels=labels,
            estimate=estimates[round_.id],
            drawn=self.drawn.get(round_.id),
            counts=counts,
            earlier=self._before(batch, index) if part.reach else (),
            repeated={name: of[round_.id] for name, of in self.repeated.items() if round_.id in of},
            before=batch.before(index),
            checked=batch.checked.get(round_.id),
        )
        fields = part.fields(version)
        parts.fields |= fields
        parts.notices += part.notices(version, fields)

    def _before(self, batch: HistoryBatch, index: int) -> Sequence[PastCounts | None]:
        affected = [
            None
            if (counts := self.counts.get(member.round.id)) is None
            else PastCounts(member.round.settings.model_dump(mode="json"), counts)
            for member in batch.affected[:index]
        ]
        return [*self.earlier, *affected][-self.part.reach :]
