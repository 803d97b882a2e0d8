"""A table of a page, before a terminal, Markdown or HTML renders it."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GAP = "  "
_COUNT = re.compile(r"[\d,]+|-|")
NARROWEST = 20
"""Columns that a text keeps, however narrow the terminal."""


class Table(NamedTuple):
    """Rows of cells under a head, numbers in the columns ``right``; ``lines`` explain it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    lines: Sequence[str] = ()
    right: str = ""

    @property
    def numbers(self) -> str:
        """Return the columns to align right: ``right``, and later ones that have only counts."""
        columns = enumerate(zip(*self.rows, strict=True))
        counts = [str(n) for n, cells in columns if n and all(map(_COUNT.fullmatch, cells))]
        return self.right + "".join(counts)


def table_lines(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: str = "",
    columns: int | None = None,
) -> list[str]:
    """Lay out a table; the last column goes on below itself where ``columns`` are too few.

    >>> for line in table_lines(["round", "state"], [["1", "closed"], ["12", "open"]], right="0"):
    ...     print(line)
    round  state
    -----  ------
        1  closed
       12  open
    """
    texts = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    indent = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    if columns is not None and indent + widths[-1] > columns:
        widths[-1] = max(columns - indent, min(widths[-1], NARROWEST))
    rule = ["-" * size for size in widths]
    return [
        line
        for row in (list(head), rule, *texts)
        for line in _row_lines(row, widths, right, indent=indent)
    ]


def _row_lines(row: list[str], widths: Sequence[int], right: str, *, indent: int) -> list[str]:
    parts = textwrap.wrap(row[-1], widths[-1], break_on_hyphens=False) or [""]
    cells = [
        cell.rjust(size) if str(index) in right else cell.ljust(size)
        for index, (cell, size) in enumerate(zip([*row[:-1], parts[0]], widths, strict=True))
    ]
    return [GAP.join(cells).rstrip(), *(" " * indent + part for part in parts[1:])]
