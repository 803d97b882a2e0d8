"""Monitors that one block of the config stands for, and what their rounds share."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

from monitor.domain.setting_types import Settings


class Block(Settings):
    """To which block a monitor belongs; kept with each of its rounds.

    ``name`` is the block's name, ``kind`` the setting that makes monitors of it. ``value`` is
    this monitor's among the ``values`` of the block, in the order of the config: of kind
    ``classes`` the class, as text, that its items are flagged for.
    """

    name: str
    kind: Literal["for_each", "classes"]
    value: str
    values: tuple[str, ...]


def seed_of(store: str, monitor_id: int, slot: datetime, block: Block | None = None) -> str:
    """Fix all that is random in the round of a slot, alike for all monitors of one block."""
    drawing = monitor_id if block is None else f"block {block.name}"
    text = f"{store}/{drawing}/{slot.isoformat()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
