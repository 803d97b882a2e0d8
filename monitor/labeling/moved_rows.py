"""Label files with a column that was sorted by itself.

Spreadsheets sort a selection and leave the other columns as they are. Answers are then beside the
key of another item.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import lgamma, log
from typing import TYPE_CHECKING, Any

from monitor.domain.shown import plain_text
from monitor.domain.visible import visible_lines
from monitor.labeling.cells import own_name, text_of

if TYPE_CHECKING:
    from monitor.domain.model import Task

_BY_CHANCE = 1e-6
_COMPARED = 200  # Characters compared: a workbook cuts long texts, and all differ early


def column_of(name: str) -> str:
    """Name the column of a task file that shows something of an item, beside ours."""
    return visible_lines(name if own_name(name) is None else f"shown {name}")


def differing(task: Task, cells: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """Find the shown cells of a row that are not its task's; None if there is nothing to compare.

    Each with the name of its part. A spreadsheet may write a number or a case in another way.
    """
    compared = [
        (name, _plain(text_of(cells.get(column_of(name).strip()))), _plain(plain_text(value)))
        for name, value in task.shown.items()
    ]
    compared = [(name, cell, shown) for name, cell, shown in compared if cell and shown]
    return (
        tuple((name, cell) for name, cell, shown in compared if cell != shown) if compared else None
    )


def moved_columns(
    rows: Sequence[tuple[tuple[str, str], ...]], tasks: Iterable[Task]
) -> list[str | None]:
    """Find for each row the first shown column with a cell of another of these tasks, if any.

    What differs in another way, such as a date that the spreadsheet writes differently, says
    nothing.
    """
    names = {name for row in rows for name, _ in row}
    shown = {
        (name, _plain(plain_text(task.shown[name])))
        for task in tasks
        for name in names & task.shown.keys()
    }
    return [next((cell[0] for cell in row if cell in shown), None) for row in rows]


def export_order(task: Task) -> str:
    """Return what tasks are sorted by in a task file: their places, else hashes of their keys."""
    return task.place or hashlib.sha256(task.key.encode()).hexdigest()


def sorted_answers(rows: Sequence[tuple[Task, str]]) -> bool:
    """Return whether the answers of a file were sorted by themselves.

    The rows, of task and answer, are in the random order of the export, while each answer is one
    block of rows. Honest answers are so with a probability of ``d! a! b! ... / n!`` for ``n`` rows
    and ``d`` different answers, given ``a``, ``b``, ... times. Below one in a million counts as
    sorted.

    >>> from monitor.domain.model import Task
    >>> sorted_answers([(Task("t1", "a"), "yes"), (Task("t2", "b"), "no")])
    False
    """
    order = [export_order(task) for task, _ in rows]
    counts = Counter(answer for _, answer in rows)
    blocks = sum(1 for _ in groupby(answer for _, answer in rows))
    if not 1 < len(counts) == blocks or order != sorted(order):
        return False
    log_chance = lgamma(len(counts) + 1) - lgamma(len(rows) + 1)
    log_chance += sum(lgamma(count + 1) for count in counts.values())
    return log_chance < log(_BY_CHANCE)


def _plain(text: str) -> str:
    """Reduce a cell to what a spreadsheet keeps of it.

    >>> _plain("  Two   words"), _plain("0.50") == _plain("0.5"), _plain("1e3") == _plain("1000")
    ('two words', True, True)
    """
    text = " ".join(visible_lines(text).casefold().split())[:_COMPARED]
    try:
        return repr(float(text))
    except ValueError:
        return text
