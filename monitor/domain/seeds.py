"""What fixes all that is random in a round."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monitor.domain.block import Block


def seed_of(store: str, monitor_id: int, slot: datetime, block: Block | None = None) -> str:
    """Fix all that is random in the round of a slot.

    Monitors of one block have the same, so that they draw in the same order and their samples
    overlap.
    """
    drawing = monitor_id if block is None else f"block {block.name}"
    text = f"{store}/{drawing}/{slot.isoformat()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
