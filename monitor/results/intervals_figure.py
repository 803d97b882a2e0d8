"""Figure of estimates: a row for each metric, its point and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.errors import InputRefused
from monitor.drawing.svg import QUIET, circle, line, picture, text_at
from monitor.presentation.numbers import interval_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.presentation.numbers import PointAndInterval

_WIDTH, _ROW = 540.0, 20.0  # points
_AXIS_START, _AXIS_END = 130.0, 390.0
_TOP = 46.0
_COLOUR = "#0072B2"  # Okabe and Ito's blue
_ENDS = (0.0, 0.25, 0.5, 0.75, 1.0)


class MetricInterval(NamedTuple):
    """A named estimate between 0 and 1."""

    name: str
    estimate: PointAndInterval


def draw_intervals(rows: Sequence[MetricInterval], title: str) -> bytes:
    """Draw points and intervals of metrics between 0 and 1; those without a point are left out.

    Raises
    ------
    InputRefused
        If no metric has a point.
    """
    drawn = [row for row in rows if row.estimate.point is not None]
    if not drawn:
        message = "there is nothing to draw: no metric could be estimated"
        raise InputRefused(message)
    bottom = _TOP + _ROW * len(drawn)
    shapes = [text_at((8, 20), title, 12, bold=True, room=_WIDTH - 16)]
    for share in _ENDS:
        shapes += [
            line((_across(share), _TOP - 8), (_across(share), bottom), "#DDDDDD", 0.6),
            text_at((_across(share), bottom + 12), f"{share:g}", 9, anchor="middle"),
        ]
    for index, row in enumerate(drawn):
        shapes += _row(row, _TOP + _ROW * index + 4)
    return picture((_WIDTH, bottom + 20), title, "Points and intervals.", shapes)


def _row(row: MetricInterval, middle: float) -> list[str]:
    low, point, high = (
        _across(value or 0.0) for value in (row.estimate.low, row.estimate.point, row.estimate.high)
    )
    return [
        text_at((_AXIS_START - 10, middle + 3.5), row.name, 10, anchor="end"),
        line((low, middle), (high, middle), _COLOUR, 2),
        circle((point, middle), 3.2, "white", _COLOUR),
        text_at((_AXIS_END + 12, middle + 3.5), interval_text(row.estimate), 9, colour=QUIET),
    ]


def _across(share: float) -> float:
    return _AXIS_START + share * (_AXIS_END - _AXIS_START)
