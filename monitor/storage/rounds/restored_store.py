"""A store that was restored: that it looks like one, and versions above what others have seen."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sqlalchemy import Connection, or_, select

from monitor.domain.state import RoundState
from monitor.storage.database import change, remove
from monitor.storage.tables import alerts, concerns, rounds

if TYPE_CHECKING:
    from monitor.domain.settings import RoundSettings

DOUBT = "restored"  # Kind of the concern that the store looks older than what MLflow shows


def start_above(connection: Connection, round_id: int, version: int) -> bool:
    """Let the first estimate of a round without any come above a version.

    False if the round has an estimate, or starts there already.
    """
    is_early = rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING))
    which = (rounds.c.id == round_id, is_early, rounds.c.version < version)
    # The version stays under the first one, as of every round without an estimate.
    return change(connection, rounds, *which, first_version=version + 1, version=version) == 1


def freeze_settings(connection: Connection, round_id: int, settings: RoundSettings) -> None:
    """Replace the settings of a round that is not drawn yet, or not all of it."""
    is_undrawn = or_(rounds.c.state == RoundState.OPEN, rounds.c.second_wave_at.is_not(None))
    frozen = settings.model_dump(mode="json")
    change(connection, rounds, rounds.c.id == round_id, is_undrawn, settings=frozen)


def forget_doubt(connection: Connection, monitor_id: int) -> None:
    """Remove such notes once the matter was looked into."""
    own = select(rounds.c.id).where(rounds.c.monitor_id == monitor_id)
    remove(connection, concerns, concerns.c.kind == DOUBT, concerns.c.round_id.in_(own))


def read_doubts(connection: Connection, round_ids: Collection[int]) -> dict[int, str]:
    """Read the notes of some rounds, of those that have one."""
    query = select(concerns.c.round_id, concerns.c.sentence).where(
        concerns.c.kind == DOUBT, concerns.c.round_id.in_(round_ids)
    )
    return {row.round_id: row.sentence for row in connection.execute(query)}


def unknown_alerts(connection: Connection, ids: Collection[str]) -> set[str]:
    """Find which of these alerts the store does not hold."""
    existing = connection.scalars(select(alerts.c.id).where(alerts.c.id.in_(ids)))
    return set(ids) - set(existing)
