"""What another setting means for rounds, as codes and values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Begins(StrEnum):
    """What a round may be the first of."""

    HISTORY = "history"
    SCHEDULE = "schedule"


class HistoryStart(StrEnum):
    """What the history of the next round starts from, where the newest round is of another."""

    KNOWN = "known"  # It goes on with a history that these settings had before
    REBINNED = "rebinned"  # Labels so far, counted by the new strata
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting, or a model version, that two rounds do not share; None: not set."""

    name: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Change:
    """What a round is the first of, and by which differences to the round before."""

    begins: Begins
    differences: tuple[Difference, ...]
