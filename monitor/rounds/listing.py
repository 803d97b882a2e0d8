"""The rounds of a monitor, or of all, with their estimates and where something new began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.domain.state import RoundState
from monitor.rounds.opening.setting_changes import read_changes
from monitor.rounds.status import shown_estimates
from monitor.storage import round_store
from monitor.storage.restatement_store import read_restated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from monitor.domain.report import EstimateRow
    from monitor.domain.setting_changes import Change
    from monitor.storage.round_store import Round


@dataclass(frozen=True, slots=True)
class Row:
    """A round, its estimates, what it is the first of, and whether it was restated."""

    round: Round
    estimates: Sequence[EstimateRow]
    changes: Sequence[Change]
    restated: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """The rounds to list, how many skipped ones are left out, and whether there are any at all."""

    rows: list[Row]
    hidden: int
    any_rounds: bool


def listed(
    connection: Connection, monitor: str | None, *, last: int | None, skipped: bool
) -> Listed:
    """Read the rounds to list: the ``last`` of each monitor, or all; skipped ones if asked for."""
    everything = round_store.find_rounds(connection, monitor)
    shown = [round_ for round_ in everything if skipped or round_.state is not RoundState.SKIPPED]
    changes = read_changes(connection, shown)
    own = {version.round_id for version in read_restated(connection) if version.own}
    hidden = len(everything) - len(shown)
    rows = [
        Row(
            round_,
            shown_estimates(connection, round_) if round_.estimated_version else [],
            changes.get(round_.id, []),
            round_.id in own,
        )
        for round_ in (shown if last is None else _newest(shown, last))
    ]
    return Listed(rows, hidden, bool(everything))


def _newest(rounds: Sequence[Round], last: int) -> list[Round]:
    """Choose the last rounds of each monitor; the order stays."""
    by_monitor: dict[str, list[int]] = {}
    for round_ in rounds:
        by_monitor.setdefault(round_.monitor, []).append(round_.id)
    chosen = {each for ids in by_monitor.values() for each in ids[-last:]}
    return [round_ for round_ in rounds if round_.id in chosen]
