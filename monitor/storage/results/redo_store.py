"""An abandoned round is done again: what it had is withdrawn, its versions go on from there."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, select

from monitor.domain.model import Verdict
from monitor.domain.state import RoundState, check_move
from monitor.storage.database import change, remove
from monitor.storage.rounds.round_transitions import note_move
from monitor.storage.tables import (
    censuses,
    challenger_sizes,
    concerns,
    items,
    judgings,
    label_events,
    payloads,
    planned_margins,
    provisionals,
    reserve,
    round_issues,
    rounds,
    segment_sizes,
    strata,
    tasks,
    verdicts,
)

if TYPE_CHECKING:
    from monitor.domain.settings import RoundSettings
    from monitor.storage.rounds.round_store import Round

_WITHDRAWN = (
    concerns,
    planned_margins,
    provisionals,
    round_issues,
    tasks,
    payloads,
    items,
    censuses,
    reserve,
    segment_sizes,
    challenger_sizes,
    strata,
    judgings,
)
"""Tables that hold what was drawn and noted; each before those that it refers to."""
_FORGOTTEN = [
    *("reason", "first_look_at", "second_wave_at", "snapshot", "deadline", "closed_at"),
    *("labels_until", "history_id", "rows", "estimated_revision"),
]


def labels_taken(connection: Connection, round_id: int) -> int:
    """Count the items of a round that ever got an answer."""
    query = select(func.count(label_events.c.item_id.distinct()))
    return int(connection.execute(query.where(label_events.c.round_id == round_id)).scalar_one())


def reopen_abandoned(
    connection: Connection, round_: Round, *, settings: RoundSettings, now: datetime, reason: str
) -> bool:
    """Open an abandoned round again; false if it has labels, or another worker was faster.

    Its next version lies above all that MLflow may have seen of it. The seed stays.
    """
    check_move(RoundState.ABANDONED, RoundState.OPEN)
    if labels_taken(connection, round_.id):
        return False
    is_ours = rounds.c.first_version == round_.first_version
    opened = change(
        connection,
        rounds,
        *(rounds.c.id == round_.id, rounds.c.state == RoundState.ABANDONED, is_ours),
        state=RoundState.OPEN,
        settings=settings.model_dump(mode="json"),
        opened_at=now,
        version=round_.first_version,
        first_version=round_.first_version + 1,
        **dict.fromkeys(_FORGOTTEN),
    )
    if not opened:
        return False
    # No label refers to an item, as was asked above, so the sample can go.
    for table in _WITHDRAWN:
        remove(connection, table, table.c.round_id == round_.id)
    # Verdicts stay; where there is none, the judge is asked once more, with a whole budget.
    silent = verdicts.c.verdict == Verdict.MISSING
    remove(connection, verdicts, verdicts.c.round_id == round_.id, silent)
    note_move(connection, round_.id, RoundState.ABANDONED, RoundState.OPEN, reason, now)
    return True
