"""Deleting what people were shown: of one item on request, and of monitors that are gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import TryLater
from monitor.presentation.moves import forgotten_item_reason
from monitor.rounds.claims import claimed
from monitor.storage.labels import label_store
from monitor.storage.pages import page_store
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.samples import payload_store

if TYPE_CHECKING:
    from monitor.domain.ports import Clock, Labeler
    from monitor.storage.database import Database
    from monitor.storage.rounds.round_store import Round

log = structlog.get_logger("monitor.rounds")


@dataclass(frozen=True, slots=True)
class ForgottenItem:
    """What was deleted of one item in one round.

    deleted: Whether the store held what people saw of it; false where that was deleted before.
    places: Files out of which its texts were taken.
    reached: Whether the labeler could be asked; false where the config no longer has the monitor.
    """

    monitor: str
    round: int
    deleted: bool
    places: tuple[str, ...]
    reached: bool


def forget_item(
    database: Database, round_: Round, item_id: str, labelers: Sequence[Labeler], clock: Clock
) -> ForgottenItem:
    """Delete what people were shown of an item in a round; its labels and counts stay.

    ``labelers`` are the round's; none if the config no longer has the monitor.

    Safe to repeat: what a crash left in files goes the next time.

    Raises `TryLater` if a worker is busy with the round and might just be writing the item into a
    file.
    """
    # Under a claim, since a worker that hands out tasks would write the item into its file again.
    with claimed(database, round_.id) as claim:
        if claim is not None:
            return _forgotten(database, round_, item_id, labelers, clock)
    message = (
        f"another worker is busy with round {round_.number} of {round_.monitor}; nothing of it was "
        "deleted, run the same command again"
    )
    raise TryLater(message)


def _forgotten(
    database: Database, this_round: Round, item_id: str, labelers: Sequence[Labeler], clock: Clock
) -> ForgottenItem:
    with database.write() as connection:
        keys = payload_store.task_keys(connection, this_round.id, item_id)
        deleted = payload_store.forget_item(connection, this_round.id, item_id)
        deleted |= page_store.empty_tasks(connection, this_round.name, keys)
        if deleted:
            # Read again: it may have moved before it was claimed, and the event keeps its state.
            round_ = round_store.read_round(connection, this_round.id)
            reason = forgotten_item_reason(item_id)
            round_transitions.note_event(connection, round_, reason, clock())
    emptied: list[str] = []
    for labeler in labelers:
        with outside("forget"):
            emptied += labeler.forget(this_round.name, keys)
    return ForgottenItem(
        this_round.monitor, this_round.number, deleted, tuple(emptied), bool(labelers)
    )


def forget_removed_monitors(database: Database, names: Collection[str], clock: Clock) -> None:
    """Delete what people were shown for monitors that the config no longer has, in due time.

    Their label files are out of reach: only the config knew the folder.
    """
    with database.read() as connection:
        rounds = payload_store.removed_monitors(connection, names, clock())
    for round_ in rounds:
        with database.write() as connection:
            label_store.forget_payloads(connection, round_.id, first_version=round_.first_version)
            page_store.empty_tasks(connection, round_.name)
        log.info(
            "payloads of a removed monitor deleted", monitor=round_.monitor, round=round_.number
        )
