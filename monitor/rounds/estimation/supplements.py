"""What a version of a round says besides its estimates; nothing here is pooled or alerts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from monitor.domain.judge import JudgeRow, OnDemandJudge
from monitor.rounds.estimation.agreement import (
    agreement_row,
    disagreement_notices,
    gold_notices,
    gold_rows,
)
from monitor.rounds.estimation.challenge import Challenge, challenges
from monitor.rounds.estimation.judge import judge_row
from monitor.rounds.estimation.segments import (
    SegmentSearch,
    search_notices,
    segment_rows,
    segment_searches,
)
from monitor.storage.labels import check_store, overlap_store
from monitor.storage.results import challenger_store, segment_store
from monitor.storage.samples import verdict_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.report import AgreementRow, GoldRow, NoticeRow, SegmentRow
    from monitor.rounds.estimation.batch import HistoryBatch
    from monitor.storage.database import Database
    from monitor.storage.labels.check_store import Checked
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.results.segment_store import SegmentCell
    from monitor.storage.rounds.round_store import Round


@dataclass(frozen=True, slots=True)
class Supplements:
    """Labels and estimates by segment, how people, challenger and judge do."""

    cells: tuple[SegmentCell, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    agreement: AgreementRow | None = None
    challenge: Challenge | None = None
    judge: JudgeRow | None = None
    gold: GoldRow | None = None
    search: SegmentSearch | None = None
    checks: Checked = field(default_factory=dict)

    @property
    def notices(self) -> list[NoticeRow]:
        """What is unusual about these."""
        return [
            *disagreement_notices(self.agreement),
            *gold_notices(self.gold),
            *search_notices(None if self.search is None else self.search.row),
        ]


def read_supplements(
    database: Database, batch: HistoryBatch, *, restating: Collection[int] = ()
) -> dict[int, Supplements]:
    """Gather them for each affected round: computed, or as stored where no label changed.

    ``restating`` are the rounds that a person restates.
    """
    with database.read() as connection:
        compared, gold = challenges(connection, batch), gold_rows(connection, batch)
        searches = segment_searches(connection, batch, restating)
        judgings = verdict_store.read_judgings(connection, _asked(batch))
        return {
            (each := member.round.id): replace(
                _supplements(connection, member.round, batch.labels[each]),
                challenge=compared.get(each),
                judge=judge_row(member, batch.before(index), judgings.get(each)),
                gold=gold.get(each),
                search=searches.get(each),
            )
            for index, member in enumerate(batch.affected)
        }


def _asked(batch: HistoryBatch) -> list[int]:
    rounds = [member.round for member in batch.affected]
    return [one.id for one in rounds if isinstance(one.settings.judge, OnDemandJudge)]


def _supplements(connection: Connection, round_: Round, labels: RoundLabels) -> Supplements:
    if not round_.is_changed:
        return stored_supplements(connection, round_.id, round_.version)
    explored = round_.settings.explored
    cells = base = segment_store.current_cells(connection, round_.id, labels)
    if explored is not None:
        cells = segment_store.current_cells(connection, round_.id, labels, explored)
    rows = segment_rows(cells, base, labels.strata, round_.settings, seed=round_.sobol_seed)
    ordered = segment_store.in_order(rows)
    return Supplements(
        tuple(cells), tuple(ordered), _agreement(round_, labels), checks=labels.check_counts
    )


def _agreement(round_: Round, labels: RoundLabels) -> AgreementRow | None:
    several = labels.several_answers()
    cells = round_.settings.sample.cells is not None
    return agreement_row(several, labels.strata, seed=round_.sobol_seed, cells=cells)


def stored_supplements(connection: Connection, round_id: int, version: int) -> Supplements:
    """Read the supplements of a version."""
    return Supplements(
        cells=tuple(segment_store.read_counts(connection, round_id, version)),
        segments=tuple(segment_store.read_estimates(connection, round_id, version)),
        agreement=overlap_store.read_agreement(connection, round_id, version),
        checks=check_store.read_counts(connection, round_id, version),
    )


def write_supplements(
    connection: Connection, round_id: int, version: int, supplements: Supplements
) -> None:
    """Store them with a version."""
    segment_store.write_counts(connection, round_id, version, supplements.cells)
    segment_store.write_estimates(connection, round_id, version, supplements.segments)
    if supplements.search is not None and supplements.search.fresh is not None:
        segment_store.put_evidence(connection, round_id, supplements.search.fresh)
    if supplements.agreement is not None:
        overlap_store.write_agreement(connection, round_id, version, supplements.agreement)
    check_store.write_counts(connection, round_id, version, supplements.checks)
    if (result := supplements.challenge) is not None:
        challenger_store.write_counts(connection, round_id, version, result.counted)


def is_as_stored(connection: Connection, round_: Round, labels: RoundLabels) -> bool:
    """Whether the labels as they are now give the supplements of the last version.

    That people agree where nobody was asked to label twice is no news.
    """
    stored = stored_supplements(connection, round_.id, round_.version)
    explored = round_.settings.explored
    cells = segment_store.current_cells(connection, round_.id, labels, explored)
    if round_.settings.overlap and _agreement(round_, labels) != stored.agreement:
        return False
    if labels.check_counts != stored.checks:
        return False
    return tuple(cells) == stored.cells and _is_compared_equally(connection, round_, labels)


def _is_compared_equally(connection: Connection, round_: Round, labels: RoundLabels) -> bool:
    if round_.settings.challenger is None:
        return True
    current = challenger_store.current_strata(connection, round_.id, labels)
    return current == challenger_store.read_counts(connection, [round_.id]).get(round_.id, [])
