"""The truth about items, known some time after their prediction: where it stands, what is found."""

from __future__ import annotations

from typing import NamedTuple


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
