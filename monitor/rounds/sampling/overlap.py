"""Which drawn items a second person labels too."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Item


def doubled(drawn: Sequence[Item], overlap: float, *, cells: bool = False) -> set[str]:
    """Choose the items that a second person labels too: of each stratum the first by draw.

    Where strata are score cells of a few items each, the share is that of all items before them
    and theirs together; rounded up in each it would be a larger one.
    """
    of: defaultdict[str, list[Item]] = defaultdict(list)
    for item in drawn:
        of[item.stratum].append(item)
    before, result = 0, set[str]()
    for own in of.values():
        first = _share(overlap, before + len(own)) - _share(overlap, before)
        result |= {item.id for item in sorted(own, key=lambda item: item.order)[:first]}
        before += len(own) if cells else 0
    return result


def _share(overlap: float, items: int) -> int:
    # Rounded first: .07 * 100 is a little over 7, and would ask for an eighth.
    return math.ceil(round(overlap * items, 6))
