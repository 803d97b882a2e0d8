"""Blocks of the config: one block defines several monitors, whose rounds share a seed."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal

from monitor.domain.setting_types import Settings


class Block(Settings):
    """The block that a monitor belongs to; stored with each of its rounds.

    ``name`` is the block's name, ``kind`` the setting that expands it into monitors. ``values``
    are the values of all its monitors in the order of the config, ``value`` is this monitor's. For
    the kind ``classes`` a value is a class, as text; items with this predicted class are flagged.
    """

    name: str
    kind: Literal["for_each", "classes"]
    value: str
    values: tuple[str, ...]


def seed_of(store: str, monitor_id: int, slot: datetime, block: Block | None = None) -> str:
    """Return the seed of the round of a slot; the monitors of one block share it."""
    drawing = monitor_id if block is None else f"block {block.name}"
    text = f"{store}/{drawing}/{slot.isoformat()}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
