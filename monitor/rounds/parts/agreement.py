"""Agreement of people who answered the same items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from monitor.domain.model import Answer
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.presentation.parts.agreement import AgreementRow, disagreement_sentence
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.stats.labels import agreement
from monitor.storage.labels.round_labels import SeveralAnswers
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AgreementPart(ReportPart):
    """Agreement in a round; its counts are the final figures, since it needs no other round."""

    name = "agreement"

    def counts(self, counted: LabeledRound) -> Any:
        """Compute the agreement of a round; None if no item has two answers."""
        round_, labels = counted.round, counted.labels
        cells = round_.settings.sample.cells is not None
        several, seed = labels.several_answers(), round_.sobol_seed
        row = agreement_row(several, labels.strata, seed=seed, cells=cells)
        return None if row is None else row.model_dump()

    def corrects(self, round_: Round) -> bool:
        """Ignore agreement that was computed without planned overlap."""
        return round_.settings.overlap > 0

    def row(self, version: ReportedVersion) -> AgreementRow | None:
        """Return the figures."""
        return None if version.counts is None else AgreementRow(**version.counts)

    def notices(self, version: ReportedVersion, row: AgreementRow | None) -> list[NoticeRow]:  # noqa: ARG002
        """Note that people agree too little."""
        return disagreement_notices(row)


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
    # Neighbouring cells have similar scores; bands keep the order of their stored figures.
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
