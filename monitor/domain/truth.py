"""The truth about items, known some time after their prediction: its location and its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from monitor.domain.values import BLANKS


class TruthColumns(NamedTuple):
    """Which columns of a table have the truth; ``table`` None: the predictions'."""

    table: str | None
    id: str
    value: str
    time: str | None = None


AWARE, NAIVE, UNREADABLE = "aware", "naive", "unreadable"
"""How a text names a time: with a zone, without one, or so that it cannot be read."""

ZONE = r"(Z|UTC|[+-]\d{2}(?::?\d{2})?)"  # How a time in upper case ends that names its zone
UNORDERED = -1  # Stands for a time that cannot be compared with the others of its item


class TruthRow(NamedTuple):
    """A value of an item, and when it became known: microseconds since 1970, 0 or `UNORDERED`."""

    value: str
    known: int


def truth_rows(
    values: Iterable[tuple[str, int | None, str | None]], *, assumed_zone: bool
) -> list[TruthRow]:
    """Return the rows of one item from values with their times and how texts name these.

    ``assumed_zone`` says that nobody told the zone of times that name none: beside others, such a
    time is not compared.

    >>> truth_rows([("0", 7, AWARE), ("1", 5, NAIVE)], assumed_zone=True)
    [TruthRow(value='0', known=7), TruthRow(value='1', known=-1)]
    """
    rows = list(values)
    unordered = {UNREADABLE}
    if assumed_zone and AWARE in {style for _, _, style in rows}:
        unordered.add(NAIVE)
    newest: dict[str, int] = {}
    for value, at, style in rows:
        time = UNORDERED if style in unordered else at or 0
        previous = newest.get(value, time)
        newest[value] = UNORDERED if UNORDERED in (previous, time) else max(previous, time)
    return [TruthRow(*row) for row in newest.items()]


Truths = dict[str, list[TruthRow]]  # What is known of each item: values by their text, each once


def bare_ids(ids: Iterable[str]) -> set[str]:
    """Return ids without the blanks around them, as predictions and truth are joined."""
    return {bare for each in ids if (bare := each.strip(BLANKS))}


def of_items(ids: Iterable[str], by_bare_id: Mapping[str, list[TruthRow]]) -> Truths:
    """Return the truth by id, from the truth by ids without blanks."""
    return {each: by_bare_id[bare] for each in ids if (bare := each.strip(BLANKS)) in by_bare_id}


class JoinedTruth(NamedTuple):
    """The truth about some items: of how many it is known, how many are positive."""

    known: int
    positive: int
