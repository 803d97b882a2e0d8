"""What a version of a round says besides its estimates; nothing here is pooled or alerts.

Segments, a challenger and a judge have modules; how far people agree is here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.judge import JudgeRow
from monitor.domain.model import Answer
from monitor.domain.report import AgreementRow, NoticeRow, SegmentRow
from monitor.presentation.notices import disagreement_sentence
from monitor.rounds.estimation.challenge import Challenge, challenges
from monitor.rounds.estimation.judge import judge_row
from monitor.rounds.estimation.segments import (
    SegmentSearch,
    search_notices,
    segment_rows,
    segment_searches,
)
from monitor.rounds.estimation.types import HistoryBatch
from monitor.stats.labels import agreement
from monitor.storage.database import Database
from monitor.storage.labels import check_store, overlap_store
from monitor.storage.labels.check_store import Checked
from monitor.storage.labels.round_labels import RoundLabels, SeveralAnswers
from monitor.storage.results import challenger_store, segment_store
from monitor.storage.results.segment_store import SegmentCell
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Supplements:
    """Labels and estimates by segment, how people, challenger and judge do."""

    cells: tuple[SegmentCell, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    agreement: AgreementRow | None = None
    challenge: Challenge | None = None
    judge: JudgeRow | None = None
    search: SegmentSearch | None = None
    checks: Checked = field(default_factory=dict)

    @property
    def notices(self) -> list[NoticeRow]:
        """What is unusual about these."""
        return [
            *disagreement_notices(self.agreement),
            *search_notices(None if self.search is None else self.search.row),
        ]


def read_supplements(
    database: Database, batch: HistoryBatch, *, restating: Collection[int] = ()
) -> dict[int, Supplements]:
    """Gather them for each affected round: computed, or as stored where no label changed."""
    with database.read() as connection:
        compared = challenges(connection, batch)
        searches = segment_searches(connection, batch, restating)
        return {
            (each := member.round.id): replace(
                _supplements(connection, member.round, batch.labels[each]),
                challenge=compared.get(each),
                judge=judge_row(member, batch.before(index)),
                search=searches.get(each),
            )
            for index, member in enumerate(batch.affected)
        }


def _supplements(connection: Connection, round_: Round, labels: RoundLabels) -> Supplements:
    if not round_.is_changed:
        return stored_supplements(connection, round_.id, round_.version)
    cells = segment_store.current_cells(connection, round_.id, labels)
    rows = segment_rows(cells, labels.strata, round_.settings, seed=round_.sobol_seed)
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

    Ignore agreement that was computed without planned overlap.
    """
    stored = stored_supplements(connection, round_.id, round_.version)
    cells = segment_store.current_cells(connection, round_.id, labels)
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


FEWEST = 10

"""Items answered twice under which low agreement is not reported: chance alone moves alpha by
half there."""


def agreement_row(
    several: Sequence[SeveralAnswers],
    strata: Sequence[StratumTally],
    *,
    seed: int,
    cells: bool = False,
) -> AgreementRow | None:
    """Compute the agreement of a round; None if no item has two answers."""
    if not several:
        return None
    # Cells of like scores are neighbours; bands keep the order that their stored figures are from.
    parts = sorted(strata, key=lambda part: part.stratum.flagged) if cells else strata
    answers = _answer_table(several)
    differ = [item for item in several if len(set(item.answers.values())) > 1]
    share = agreement.disagreement(
        [part.size for part in parts],
        [_of(several, part.stratum.name) for part in parts],
        [_of(differ, part.stratum.name) for part in parts],
        seed=seed,
        cells=cells,
    )
    kappa = _kappa(answers, seed)
    alpha = agreement.krippendorff_alpha(answers, seed=seed)
    return AgreementRow(
        items=len(several),
        disagreed=len(differ),
        annotators=answers.shape[1],
        disagreement=None if share is None else share.point,
        disagreement_low=None if share is None else share.low,
        disagreement_high=None if share is None else share.high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
        alpha=alpha.value,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
    )


def _answer_table(several: Sequence[SeveralAnswers]) -> NDArray[np.float64]:
    people = sorted({name for item in several for name in item.answers})
    answers = np.full((len(several), len(people)), np.nan)
    for row, item in zip(answers, several, strict=True):
        for name, answer in item.answers.items():
            row[people.index(name)] = answer is Answer.POSITIVE
    return answers


def _of(several: Sequence[SeveralAnswers], stratum: str) -> int:
    return sum(answers.stratum == stratum for answers in several)


def _kappa(answers: NDArray[np.float64], seed: int) -> agreement.Agreement:
    """Cohen's kappa of two people, else Fleiss' of the first two answers to each item."""
    if answers.shape[1] == 2:  # noqa: PLR2004
        return agreement.cohen_kappa(answers[:, 0], answers[:, 1])
    pairs = np.array([row[~np.isnan(row)][:2] for row in answers])
    return agreement.fleiss_kappa(pairs, seed=seed)


def disagreement_notices(row: AgreementRow | None) -> list[NoticeRow]:
    """Note that people agree too little to conclude from their labels."""
    if row is None or row.items < FEWEST or row.alpha is None:
        return []
    if row.alpha >= agreement.TENTATIVE_ALPHA:
        return []
    sentence = disagreement_sentence(row, row.alpha)
    return [NoticeRow(kind="disagreement", subject="labels", value=row.alpha, sentence=sentence)]
