"""Disputed items: people contradict each other and nobody has decided, and a limit hangs on it.

Estimates leave such items out, so somebody who contradicts all bad news makes it look good. A
round in which a limit is kept or not, depending on how its disputed items are counted, ends no
alert, and the monitor's status is not "ok" until they are decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from monitor.presentation.notices import disputed_sentence
from monitor.stats.estimation.missing import point_range
from monitor.storage.results import concern_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.rounds.estimation.batch import Member
    from monitor.stats.detection.half_space import Limit
    from monitor.storage.labels.round_labels import RoundLabels

KIND = "disputed "  # Kinds of concern about disputed items begin so; the metric follows


def find_disputes(member: Member, labels: RoundLabels) -> dict[str, str]:
    """State by how much disputed items of a round move each metric whose limit depends on them."""
    settings = member.round.settings
    items = labels.disputed()
    if not items:
        return {}
    result: dict[str, str] = {}
    disputed = np.array([len(items.get(s.name, ())) for s in member.tally.frame])
    for limit in settings.limits.watched():
        ways = point_range(
            member.tally.counts,
            disputed,
            limit.metric,
            seed=member.round.sobol_seed,
            cells=settings.sample.cells is not None,
        )
        if ways is not None and _crosses(ways, limit):
            result[limit.metric] = _sentence(member, int(disputed.sum()), ways, limit)
    return result


def _crosses(ways: tuple[float, float], limit: Limit) -> bool:
    low, high = ways
    if limit.side == "at_least":
        return low < limit.value <= high
    return low <= limit.value < high


def _sentence(member: Member, disputed: int, ways: tuple[float, float], limit: Limit) -> str:
    return disputed_sentence(
        member.round.monitor,
        limit.metric,
        limit.value,
        disputed=disputed,
        answered=disputed + int(member.tally.counts.labeled.sum()),
        ways=ways,
    )


def disputed_metrics(connection: Connection, round_ids: Sequence[int]) -> dict[int, set[str]]:
    """Find the metrics whose limit hangs on disputed items, for each of some rounds."""
    kinds = concern_store.read_kinds(connection, round_ids)
    return {
        each: {kind.removeprefix(KIND) for kind in concern_kinds if kind.startswith(KIND)}
        for each, concern_kinds in kinds.items()
    }
