"""The timeline: precision and recall against the slots, with bands, limits and alerts."""

from __future__ import annotations

from datetime import UTC
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from monitor.domain.report import RoundReport, TimelinePoint

    Triple = tuple[float, float, float]

_MOST_ROUNDS = 60  # more could not be distinguished at this width
_CROWDED = 25
_SIZE = (9.0, 5.4)  # inches
_DOTS = 110  # per inch
# Okabe and Ito's colours, which the colour-blind can distinguish; shape and line differ as well
_CARRIED = "#0072B2"
_ROUND = "#4D4D4D"
_LIMIT = "#B34700"
_FIRING = "#D55E00"
_DAY = 86_400  # seconds
_PANELS = ("precision", "recall")


def timeline_png(report: RoundReport) -> bytes:
    """Draw the timeline; the same report always gives the same bytes."""
    buffer = BytesIO()
    timeline_figure(report).savefig(
        buffer,
        format="png",
        dpi=_DOTS,
        metadata={"Software": None},
        pil_kwargs={"compress_level": 6},
    )
    return buffer.getvalue()


def timeline_figure(report: RoundReport) -> Figure:
    """Draw the timeline as a figure of its own, apart from pyplot's global state."""
    from matplotlib.figure import Figure  # noqa: PLC0415  0.3 s, only needed when drawing

    figure = Figure(figsize=_SIZE, facecolor="white")
    points = sorted(report.timeline, key=lambda point: point.slot)[-_MOST_ROUNDS:]
    axes = figure.subplots(2, 1, sharex=True)
    for panel, metric in zip(axes, _PANELS, strict=True):
        _draw_panel(panel, points, metric, report.limit(metric))
    _mark_alerts(axes[0], [point.slot for point in points if point.alert])
    _mark_alerts(axes[0], [point.slot for point in points if point.alert])
    _date_axis(axes[-1], points)
    figure.subplots_adjust(left=0.075, right=0.985, top=0.84, bottom=0.145, hspace=0.14)
    _legend(figure, axes[0], axes[1])
    figure.text(0.012, 0.955, _title(report), fontsize=13, fontweight="bold", va="center")
    figure.text(0.012, 0.022, _footnote(report), fontsize=8, color=_ROUND, va="bottom")
    return figure


def _draw_panel(
    axes: Axes, points: Sequence[TimelinePoint], metric: str, limit: float | None
) -> None:
    _draw_pooled(axes, _series(points, metric, "pooled"))
    _draw_rounds(axes, _series(points, metric, "round"))
    if limit is not None:
        axes.axhline(limit, color=_LIMIT, linestyle=(0, (5, 3)), linewidth=1.3, label="limit")
    _shade_alerts(axes, points)
    axes.set_ylim(_floor(points, metric, limit), 1.0)
    axes.set_ylabel(metric.capitalize(), fontsize=11)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _series(
    points: Sequence[TimelinePoint], metric: str, basis: str
) -> list[tuple[datetime, Triple]]:
    found = [(point.slot, getattr(point, f"{metric}_{basis}")) for point in points]
    return [(slot, triple) for slot, triple in found if triple is not None]


def _draw_pooled(axes: Axes, series: Sequence[tuple[datetime, Triple]]) -> None:
    if not series:
        return
    slots = _days([slot for slot, _ in series])
    middle, low, high = ([triple[end] for _, triple in series] for end in range(3))
    axes.fill_between(
        slots, low, high, color=_CARRIED, alpha=0.22, linewidth=0, label="with earlier rounds"
    )
    if len(series) == 1:  # a band needs two ends
        axes.vlines(slots, low, high, color=_CARRIED, alpha=0.22, linewidth=14)
    axes.plot(slots, middle, color=_CARRIED, linewidth=1.8, marker=".", markersize=4)


def _draw_rounds(axes: Axes, series: Sequence[tuple[datetime, Triple]]) -> None:
    if not series:
        return
    slots = _days([slot for slot, _ in series])
    middle = [point for _, (point, _, _) in series]
    below = [max(point - low, 0.0) for _, (point, low, _) in series]
    above = [max(high - point, 0.0) for _, (point, _, high) in series]
    axes.errorbar(
        slots,
        middle,
        yerr=[below, above],
        fmt="o",
        color=_ROUND,
        markersize=4,
        markerfacecolor="white",
        elinewidth=1.0,
        capsize=2.0,
        label="round alone",
    )


def _shade_alerts(axes: Axes, points: Sequence[TimelinePoint]) -> None:
    """Tint the rounds in which an alert fires, halfway to their neighbours."""
    half = _spacing(points) / 2
    for day in _days([point.slot for point in points if point.alert]):
        axes.axvspan(day - half, day + half, color=_FIRING, alpha=0.13, linewidth=0, zorder=0.5)


def _mark_alerts(axes: Axes, slots: Sequence[datetime]) -> None:
    """Put a triangle above every round in which an alert fires, whichever metric it is for."""
    if slots:
        axes.plot(
            _days(slots),
            [1.045] * len(slots),
            transform=axes.get_xaxis_transform(),
            linestyle="none",
            marker="v",
            markersize=7 if len(slots) <= _CROWDED else 4,
            color=_FIRING,
            markeredgecolor="black",
            markeredgewidth=0.5,
            label="an alert fires",
            clip_on=False,
        )


def _floor(points: Sequence[TimelinePoint], metric: str, limit: float | None) -> float:
    """Choose a lower end in tenths that shows everything and leaves some room."""
    lows = [triple[1] for b in ("round", "pooled") for _, triple in _series(points, metric, b)]
    lowest = min([*lows, *([] if limit is None else [limit]), 0.9])
    return max(0.0, int((lowest - 0.06) * 10) / 10)


def _date_axis(axes: Axes, points: Sequence[TimelinePoint]) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter  # noqa: PLC0415

    locator = AutoDateLocator(tz=UTC, minticks=3, maxticks=9)  # type: ignore[no-untyped-call]
    formatter = ConciseDateFormatter(locator, tz=UTC)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(formatter)
    axes.xaxis.get_offset_text().set_fontsize(9)
    axes.xaxis.get_offset_text().set_fontsize(9)
    if points:
        first, last = _days([points[0].slot, points[-1].slot])
        room = _spacing(points) * 0.6
        axes.set_xlim(first - room, last + room)


def _spacing(points: Sequence[TimelinePoint]) -> float:
    """Return the mean time between rounds in days; a week where there is one round only."""
    if len(points) <= 1:
        return 7.0
    first, last = _days([points[0].slot, points[-1].slot])
    return (last - first) / (len(points) - 1)


def _days(slots: Sequence[datetime]) -> list[float]:
    """Return times as matplotlib counts them: days since 1970, UTC."""
    return [slot.timestamp() / _DAY for slot in slots]


def _legend(figure: Figure, *panels: Axes) -> None:
    """Put one legend above both panels, each thing named once, in a fixed order."""
    entries: dict[str, Artist] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    order = ("with earlier rounds", "round alone", "limit", "an alert fires")
    named = [label for label in order if label in entries]
    if named:
        figure.legend(
            handles=[entries[label] for label in named],
            labels=named,
            loc="upper left",
            bbox_to_anchor=(0.004, 0.935),
            ncols=len(named),
            frameon=False,
            fontsize=9,
            handletextpad=0.5,
            columnspacing=1.6,
        )


def _title(report: RoundReport) -> str:
    return f"{report.monitor}: precision and recall up to round {report.round}"


def _footnote(report: RoundReport) -> str:
    prevalence = report.estimate("prevalence", basis="pooled", estimand="rate") or report.estimate(
        "prevalence", basis="round", estimand="window"
    )
    facts = [f"{report.level:.0%} intervals, each for one metric"]
    if prevalence is not None and prevalence.point is not None:
        facts.append(f"prevalence {prevalence.point:.2%}")
    if report.size:
        facts.append(f"flagged {report.flagged / report.size:.2%} of {report.size:,}")
    if report.version > 1:
        facts.append(f"version {report.version}")
    if len(report.timeline) > _MOST_ROUNDS:
        facts.append(f"newest {_MOST_ROUNDS} of {len(report.timeline)} rounds")
    return " · ".join(facts)
