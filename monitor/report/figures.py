"""The timeline: precision and recall against the slots, with bands, limits and alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.report import RoundReport, StratumRow, TimelinePoint
from monitor.domain.visible import clean
from monitor.drawing import legend
from monitor.drawing.legend import Key, alert_symbol, restated_symbol
from monitor.drawing.panel import DASHED, Box, Panel
from monitor.drawing.scales import Linear, Time
from monitor.drawing.svg import QUIET, element, picture, text_at
from monitor.presentation.numbers import score_range_text
from monitor.presentation.outcome import holds_for_text

if TYPE_CHECKING:
    Triple = tuple[float, float, float]

_MOST_ROUNDS = 60  # more could not be distinguished at this width
_CROWDED = 25
_SIZE = (445.0, 389.0)  # points: 680 px, more is cut off in MLflow's descriptions
_MARGIN, _WIDTH = 49.0, 386.0
_BOXES = {"precision": Box(_MARGIN, 62, _WIDTH, 126), "recall": Box(_MARGIN, 206, _WIDTH, 126)}
_BOTTOM = _BOXES["recall"].top + _BOXES["recall"].height
MOST_NARROW = 26  # rounds of the timeline of one metric
_NARROW_SIZE = (330.0, 190.0)
_NARROW = Box(30, 34, 290, 132)
# Okabe and Ito's colours, which the colour-blind can distinguish; shape and line differ as well
_CARRIED = "#0072B2"
_LIMIT = "#B34700"
_FIRING = "#D55E00"
_RESTATED = "#CC79A7"
_WEEK = 604_800.0  # seconds


# Okabe and Ito's colours, which the colour-blind can distinguish; the counts stand beside them
_RIGHT = "#0072B2"
_WRONG = "#D55E00"
_NONE = "#BBBBBB"
_COUNTS_WIDTH = 330.0  # points
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
    return picture((_COUNTS_WIDTH, top + 6), f"{source}: {title}", _as_text(rows), figure)


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


def timeline_svg(report: RoundReport) -> bytes:
    """Draw the timeline; the same report always gives the same bytes."""
    points = sorted(report.timeline, key=lambda point: point.slot)[-_MOST_ROUNDS:]
    slots = _axis(points)
    panels = {metric: _panel(report, points, metric, slots) for metric in _BOXES}
    fired = [point.slot for point in points if point.alert]
    size = 7 if len(fired) <= _CROWDED else 4
    shapes = [shape for panel in panels.values() for shape in panel.shapes()]
    for slot in fired:  # above every round in which an alert fires, whichever metric it is for
        across, top = panels["precision"].above(slot.timestamp())
        shapes.append(alert_symbol((across, top - 6), size, _FIRING))
    for panel in panels.values():
        shapes += _restated_marks(panel, points)
    title = f"{report.monitor}: precision and recall up to round {report.round}"
    facts = [holds_for_text(report)]
    if report.version > 1:
        facts.append(f"version {report.version}")
    if len(report.timeline) > _MOST_ROUNDS:
        facts.append(f"newest {_MOST_ROUNDS} of {len(report.timeline)} rounds")
    footnote = " · ".join(facts)
    shapes += [
        *legend.row(_keys(report, points), (8, 42)),
        text_at((8, 22), title, 13, bold=True, room=_SIZE[0] - 16),
        text_at((_SIZE[0] - 10, _BOTTOM + 27), slots.context(), 9, anchor="end"),
        text_at((8, _BOTTOM + 49), footnote, 8, colour=QUIET, room=_SIZE[0] - 16),
    ]
    return picture(_SIZE, title, f"{report.sentence} {footnote}", shapes)


def metric_svg(
    timeline: Sequence[TimelinePoint], metric: str, limits: Sequence[float], *, monitor: str
) -> bytes:
    """Draw the timeline of one metric, small enough that its words can be read on a phone."""
    points = timeline[-MOST_NARROW:]
    slots = _axis(points)
    panel = _drawn(_NARROW, points, metric, limits, slots)
    panel.axes()
    fired = [panel.above(point.slot.timestamp()) for point in points if point.alert]
    title = f"{monitor}: {metric}"
    shapes = [
        *panel.shapes(),
        *(alert_symbol((across, top - 6), 5, _FIRING) for across, top in fired),
        *_restated_marks(panel, points),
        text_at((8, 15), metric.capitalize(), 11, bold=True),
        text_at((_NARROW_SIZE[0] - 8, 15), slots.context(), 9, anchor="end"),
    ]
    return picture(_NARROW_SIZE, title, f"The newest {len(points)} rounds.", shapes)


def _restated_marks(panel: Panel, points: Sequence[TimelinePoint]) -> list[str]:
    restated = [panel.above(point.slot.timestamp()) for point in points if point.restated]
    return [
        restated_symbol((across, top + panel.box.height - 6), 7, _RESTATED)
        for across, top in restated
    ]


def _panel(report: RoundReport, points: Sequence[TimelinePoint], metric: str, slots: Time) -> Panel:
    limit = report.limit(metric)
    is_lowest = metric == list(_BOXES)[-1]
    panel = _drawn(_BOXES[metric], points, metric, [] if limit is None else [limit], slots)
    panel.axes(labels=is_lowest)
    panel.names(None, metric.capitalize(), 11)
    return panel


def _drawn(
    box: Box, points: Sequence[TimelinePoint], metric: str, limits: Sequence[float], slots: Time
) -> Panel:
    panel = Panel(box, slots, Linear(_floor(points, metric, limits), 1.0))
    panel.grid(upright=False)
    half = _spacing(points) / 2  # rounds in which an alert fires are tinted to halfway between
    for slot in (point.slot.timestamp() for point in points if point.alert):
        panel.shade(slot - half, slot + half, _FIRING, 0.13)
    _draw_pooled(panel, _series(points, metric, "pooled"))
    _draw_rounds(panel, _series(points, metric, "round"))
    for limit in limits:
        panel.across(limit, _LIMIT, 1.3, DASHED)
    return panel


def _series(
    points: Sequence[TimelinePoint], metric: str, basis: str
) -> list[tuple[datetime, Triple]]:
    triples = [(point.slot, getattr(point, f"{metric}_{basis}")) for point in points]
    return [(slot, triple) for slot, triple in triples if triple is not None]


def _draw_pooled(panel: Panel, series: Sequence[tuple[datetime, Triple]]) -> None:
    if not series:
        return
    slots = [slot.timestamp() for slot, _ in series]
    middle, low, high = ([triple[end] for _, triple in series] for end in range(3))
    panel.band(slots, low, high, _CARRIED)
    panel.curve(slots, middle, _CARRIED)
    for slot, value in zip(slots, middle, strict=True):
        panel.dot(slot, value, 1.5, _CARRIED)


def _draw_rounds(panel: Panel, series: Sequence[tuple[datetime, Triple]]) -> None:
    for slot, (point, low, high) in series:
        at = slot.timestamp()
        panel.upright(at, min(low, point), max(high, point), QUIET)
        panel.dot(at, point, 2, "white", QUIET)


def _floor(points: Sequence[TimelinePoint], metric: str, limits: Sequence[float]) -> float:
    """Choose a lower end in tenths that shows everything and leaves some room."""
    lows = [triple[1] for b in ("round", "pooled") for _, triple in _series(points, metric, b)]
    lowest = min([*lows, *limits, 0.9])
    return max(0.0, int((lowest - 0.06) * 10) / 10)


def _axis(points: Sequence[TimelinePoint]) -> Time:
    room = _spacing(points) * 0.6
    slots = [point.slot.timestamp() for point in points] or [0.0]
    return Time(slots[0] - room, slots[-1] + room)


def _spacing(points: Sequence[TimelinePoint]) -> float:
    """Return the mean time between rounds in seconds; a week where there is one round only."""
    if len(points) <= 1:
        return _WEEK
    between = points[-1].slot - points[0].slot
    return between.total_seconds() / (len(points) - 1)


def _keys(report: RoundReport, points: Sequence[TimelinePoint]) -> list[Key]:
    pooled, alone = (
        any(_series(points, metric, basis) for metric in _BOXES) for basis in ("pooled", "round")
    )
    is_limited = any(report.limit(metric) is not None for metric in _BOXES)
    keys = {
        Key("band", _CARRIED, "with earlier rounds"): pooled,
        Key("interval", QUIET, "round alone"): alone,
        Key("line", _LIMIT, "limit", DASHED): is_limited,
        Key("alert", _FIRING, "an alert fires"): any(point.alert for point in points),
        Key("restated", _RESTATED, "restated"): any(point.restated for point in points),
    }
    return [key for key, is_there in keys.items() if is_there]
