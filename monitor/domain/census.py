"""A census: the labels of all items of some strata, counted where they are; no item is drawn."""

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
"""How items count that have no answer: since their rows contradict one another or mean nothing, or
since there is no row yet."""


class JoinedItems(NamedTuple):
    """Items of one stratum and with the same segments of which the truth has the same rows."""

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
    """Items by cell and answer, `UNCLEAR` or `OPEN`; ``state`` differs once they may.

    ``matched`` items have a row, as they were just counted.
    """

    cells: Mapping[Cell, Mapping[str, int]]
    state: str
    refused: tuple[Refusal, ...] = field(default=(), compare=False)
    matched: int = field(default=0, compare=False)

    def size(self, cell: Cell) -> int:
        """Items of a cell."""
        return sum(self.cells.get(cell, {}).values())

    def tally(self, cell: Cell) -> tuple[int, int, int]:
        """Items of a cell that are labeled 1 or 0, that are labeled 1, and that nobody can tell."""
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
        """Items that are labeled, or that nobody can tell."""
        tallies = (self.tally(cell) for cell in self.strata)
        return sum(labeled + declined for labeled, _, declined in tallies)

    @property
    def unclear(self) -> int:
        """Items whose rows contradict one another or mean nothing."""
        return sum(self.cells[cell].get(UNCLEAR, 0) for cell in self.strata)

    def drift(self, sizes: Mapping[str, int]) -> int:
        """Count items by which strata are larger or smaller than these sizes."""
        return sum(abs(self.size(cell) - sizes[cell.stratum]) for cell in self.strata)

    def changed_since(self, before: Census) -> int:
        """Count items whose answer is another than in a census before, at the least."""
        return sum(
            max(0, items - before.cells.get(cell, {}).get(answer, 0))
            for cell in self.strata
            for answer, items in self.cells[cell].items()
        )

    def fitted(self, before: Census) -> Census:
        """Bring the cells to the sizes and values of a census before; new values are ``OTHER``.

        Segment columns that the census before did not have are left out.
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

    ``strata`` are all of the window, and those that have a cell though they may be empty.
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
    """Give strata of a frame the sizes of a census, and this the frame's values of segments."""
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
