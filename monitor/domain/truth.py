"""The truth about items, which becomes known after their prediction: its columns and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from monitor.domain.values import BLANKS


class TruthColumns(NamedTuple):
    """The columns of the truth; ``table`` is None if they are in the predictions' table."""

    table: str | None
    id: str
    value: str
    time: str | None = None


AWARE, NAIVE, UNREADABLE = "aware", "naive", "unreadable"
"""How a text spells a time: with a zone, without a zone, or unreadably."""

ZONE = r"(Z|UTC|[+-]\d{2}(?::?\d{2})?)"  # How a time in upper case ends that names its zone
UNORDERED = -1  # Stands for a time that cannot be compared with the others of its item


class TruthRow(NamedTuple):
    """A value of an item, and when it became known, in microseconds since 1970.

    The time is 0 if it is missing, and `UNORDERED` if it cannot be compared.
    """

    value: str
    known: int


def truth_rows(
    values: Iterable[tuple[str, int | None, str | None]], *, assumed_zone: bool
) -> list[TruthRow]:
    """Return the rows of one item from its values, their times and how texts spell the times.

    ``assumed_zone``: the zone of `NAIVE` times is a guess, so if there are `AWARE` times too, naive
    ones become `UNORDERED`.

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
    """Strip the blanks around ids; predictions and truth are joined by such ids."""
    return {bare for each in ids if (bare := each.strip(BLANKS))}


def of_items(ids: Iterable[str], by_bare_id: Mapping[str, list[TruthRow]]) -> Truths:
    """Return the truth by id, from the truth by ids without blanks."""
    return {each: by_bare_id[bare] for each in ids if (bare := each.strip(BLANKS)) in by_bare_id}


class JoinedTruth(NamedTuple):
    """Number of items with known truth, and the number of positive ones."""

    known: int
    positive: int
