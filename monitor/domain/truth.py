"""The truth about items, known some time after their prediction: where it stands, what is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.values import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class TruthColumns(NamedTuple):
    """Which columns of a table have the truth.

    ``table`` is named as the source names its own; None is the table of the predictions.
    ``time`` is when a row became known, if a column has that.
    """

    table: str | None
    id: str
    value: str
    time: str | None = None


class TruthRow(NamedTuple):
    """A value found for an item, and when it became known (microseconds; 0: unknown)."""

    value: str
    known: int


Truths = dict[str, list[TruthRow]]
"""What is known of each item: values by their text, each once."""


def bare_ids(ids: Iterable[str]) -> set[str]:
    """Return ids without the blanks around them, as those of predictions and truth are compared."""
    return {bare for each in ids if (bare := each.strip(BLANKS))}


def of_items(ids: Iterable[str], result: Mapping[str, list[TruthRow]]) -> Truths:
    """Return what is known of each id, from what was found by ids without blanks."""
    return {each: result[bare] for each in ids if (bare := each.strip(BLANKS)) in result}


class JoinedTruth(NamedTuple):
    """The truth about some items: of how many it is known, how many are positive."""

    known: int
    positive: int


class NearMiss(NamedTuple):
    """An item whose truth has the id in another form."""

    item: str
    form: str
    difference: str


def other_forms(item: str, widths: Iterable[int]) -> Iterator[tuple[str, str]]:
    """Write an id as other tools do, each form with what differs.

    ``widths`` are lengths that ids of the truth have.

    >>> list(other_forms("7", [3]))
    [('a decimal point', '7.0'), ('leading zeros', '007'), ('blanks', '7  ')]
    >>> [form for _, form in other_forms("00a7", [])]
    ['00A7']
    """
    cases = item.lower(), item.upper(), item.capitalize(), item.title()
    forms = [("upper and lower case", form) for form in cases]
    if item.isdigit():
        forms += [("a decimal point", f"{item}.0"), ("leading zeros", item.lstrip("0") or "0")]
        forms += [("leading zeros", item.zfill(width)) for width in widths]
    forms += [("a decimal point", item.removesuffix(".0")), ("hyphens", item.replace("-", ""))]
    forms += [("blanks", item.ljust(width)) for width in widths]
    seen = {item}
    for what, form in forms:
        if form not in seen:
            seen.add(form)
            yield what, form
