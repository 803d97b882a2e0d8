"""Which drawn items a second person labels too."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Item


def doubled(drawn: Sequence[Item], overlap: float) -> set[str]:
    """Choose the items that a second person labels too: of each stratum the first by draw."""
    of: defaultdict[str, list[Item]] = defaultdict(list)
    for item in sorted(drawn, key=lambda item: item.order):
        of[item.stratum].append(item)
    # Rounded first: .07 * 100 is a little over 7, and would ask for an eighth.
    return {
        item.id for mine in of.values() for item in mine[: math.ceil(round(overlap * len(mine), 6))]
    }
