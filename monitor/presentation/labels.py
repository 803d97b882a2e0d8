"""What is said of labels that are refused, where people are to answer again or otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Refusal


def same_person_reason(annotator: str) -> str:
    """Say why an answer to one copy of an item is refused: its other copy has this person's."""
    return (
        f"is a second copy of an item that {annotator!r} answered already; give it to another "
        "person"
    )


def refused_line(refused: Sequence[Refusal]) -> str:
    """Show one of the refused rows, and how many more there are."""
    more = "" if len(refused) == 1 else f"; {len(refused) - 1} more stand in the log"
    return f"label refused: {refused[0]}{more}"
