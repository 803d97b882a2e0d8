"""A monitor without limits: how long it learns, and which limits it proposes then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.settings import MonitorSettings
    from monitor.storage.rounds.round_store import Round


class LimitProposal(NamedTuple):
    """Limits by metric, and the missing answers of the rounds that they are proposed by."""

    limits: dict[str, float]
    unlabeled: int


def proposed_limits(
    connection: Connection, settings: MonitorSettings, last: Round | None
) -> LimitProposal:
    """Propose limits for a monitor that has none, by its latest rounds; ``last`` closed last."""
    if settings.round.limits.bounds or last is None or last.history_id is None:
        return LimitProposal({}, 0)
    # scipy takes half a second
    from monitor.rounds.estimation.estimate import propose_limits, unlabeled_of  # noqa: PLC0415
    from monitor.rounds.estimation.history import before_launch  # noqa: PLC0415
    from monitor.rounds.estimation.tally import Tally  # noqa: PLC0415

    history = frame_store.read_history(connection, last.history_id)
    ids = [round_.id for round_ in round_store.closed_rounds(connection, history.id)]
    stored = estimate_store.read_counts(connection, ids)
    tallies = [Tally(stored[each]) for each in ids]
    reference = before_launch(tallies[-1].frame, history.reference)
    limits = propose_limits(tallies, reference, last.settings.sample, seed=last.sobol_seed)
    return LimitProposal(limits, unlabeled_of(tallies))
