"""What the history of a monitor says of variation between rounds, which promises do not cover."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from monitor.domain.settings import Limits, LimitSide
from monitor.stats.core.levels import normal_quantile
from monitor.stats.detection.e_detector import log_threshold
from monitor.stats.drift.round_variation import (
    LEAST_ROUNDS,
    RoundVariation,
    alarms_of_variation,
    round_variation,
)

_NEWEST = 52
_FEW = 0.1  # alerts a year
_YEAR = timedelta(days=365.25)


class _Points(NamedTuple):
    """Points of a metric in the newest rounds, in slot order, and their standard errors."""

    slots: list[datetime]
    points: list[float]
    errors: list[float]


def variation_sentences(rows: Sequence[Mapping[str, Any]], limits: Limits) -> list[str]:
    """Describe each metric that moves more from round to round than its labels explain.

    ``rows`` are estimates in slot order; only the rate by a round alone counts.
    """
    metrics = dict.fromkeys(("precision", "recall", *(side.metric for side in limits.sides())))
    sentences: list[str] = []
    for metric in metrics:
        points = _points_of(rows, metric)
        variation = round_variation(points.points, points.errors)
        if variation is not None and variation.is_more:
            sentences += _sentences(metric, points, variation, limits)
    return sentences


def _points_of(rows: Sequence[Mapping[str, Any]], metric: str) -> _Points:
    chosen = [
        row
        for row in rows
        if (row["metric"], row["estimand"], row["basis"]) == (metric, "rate", "round")
        and None not in (row["point"], row["low"], row["high"])
    ][-_NEWEST:]
    return _Points(
        [row["slot"] for row in chosen],
        [row["point"] for row in chosen],
        [(row["high"] - row["low"]) / 2 / normal_quantile(row["level"]) for row in chosen],
    )


def _sentences(
    metric: str, points: _Points, variation: RoundVariation, limits: Limits
) -> Iterator[str]:
    yield (
        f"{metric} moves {variation.ratio:.1f} times as much from round to round as its labels "
        f"explain (by ±{variation.spread:.2f} beyond them, over {len(points.points)} rounds): are "
        "items alike that belong together? source.columns.group names what they belong to"
    )
    for side in limits.sides():
        if side.metric == metric:
            yield _alarms(side, points, variation, limits)


def _alarms(side: LimitSide, points: _Points, variation: RoundVariation, limits: Limits) -> str:
    newest = points.points[-LEAST_ROUNDS:]
    level = sum(newest) / len(newest)
    distance = level - side.value if side.side == "at_least" else side.value - level
    seconds = median((later - earlier).total_seconds() for earlier, later in pairwise(points.slots))
    rounds = max(round(_YEAR.total_seconds() / max(seconds, 60.0)), 1)
    threshold = log_threshold(limits.false_alarm_every, len(limits.sides()))
    simulated = min(rounds, 520)
    alarms = alarms_of_variation(
        distance,
        median(points.errors),
        variation.spread,
        threshold=threshold,
        rounds=simulated,
    )
    year = alarms * rounds / simulated
    number = f"about {year:.1f}" if year >= _FEW else f"fewer than {_FEW:g}"
    return (
        f"{side.metric} of about {level:.2f} with its limit at {side.value:g}: this variation "
        f"alone makes {number} alerts a year"
    )
