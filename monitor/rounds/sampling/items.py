"""The items that a plan takes of a counted window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.model import Frame, Item

if TYPE_CHECKING:
    from collections.abc import Sequence


def items_of(frame: Frame, expected: Sequence[int]) -> list[Item]:
    """Take the first candidates of each stratum, as many as the plan gives it."""
    return [
        Item(
            c.id,
            part.stratum.name,
            order,
            c.score,
            part.stratum.flagged,
            dict(zip(frame.segment_columns, c.segments, strict=True)),
            c.challenged,
        )
        for part, size in zip(frame.strata, expected, strict=True)
        for order, c in enumerate(part.candidates[:size])
    ]
