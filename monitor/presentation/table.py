"""A table of a page, before a terminal, Markdown or HTML renders it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Rows of cells under a head; ``title`` names it within its section, ``lines`` explain it."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    lines: Sequence[str] = ()
