"""The order in which one person gets tasks: their own within each block of the common one."""

from __future__ import annotations

import hashlib
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.storage.pages.page_store import PageTask

BLOCK = 50
"""Tasks of the order that all have in common within which each person has an order of their own."""


def in_own_order(tasks: Sequence[PageTask], annotator: str) -> list[PageTask]:
    """Shuffle each block of each round for one person; rounds and blocks stay in their order."""
    ordered: list[PageTask] = []
    for _, of_round in groupby(tasks, attrgetter("round_name")):
        locations = [
            (index // BLOCK, _own_position(task, annotator), task)
            for index, task in enumerate(of_round)
        ]
        ordered += [task for *_, task in sorted(locations, key=itemgetter(0, 1))]
    return ordered


def _own_position(task: PageTask, annotator: str) -> bytes:
    text = f"order|{annotator}|{task.key}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
