"""What keeps a monitor from being called ok though its rounds go on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Matter(StrEnum):
    """What about a round needs a look."""

    CONCERN = "concern"
    ABANDONED = "abandoned"
    NOT_ESTIMABLE = "not_estimable"
    UNANSWERED = "unanswered"


@dataclass(frozen=True, slots=True)
class Attention:
    """Something about a round of a monitor that needs a look.

    ``reason`` is the sentence of a concern of a ``kind``, or why the round or the ``metric`` has no
    estimate.
    """

    monitor: str
    round: int
    matter: Matter
    reason: str | None = None
    metric: str | None = None
    kind: str | None = None
