"""How far the people who label a round agree, and whether they answer gold items as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from monitor.domain.label_parts import parts_of
from monitor.domain.model import Answer
from monitor.domain.report import AgreementRow, GoldRow, NoticeRow
from monitor.presentation.notices import disagreement_sentence, gold_sentence, has_fallen
from monitor.stats.labels import agreement
from monitor.storage.pages import control_store
from monitor.storage.results.past_counts import first_phase_of
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from monitor.rounds.estimation.batch import HistoryBatch
    from monitor.stats.core.counts import Interval
    from monitor.storage.labels.round_labels import SeveralAnswers
    from monitor.storage.samples.frame_store import StratumTally

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
    """Compute the agreement of a round; None if no item has two answers.

    ``cells`` says that strata are score cells.
    """
    if not several:
        return None
    # Cells of like scores are neighbours; bands keep the order that their stored figures are from.
    parts = sorted(strata, key=lambda part: part.stratum.flagged) if cells else strata
    answers = _answers(several)
    differ = [item for item in several if len(set(item.answers.values())) > 1]
    point, low, high = _ends(
        agreement.disagreement(
            [part.size for part in parts],
            [_of(several, part.stratum.name) for part in parts],
            [_of(differ, part.stratum.name) for part in parts],
            seed=seed,
            cells=cells,
            first_phase=first_phase_of(parts),
        )
    )
    kappa = _kappa(answers, seed)
    alpha = agreement.krippendorff_alpha(answers, seed=seed)
    return AgreementRow(
        items=len(several),
        disagreed=len(differ),
        annotators=answers.shape[1],
        disagreement=point,
        disagreement_low=low,
        disagreement_high=high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
        alpha=alpha.value,
        alpha_low=alpha.low,
        alpha_high=alpha.high,
    )


def _answers(several: Sequence[SeveralAnswers]) -> NDArray[np.float64]:
    """Arrange the answers, a row for each item and a column for each person; NaN for none."""
    people = sorted({name for item in several for name in item.answers})
    answers = np.full((len(several), len(people)), np.nan)
    for row, item in zip(answers, several, strict=True):
        for name, answer in item.answers.items():
            row[people.index(name)] = answer is Answer.POSITIVE
    return answers


def _ends(share: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if share is None else (share.point, share.low, share.high)


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


def gold_rows(connection: Connection, batch: HistoryBatch) -> dict[int, GoldRow]:
    """Count the right answers to gold items, by the id of each affected round with any."""
    due = batch.affected[0].round
    if not any(part.get("gold") for part in parts_of(due.settings.labeling)):
        return {}
    rounds = {one.id: one for one in round_store.closed_rounds(connection, batch.history.id)}
    rounds |= {member.round.id: member.round for member in batch.affected}
    in_order = sorted(rounds.values(), key=lambda one: one.slot)
    answers = control_store.gold_answers(connection, [one.name for one in in_order])
    answered = Counter(control.round_name for control, _ in answers)
    right = Counter(control.round_name for control, is_right in answers if is_right)
    rows: dict[int, GoldRow] = {}
    right_before = answered_before = 0
    for one in in_order:
        if one.slot >= due.slot and answered[one.name]:
            rows[one.id] = _row(right[one.name], answered[one.name], right_before, answered_before)
        right_before += right[one.name]
        answered_before += answered[one.name]
    return rows


def _row(right: int, answered: int, right_before: int, answered_before: int) -> GoldRow:
    total, all_right = answered + answered_before, right + right_before
    chance = float(stats.hypergeom.cdf(right, total, all_right, answered))
    return GoldRow(
        right=right,
        answered=answered,
        right_before=right_before,
        answered_before=answered_before,
        chance=float(f"{chance:.3g}") if answered_before else None,
    )


def gold_notices(row: GoldRow | None) -> list[NoticeRow]:
    """Note that people answer gold items worse than in earlier rounds."""
    if row is None or not has_fallen(row):
        return []
    share = row.right / row.answered
    return [NoticeRow(kind="gold", subject="people", value=share, sentence=gold_sentence(row))]
