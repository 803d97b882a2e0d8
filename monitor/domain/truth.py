"""The truth about items, known some time after their prediction: where it stands, what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.values import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class TruthColumns(NamedTuple):
    """Which columns of a table have the truth.

    ``table`` is named as the source names its own; None is the table of the predictions.
    ``time`` is when a row became known, if a column has that.
    """

    table: str | None
    id: str
    value: str
    time: str | None = None


class FoundTruth(NamedTuple):
    """A value found for an item, and when it became known (microseconds; 0: unknown)."""

    value: str
    known: int


Truths = dict[str, list[FoundTruth]]
"""What is known of each item: values by their text, each once."""


def bare_ids(ids: Iterable[str]) -> set[str]:
    """Return ids without the blanks around them, as those of predictions and truth are compared."""
    return {bare for each in ids if (bare := each.strip(BLANKS))}


def of_items(ids: Iterable[str], found: Mapping[str, list[FoundTruth]]) -> Truths:
    """Return what is known of each id, from what was found by ids without blanks."""
    return {each: found[bare] for each in ids if (bare := each.strip(BLANKS)) in found}
