"""A census: the labels of all items of some strata, counted in the source without drawing items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from monitor.domain.model import Answer, Frame, Refusal, Stratum, StratumFrame
from monitor.domain.segments import OTHER, scaled
from monitor.domain.truth import TruthRow
from monitor.domain.visible import visible

UNCLEAR, OPEN = "unclear", "open"
"""Categories of items without an answer: their rows contradict one another or mean nothing, or
there is no row yet."""


class JoinedItems(NamedTuple):
    """Count of items with the same stratum, the same segments and the same rows of the truth."""

    stratum: int
    segments: tuple[str, ...]
    truths: Sequence[TruthRow]
    items: int


class Cell(NamedTuple):
    """A stratum, or the part of it that has a value of a segment column."""

    stratum: str
    segment: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Census:
    """Number of items by cell and by answer, `UNCLEAR` or `OPEN`.

    ``state`` changes whenever the numbers may have changed. ``matched`` counts the items that have
    a row of the truth, as of the last count.
    """

    cells: Mapping[Cell, Mapping[str, int]]
    state: str
    refused: tuple[Refusal, ...] = field(default=(), compare=False)
    matched: int = field(default=0, compare=False)

    def size(self, cell: Cell) -> int:
        """Return the number of items in a cell."""
        return sum(self.cells.get(cell, {}).values())

    def tally(self, cell: Cell) -> tuple[int, int, int]:
        """Count the items of a cell labeled 1 or 0, labeled 1, and answered "cannot tell"."""
        of = self.cells.get(cell, {})
        positive = of.get(Answer.POSITIVE, 0)
        labeled = positive + of.get(Answer.NEGATIVE, 0)
        return labeled, positive, of.get(Answer.CANNOT_TELL, 0)

    @property
    def strata(self) -> list[Cell]:
        """The cells that are whole strata."""
        return [cell for cell in self.cells if not cell.segment]

    @property
    def segments(self) -> set[str]:
        """The segment columns by which items are counted."""
        return {cell.segment for cell in self.cells if cell.segment}

    @property
    def answered(self) -> int:
        """Number of items that are labeled 1 or 0, or answered "cannot tell"."""
        tallies = (self.tally(cell) for cell in self.strata)
        return sum(labeled + declined for labeled, _, declined in tallies)

    @property
    def unclear(self) -> int:
        """Number of items whose rows contradict one another or mean nothing."""
        return sum(self.cells[cell].get(UNCLEAR, 0) for cell in self.strata)

    def drift(self, sizes: Mapping[str, int]) -> int:
        """Return the sum over strata of the absolute difference from these sizes."""
        return sum(abs(self.size(cell) - sizes[cell.stratum]) for cell in self.strata)

    def changed_since(self, before: Census) -> int:
        """Return a lower bound on the items whose answer differs from an earlier census."""
        return sum(
            max(0, items - before.cells.get(cell, {}).get(answer, 0))
            for cell in self.strata
            for answer, items in self.cells[cell].items()
        )

    def fitted(self, before: Census) -> Census:
        """Scale the cells to the sizes of an earlier census; values new since then are ``OTHER``.

        Segment columns that are new since then are left out.
        """
        columns = before.segments
        sums: dict[Cell, Counter[str]] = {cell: Counter() for cell in before.cells}
        for cell, of in self.cells.items():
            if not cell.segment or cell.segment in columns:
                named = cell if cell in sums else cell._replace(value=OTHER)
                sums.setdefault(named, Counter()).update(of)
        cells = {
            cell: scaled(dict(sorted(of.items())) or {OPEN: 1}, before.size(cell))
            for cell, of in sums.items()
            if cell in before.cells
        }
        return replace(self, cells=cells)


def counted(
    joined: Iterable[JoinedItems],
    strata: tuple[Sequence[Stratum], Sequence[Stratum]],
    columns: Sequence[str],
    answer_of: Callable[[JoinedItems], str],
) -> dict[Cell, Counter[str]]:
    """Count items by cell and answer.

    ``strata`` are all strata of the window, and those that get a cell even if they are empty.
    """
    of_window, own = strata
    cells: dict[Cell, Counter[str]] = {Cell(one.name): Counter() for one in own}
    for one in joined:
        answer, name = answer_of(one), of_window[one.stratum].name
        named = zip(columns, map(visible, one.segments), strict=True)
        for cell in (Cell(name), *(Cell(name, *value) for value in named)):
            cells.setdefault(cell, Counter())[answer] += one.items
    return cells


def in_frame(census: Census, frame: Frame) -> tuple[Census, Frame]:
    """Set sizes in the frame from the census; in the census, fold other values into ``OTHER``."""
    shown = {
        (column, value)
        for part in frame.strata
        for column, values in zip(frame.segment_columns, part.segments, strict=True)
        for value in values
    }
    cells: dict[Cell, Counter[str]] = {}
    for cell, of in census.cells.items():
        is_other = cell.segment and (cell.segment, cell.value) not in shown
        named = cell._replace(value=OTHER) if is_other else cell
        cells.setdefault(named, Counter()).update(of)
    census = replace(census, cells=cells)
    strata = (_sized(part, census, frame.segment_columns) for part in frame.strata)
    return census, replace(frame, strata=tuple(strata))


def _sized(part: StratumFrame, census: Census, columns: Sequence[str]) -> StratumFrame:
    name = part.stratum.name
    if Cell(name) not in census.cells:
        return part
    segments = tuple(
        {
            cell.value: census.size(cell)
            for cell in census.cells
            if (cell.stratum, cell.segment) == (name, column)
        }
        for column in columns
    )
    return replace(part, size=census.size(Cell(name)), segments=segments)
