"""The labels of all items of some strata: joined by the engine, or read by their ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from monitor.domain.census import OPEN, UNCLEAR, Cell, JoinedItems, counted
from monitor.domain.errors import LabelsRefused
from monitor.domain.ports import JoinsTruth

if TYPE_CHECKING:
    from monitor.domain.model import Answer, Stratum, Window
    from monitor.domain.ports import Source, TruthTable
    from monitor.domain.truth import TruthRow

MOST_BY_ID = 1_000_000  # Items of a stratum read by their ids, at a kilobyte of memory each


def census_of(
    source: Source,
    window: Window,
    whole: tuple[Sequence[Stratum], Collection[bool]],
    truth: tuple[TruthTable, Collection[str]],
    meaning: Callable[[Sequence[TruthRow]], Answer | None],
) -> tuple[dict[Cell, Counter[str]], Counter[str], Counter[str]]:
    """Count items by cell and answer, items without one by the reason, and rows by value.

    whole: The strata of the window, and the classes that are counted.
    truth: Where it is, and values that are none.
    meaning: What the rows of an item mean; a ValueError has the reason if nothing.
    """
    strata, flags = whole
    refused, values = Counter[str](), Counter[str]()
    columns, joined = _joined(source, window, whole, truth)

    def own() -> Iterator[JoinedItems]:
        for one in joined:
            if strata[one.stratum].flagged in flags:
                values.update(dict.fromkeys((row.value for row in one.truths), one.items))
                yield one

    def answer_of(one: JoinedItems) -> str:
        try:
            return meaning(one.truths) or OPEN
        except ValueError as problem:
            refused[str(problem)] += one.items
            return UNCLEAR

    own_strata = [one for one in strata if one.flagged in flags]
    return counted(own(), (strata, own_strata), columns, answer_of), refused, values


def _joined(
    source: Source,
    window: Window,
    whole: tuple[Sequence[Stratum], Collection[bool]],
    truth: tuple[TruthTable, Collection[str]],
) -> tuple[Sequence[str], Iterable[JoinedItems]]:
    if isinstance(source, JoinsTruth):
        joined = source.joined(window, whole[0], *truth)
        if joined is not None:
            return joined
    return _by_id(source, window, whole, truth[0])


def _by_id(
    source: Source,
    window: Window,
    whole: tuple[Sequence[Stratum], Collection[bool]],
    truths: TruthTable,
) -> tuple[Sequence[str], Iterable[JoinedItems]]:
    """Read the truth of each item, where predictions and truth are in two engines.

    Raises `LabelsRefused` if they are too many.
    """
    strata, flags = whole
    frame = source.scan(window, strata, MOST_BY_ID, "census")
    parts = [(h, each) for h, each in enumerate(frame.strata) if each.stratum.flagged in flags]
    most = max((part.size for _, part in parts), default=0)
    if most > MOST_BY_ID:
        message = (
            f"a stratum of {window} has {most:,} items, and {truths} is not where the predictions "
            f"are, so at most {MOST_BY_ID:,} can be counted; put the labels beside the "
            "predictions, or set sample.max_labels to a number"
        )
        raise LabelsRefused(message)
    of = truths.of([item.id for _, part in parts for item in part.candidates])
    return frame.segment_columns, (
        JoinedItems(index, item.segments, of.get(item.id, ()), 1)
        for index, part in parts
        for item in part.candidates
    )
