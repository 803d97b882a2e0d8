"""How many answers of a round are missing, and when the others came."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from monitor.domain.report import AnswersRow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from monitor.storage.rounds.round_store import Round
    from monitor.storage.samples.frame_store import StratumTally

MOST = 0.9  # the last answers depend on one person more than on the deadline


def answers_row(
    round_: Round, times: Sequence[datetime], strata: Sequence[StratumTally]
) -> AnswersRow:
    """Count the answers of a version, and say when the first answer to each item came.

    ``times`` are the times of the first answers, ascending.

    Late answers hint at those that never came: where they still come in at the closing, a longer
    deadline would have brought more.
    """
    return AnswersRow(
        wanted=sum(tally.planned for tally in strata),
        labeled=sum(tally.labeled for tally in strata),
        declined=sum(tally.declined for tally in strata),
        half_hours=_hours(round_.opened_at, _share_of(times, 0.5)),
        most_hours=_hours(round_.opened_at, _share_of(times, MOST)),
        last_hours=_hours(round_.opened_at, _share_of(times, 1.0)),
        open_hours=_hours(round_.opened_at, round_.closed_at),
    )


def _share_of(times: Sequence[datetime], share: float) -> datetime | None:
    """Time by which a share of the answers had come."""
    return times[math.ceil(share * len(times)) - 1] if times else None


def _hours(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else round(max(0.0, (end - start).total_seconds() / 3600), 2)
