"""The round after a reported one."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.payload import Report


class NextRoundRow(Report):
    """What the settings of a round ask of the one after it.

    It is due at ``slot``, asks for ``max_labels`` at most, fewer where these reach the ``margins``
    (half-widths by metric), and people have ``hours`` to answer.
    """

    slot: datetime
    max_labels: int
    margins: dict[str, float]
    hours: float
