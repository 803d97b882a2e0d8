"""Monitors that one block of the config stands for, told from one another by a value each."""

from __future__ import annotations

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
