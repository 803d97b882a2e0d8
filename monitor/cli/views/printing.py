"""Printing: text and tables for people, JSON for programs, and nothing else on standard output.

On a terminal tables keep to its width and words have colour. Elsewhere a row is a line, however
long, and there are no control codes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TextIO

import typer

GAP = "  "
NARROWEST = 20  # Columns that a text keeps, however narrow the terminal


def echo(text: str = "", *, indent: str = "", colour: str | None = None) -> None:
    """Print a line; on a terminal a long one goes on below itself, ``indent`` further in.

    ``colour`` colours the first word.
    """
    lines = _wrapped(text, sys.stdout, indent)
    first, space, rest = lines.partition(" ")
    print(lines if colour is None else f"{painted(first, colour)}{space}{rest}")  # noqa: T201


def echo_block(lines: Iterable[str]) -> None:
    """Print lines, if there are any, after an empty one."""
    for index, line in enumerate(lines):
        if index == 0:
            echo()
        echo(line, indent="  ")


def echo_error(text: str) -> None:
    """Print a line to standard error."""
    print(_wrapped(text, sys.stderr, "  "), file=sys.stderr)  # noqa: T201


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON; without an indent on one line, for a command that prints more."""
    text = json.dumps(value, default=_plain, indent=indent, ensure_ascii=False, allow_nan=False)
    print(text)  # noqa: T201


def width(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal; None if the output goes elsewhere."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def painted(text: str, colour: str) -> str:
    """Colour a text, on terminals that have colours and whose owner wants them."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, fg=colour, bold=True)


def table_lines(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: str = "",
    columns: int | None = None,
) -> list[str]:
    """Lay out a table, columns named in ``right`` (by position, ``"023"``) as numbers.

    The last column goes on below itself where ``columns`` are too few for it.

    >>> for line in table_lines(["round", "state"], [["1", "closed"], ["12", "open"]], right="0"):
    ...     print(line)
    round  state
    -----  ------
        1  closed
       12  open
    """
    texts = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    before = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
    if columns is not None and before + widths[-1] > columns:
        widths[-1] = max(columns - before, min(widths[-1], NARROWEST))
    rule = ["-" * size for size in widths]
    return [
        line
        for row in (list(head), rule, *texts)
        for line in _row_lines(row, widths, right, indent=before)
    ]


def echo_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> None:
    """Print a table, see `table_lines`."""
    print("\n".join(table_lines(head, rows, right=right, columns=width())))  # noqa: T201


def _wrapped(text: str, stream: TextIO, indent: str) -> str:
    columns = width(stream)
    if columns is None or len(text) <= columns:
        return text
    begin = text[: len(text) - len(text.lstrip())]
    # Addresses, ids and options stay whole, even past the edge: people copy them.
    return textwrap.fill(
        text,
        columns,
        subsequent_indent=begin + indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _row_lines(row: list[str], widths: Sequence[int], right: str, *, indent: int) -> list[str]:
    parts = textwrap.wrap(row[-1], widths[-1], break_on_hyphens=False) or [""]
    cells = [
        cell.rjust(size) if str(index) in right else cell.ljust(size)
        for index, (cell, size) in enumerate(zip([*row[:-1], parts[0]], widths, strict=True))
    ]
    return [GAP.join(cells).rstrip(), *(" " * indent + part for part in parts[1:])]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    message = f"{type(value).__name__} cannot be printed as JSON"
    raise TypeError(message)
