"""The rounds of a monitor, or of all, with their estimates and where something new began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.rounds.opening.setting_changes import read_changes
from monitor.rounds.status import first_shown
from monitor.storage.overview import many_rounds
from monitor.storage.results.restatement_store import restated_themselves
from monitor.storage.rounds import round_lists

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.report import EstimateRow
    from monitor.domain.settings import Change
    from monitor.storage.rounds.round_lists import ListQuery
    from monitor.storage.rounds.round_store import Round


@dataclass(frozen=True, slots=True)
class Row:
    """A round, its estimates, what it is the first of, and whether it was restated."""

    round: Round
    estimates: Sequence[EstimateRow]
    changes: Sequence[Change]
    restated: bool


@dataclass(frozen=True, slots=True)
class ListedRounds:
    """The rounds to list, in slot order, and the omitted ones.

    ``hidden`` is how many rounds were skipped and are not listed, ``has_older`` whether the list
    begins later than the rounds do, ``any_rounds`` whether there are any at all.
    """

    rows: list[Row]
    hidden: int
    has_older: bool
    any_rounds: bool


def listed(connection: Connection, query: ListQuery) -> ListedRounds:
    """Read the rounds to list; what it takes grows with them, not with those left out."""
    ids, has_older = round_lists.find_listed(connection, query)
    rounds = many_rounds.read_many(connection, ids)
    changes = _changes(connection, rounds, query)
    restated = restated_themselves(connection, ids)
    estimates = many_rounds.read_shown(
        connection, [round_.id for round_ in rounds if round_.estimated_version]
    )
    rows = [
        Row(
            round_,
            first_shown(estimates.get(round_.id, [])),
            changes.get(round_.id, []),
            round_.id in restated,
        )
        for round_ in rounds
    ]
    hidden = 0 if query.skipped else round_lists.count_skipped(connection, query.monitor)
    any_rounds = bool(rows) or round_lists.has_rounds(connection, query.monitor)
    return ListedRounds(rows, hidden, has_older, any_rounds)


def _changes(
    connection: Connection, rounds: Sequence[Round], query: ListQuery
) -> dict[int, list[Change]]:
    """Find where something new began, also with the first round listed of a monitor."""
    first = {round_.monitor_id: round_.id for round_ in reversed(rounds)}
    previous = many_rounds.read_before(connection, [*first.values()], skipped=query.skipped)
    return read_changes(connection, sorted([*previous, *rounds], key=attrgetter("slot")))
