"""Cells of task and label files: escaping when written, parsing when read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer

OWN_COLUMNS = ("task", "label", "annotator", "note")
LABELED_AT = "labeled_at"
ASKS = "label:"  # Prefix of the answer column's header if it contains the question
LONGEST_NAME = 200
FIRST_YEAR, LAST_YEAR = 1970, 2199  # Of an answer: beyond, some times do not exist in another zone
_DANGEROUS = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four: full width
_MEANINGS = {
    **dict.fromkeys(("1", "1.0", "true", "yes", "y"), Answer.POSITIVE),
    **dict.fromkeys(("0", "0.0", "false", "no", "n"), Answer.NEGATIVE),
    **dict.fromkeys(("?", "cannot tell"), Answer.CANNOT_TELL),
}
_EXPECTED = "a label is 1 (positive), 0 (negative) or 'cannot tell'"


def escape(cell: str) -> str:
    """Escape a cell so that a spreadsheet does not run it as a formula.

    >>> escape("=1+1"), escape("'=1"), escape("plain")
    ("'=1+1", "''=1", 'plain')
    """
    return "'" + cell if _DANGEROUS.match(cell) else cell


def unescape(cell: str) -> str:
    """Undo `escape`.

    >>> unescape("'=1+1"), unescape("''=1"), unescape("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return cell[1:] if cell.startswith("'") and _DANGEROUS.match(cell) else cell


def text_of(cell: object) -> str:
    """Return the text of a cell without blanks around it; empty for None."""
    return "" if cell is None else unescape(str(cell).strip())


def answer_of(cell: object) -> Answer | None:
    """Parse a label; None if it is empty. Raises `ValueError` with the reason if it is invalid."""
    text = " ".join(text_of(cell).lower().split())
    if not text:
        return None
    if text not in _MEANINGS:
        message = (
            f"label {text_of(cell)[:80]!r} is not known; {_EXPECTED}, and empty until answered"
        )
        raise ValueError(message)
    return _MEANINGS[text]


def annotator_of(cell: object) -> str:
    """Parse the name of an annotator; raises `ValueError` if it is too long or not printable."""
    text = text_of(cell)
    if len(text) > LONGEST_NAME or not text.isprintable():
        message = (
            f"annotator {text[:40]!r} is not a name: expected up to {LONGEST_NAME} characters, no "
            "control characters"
        )
        raise ValueError(message)
    return text


def time_of(cell: object) -> datetime | None:
    """Parse the time of an answer; None if it is empty. Raises `ValueError` if it is invalid."""
    text = text_of(cell)
    if not text:
        return None
    problem = f"{LABELED_AT} {text[:80]!r}: expected ISO 8601 with an offset, such as "
    problem += "2026-03-02T06:00:00+00:00, or nothing"
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(problem) from error
    if at.tzinfo is None or not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ValueError(problem)
    return at


def asking_header(question: str | None) -> str:
    """Return the header of the answer column, with the question if there is one.

    >>> asking_header(None), asking_header("Is it an eight?")
    ('label', 'label: Is it an eight?')
    """
    return "label" if question is None else f"{ASKS} {' '.join(question.split())}"


def own_name(column: str) -> str | None:
    """Return the program's name of a column, ignoring case; None for a column of shown content.

    >>> own_name("Label: Is it?"), own_name(" TASK "), own_name("text")
    ('label', 'task', None)
    """
    plain = column.strip().lower()
    if plain.startswith(ASKS):
        return "label"
    return plain if plain in (*OWN_COLUMNS, LABELED_AT) else None


def own_names(names: Sequence[str]) -> list[str]:
    """Return column names, with the program's columns in its own spelling.

    If there are ``task`` and ``Task``, the first is the program's, the other is shown content.

    Raises `LabelsRefused` if one of the program's columns is repeated.
    """
    exact = set(names)
    columns = [_matching_name(name, exact) for name in names]
    for column, times in Counter(columns).items():
        if times > 1 and own_name(column) is not None:
            message = f"has the column {column} {times} times; keep one"
            raise LabelsRefused(message)
    return columns


def _matching_name(name: str, exact: Collection[str]) -> str:
    ours = own_name(name)
    asks = name.strip().lower().startswith(ASKS)
    return ours if ours is not None and (asks or ours not in exact) else name
