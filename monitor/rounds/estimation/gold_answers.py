"""Whether people answer gold items as before; if not, their labels may have changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scipy import stats

from monitor.domain.label_parts import parts_of
from monitor.domain.report import GoldRow, NoticeRow
from monitor.presentation.notices import gold_sentence, has_fallen
from monitor.storage.pages import control_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.rounds.estimation.batch import HistoryBatch


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
