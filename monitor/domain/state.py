"""The states of a round and the moves between them."""

from __future__ import annotations

from enum import StrEnum

from monitor.domain.errors import MoveNotAllowed


class RoundState(StrEnum):
    """The states of a round; the last three are final."""

    OPEN = "open"
    LABELING = "labeling"
    CLOSED = "closed"
    SKIPPED = "skipped"
    ABANDONED = "abandoned"


MOVES: dict[RoundState, frozenset[RoundState]] = {
    RoundState.OPEN: frozenset({RoundState.LABELING, RoundState.SKIPPED, RoundState.ABANDONED}),
    RoundState.LABELING: frozenset({RoundState.CLOSED, RoundState.ABANDONED}),
    RoundState.CLOSED: frozenset(),
    RoundState.SKIPPED: frozenset({RoundState.OPEN}),  # a backfill may fill a recorded skip
    RoundState.ABANDONED: frozenset({RoundState.OPEN}),  # by hand, unless it was drawn
}

ENDED = frozenset({RoundState.CLOSED, RoundState.SKIPPED, RoundState.ABANDONED})


def check_move(before: RoundState, after: RoundState) -> None:
    """Raise `MoveNotAllowed` unless a round may go from ``before`` to ``after``."""
    if after not in MOVES[before]:
        message = f"a round cannot go from {before} to {after}"
        raise MoveNotAllowed(message)
