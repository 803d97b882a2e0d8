"""Score cells of a window cut by the verdicts of a sample of their items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from monitor.domain.model import StratumFrame, Verdict

if TYPE_CHECKING:
    from monitor.domain.model import Candidate, Frame, Stratum


Key = TypeVar("Key", Verdict, str)


class VerdictPart(NamedTuple):
    """What is known of one verdict in a cell: its share, up to a factor, and items that have it."""

    weight: int
    candidates: Sequence[Candidate] = ()


Parts = Callable[[StratumFrame], Mapping[Verdict, VerdictPart]]


def cut_frame(frame: Frame, strata: Sequence[Stratum], parts: Parts, *, estimated: bool) -> Frame:
    """Cut the score cells of a frame into strata by verdict.

    The parts of a cell add up to its counted size. Where they are ``estimated``, weights count the
    judged items, and the segments of a part are scaled up from its own; a cell all of whose items
    are judged is counted.
    """
    cells = {_cell(part.stratum): part for part in frame.strata}
    cut = {key: _cut(cell, parts(cell), estimated=estimated) for key, cell in cells.items()}
    return replace(
        frame,
        strata=tuple(
            replace(
                cells[_cell(one)] if one.verdict is None else cut[_cell(one)][one.verdict],
                stratum=one,
            )
            for one in strata
        ),
    )


def _cell(stratum: Stratum) -> Stratum:
    return replace(stratum, name="", verdict=None)


def _cut(
    cell: StratumFrame, parts: Mapping[Verdict, VerdictPart], *, estimated: bool
) -> dict[Verdict, StratumFrame]:
    weights = {verdict: parts[verdict].weight if verdict in parts else 0 for verdict in Verdict}
    judged = sum(weights.values())
    if not judged:  # an empty cell, mostly
        weights[Verdict.MISSING] = 1
    sizes = scaled(weights, cell.size)
    return {
        verdict: StratumFrame(
            cell.stratum,
            size,
            tuple(parts[verdict].candidates) if verdict in parts else (),
            _segments(cell, parts.get(verdict), size),
            judged=weights[verdict] if estimated and 0 < judged < cell.size else None,
        )
        for verdict, size in sizes.items()
    }


def _segments(
    cell: StratumFrame, part: VerdictPart | None, size: int
) -> tuple[Mapping[str, int], ...]:
    """Count a part by segments, as they are among its candidates."""
    if size == cell.size:
        return cell.segments
    candidates = () if part is None else part.candidates
    return tuple(
        scaled(Counter(each.segments[column] for each in candidates), size if candidates else 0)
        for column in range(len(cell.segments))
    )


def scaled(weights: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Share a total out by weights, whole numbers by largest remainder, the first of equal ones.

    >>> scaled({"no": 5, "yes": 1, "missing": 0}, 10)
    {'no': 8, 'yes': 2, 'missing': 0}
    """
    of = sum(weights.values())
    sizes = {key: weight * total // of for key, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda key: -(weights[key] * total % of))
    for key in by_remainder[: total - sum(sizes.values())]:
        sizes[key] += 1
    return sizes
