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
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, TypeVar

import typer

from monitor.presentation.table import Table, table_lines
from monitor.results.result import dump

T = TypeVar("T")


def echo(text: str = "", *, indent: str = "", colour: str | None = None) -> None:
    """Print a line; wraps it for a terminal, with further lines ``indent`` further in.

    ``colour`` colours the first word.
    """
    lines = _wrapped(text, sys.stdout, indent)
    first, space, rest = lines.partition(" ")
    print(lines if colour is None else f"{painted(first, colour)}{space}{rest}")  # noqa: T201


def echo_error(text: str) -> None:
    """Print a line to standard error."""
    print(_wrapped(text, sys.stderr, "  "), file=sys.stderr)  # noqa: T201


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON; without an indent on one line, for a command that prints more."""
    text = json.dumps(dump(value), indent=indent, ensure_ascii=False, allow_nan=False)
    print(text)  # noqa: T201


def echo_answer(value: Any, document: str | Iterable[str | Table], *, json: bool) -> None:
    """Print an answer: its values for a program, or its document, which may be one sentence."""
    if json:
        echo_json(value)
    else:
        echo_document([document] if isinstance(document, str) else document)


def width(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal; None if the output goes elsewhere."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def painted(text: str, colour: str) -> str:
    """Colour a text, on terminals that have colours and whose owner wants them."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else typer.style(text, fg=colour, bold=True)


def echo_document(document: Iterable[str | Table]) -> None:
    """Print the lines and tables of a document."""
    for part in document:
        if isinstance(part, Table):
            lines = table_lines(part.head, part.rows, right=part.right, columns=width())
            print("\n".join(lines))  # noqa: T201
        else:
            echo(part, indent="  ")


def _wrapped(text: str, stream: TextIO, indent: str) -> str:
    columns = width(stream)
    if columns is None or len(text) <= columns:
        return text
    # Commands, addresses, ids and options stay whole, even past the edge: people copy them.
    return "\n".join(
        line
        if line.startswith(("  pr-monitor ", "  python -c "))
        else textwrap.fill(
            line,
            columns,
            subsequent_indent=line[: len(line) - len(line.lstrip())] + indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def with_progress(steps: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Show a bar on a terminal while ``total`` steps are taken."""
    if not sys.stderr.isatty() or not total:
        yield from steps
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(
        steps, description=what, total=total, console=Console(stderr=True), transient=True
    )
