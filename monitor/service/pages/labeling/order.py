"""The order in which one person gets tasks: their own within each block of the common one."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from monitor.storage.page_store import PageTask

BLOCK = 50
"""Tasks of the order that all have in common within which each person has an order of their own;
where the round may stop, fewer: none goes out past a look while there are some before it."""


def in_own_order(
    tasks: Sequence[PageTask], annotator: str, stopping: Collection[str]
) -> list[PageTask]:
    """Shuffle each block of each round for one person; rounds and blocks stay in their order.

    In a round that may stop, blocks end at its looks too. Else a look would wait for answers that
    lie behind it, and they would be given for nothing.
    """
    ordered: list[PageTask] = []
    for name, of_round in groupby(tasks, attrgetter("round_name")):
        mine = list(of_round)
        ends = _looks(len(mine)) if name in stopping else []
        places = [
            (bisect_right(ends, place), place // BLOCK, _own_place(task, annotator), task)
            for place, task in enumerate(mine)
        ]
        ordered += [task for *_, task in sorted(places, key=itemgetter(0, 1, 2))]
    return ordered


def _looks(planned: int) -> list[int]:
    from monitor.stats.estimation.stopping import looks  # noqa: PLC0415  takes almost a second

    return looks(planned)


def _own_place(task: PageTask, annotator: str) -> bytes:
    text = f"order|{annotator}|{task.key}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
