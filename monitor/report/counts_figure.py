"""The labels of each stratum, right and wrong: the four cells of the confusion matrix by score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.visible import clean
from monitor.drawing import legend
from monitor.drawing.legend import Key
from monitor.drawing.svg import QUIET, element, picture, text_at
from monitor.presentation.rows import score_range_text

if TYPE_CHECKING:
    from monitor.domain.report import RoundReport, StratumRow

# Okabe and Ito's colours, which the colour-blind can distinguish; the counts stand beside them
_RIGHT = "#0072B2"
_WRONG = "#D55E00"
_NONE = "#BBBBBB"
_WIDTH = 330.0  # points
_NAMES, _BARS, _ROOM = 8.0, 128.0, 104.0
_TOP, _ROW, _BAR, _GAP = 52.0, 15.0, 9.0, 6.0
_MOST = 60  # rows; more are in the table
_LONGEST = 40  # characters of a name


class _DrawnCell(NamedTuple):
    """A part of a bar: how many labels, in which colour, and its name in the confusion matrix."""

    labels: int
    colour: str
    name: str


def counts_svg(report: RoundReport) -> bytes | None:
    """Draw a bar for each stratum, the highest scores first; None if nothing was drawn."""
    rows = [
        row
        for flagged in (True, False)
        for row in reversed([one for one in report.strata if one.flagged is flagged])
    ][:_MOST]
    longest = max((row.planned for row in rows), default=0)
    if not longest:
        return None
    shapes, top = [], _TOP
    for index, row in enumerate(rows):
        if index and row.flagged is not rows[index - 1].flagged:
            top += _GAP
        shapes += _bar(row, top, _ROOM / longest)
        top += _ROW
    title = "Labels by predicted class and score"
    keys = [
        Key("bar", _RIGHT, "right (TP, TN)"),
        Key("bar", _WRONG, "wrong (FP, FN)"),
        Key("bar", _NONE, "no label"),
    ]
    figure = [text_at((8, 15), title, 11, bold=True), *legend.row(keys, (8, 33), 8), *shapes]
    source = f"{report.monitor}, round {report.round}"
    return picture((_WIDTH, top + 6), f"{source}: {title}", _as_text(rows), figure)


def _bar(row: StratumRow, top: float, scale: float) -> list[str]:
    base = top + _BAR - 1
    name = f"{clean(row.stratum, _LONGEST)}, {score_range_text(row.low, row.high)}"
    shapes = [text_at((_NAMES, base), name, 8, room=_BARS - _NAMES - 4)]
    x = _BARS
    cells = _cells(row)
    missing = _DrawnCell(row.planned - row.labeled, _NONE, "")
    for cell in (*cells, missing):
        width = cell.labels * scale
        if width > 0:
            shapes.append(element("rect", x=x, y=top, width=width, height=_BAR, fill=cell.colour))
        x += width
    counts = " · ".join(f"{cell.name} {cell.labels:,}" for cell in cells)
    shapes.append(text_at((_BARS + _ROOM + 5, base), counts, 8, colour=QUIET, room=92))
    return shapes


def _cells(row: StratumRow) -> tuple[_DrawnCell, _DrawnCell]:
    """Sort the labels of a stratum into its two cells of the confusion matrix."""
    negative = row.labeled - row.positive
    if row.flagged:
        return _DrawnCell(row.positive, _RIGHT, "TP"), _DrawnCell(negative, _WRONG, "FP")
    return _DrawnCell(negative, _RIGHT, "TN"), _DrawnCell(row.positive, _WRONG, "FN")


def _as_text(rows: Iterable[StratumRow]) -> str:
    texts = [
        (clean(row.stratum, _LONGEST), [f"{cell.name} {cell.labels}" for cell in _cells(row)])
        for row in rows
    ]
    return "; ".join(f"{name}: {', '.join(cells)}" for name, cells in texts)
