"""How the blocks of classes stand: what was last reported of each, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monitor.domain.class_report import ClassOverview, ClassReport
from monitor.storage.results import class_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.settings import MonitorSettings
    from monitor.storage.database import Database
    from monitor.storage.rounds.round_store import Round


def class_overviews(database: Database, monitors: Sequence[MonitorSettings]) -> list[ClassOverview]:
    """Return how the blocks of classes stand that some monitors belong to, in their order."""
    blocks: dict[str, dict[str, str]] = {}
    for monitor in monitors:
        block = monitor.round.block
        if block is not None and block.kind == "classes":
            blocks.setdefault(block.name, {})[block.value] = monitor.name
    if not blocks:
        return []
    with database.read() as connection:
        return [_overview(connection, name, classes) for name, classes in blocks.items()]


def report_with_classes(connection: Connection, round_: Round) -> ClassReport | None:
    """Read what the block of a round's monitor reported of its window; None if nothing was."""
    block = round_.settings.block
    if block is None or block.kind != "classes":
        return None
    return class_store.report_of_block(connection, block.name, round_.slot)


def _overview(connection: Connection, block: str, classes: Mapping[str, str]) -> ClassOverview:
    names = list(classes.values())
    slot = max(class_store.newest_slots(connection, names).values(), default=None)
    report = None if slot is None else class_store.last_report(connection, block, slot)
    waits: tuple[str, ...] = ()
    if slot is not None and (report is None or report.slot < slot):
        rounds = class_store.rounds_of_slot(connection, names, slot)
        waits = tuple(
            value
            for value, name in classes.items()
            if name not in rounds or not rounds[name].is_settled
        )
    return ClassOverview(block, tuple(classes), report, slot, waits)
