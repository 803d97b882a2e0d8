"""Running means of precision and recall, whose intervals hold in all rounds at once."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

from monitor.domain.report import TimelinePoint
from monitor.domain.settings import CREDIBLE_LEVEL
from monitor.presentation.numbers import interval_text

ROUNDS = 100
"""Rounds of one running mean; the next 100 begin another, since reports have the newest rounds."""

_METRICS = ("precision", "recall")


def of_newest_history(timeline: Sequence[TimelinePoint]) -> list[TimelinePoint]:
    """Select the rounds with the model version, threshold, strata and amount of the last one."""
    return [point for point in timeline if point.history == timeline[-1].history]


def running_lines(timeline: Sequence[TimelinePoint]) -> list[str]:
    """Describe the mean of each metric over the rounds of the newest history, from two on."""
    texts = ((metric, running_text(timeline, metric)) for metric in _METRICS)
    return [f"{metric} {text}" for metric, text in texts if text]


def running_text(timeline: Sequence[TimelinePoint], metric: str) -> str | None:
    """Write the mean of a metric and its interval; None if fewer than two rounds have a value.

    Errors are the longer sides of the intervals. With few labels these are lopsided, and recall too
    high on average: by half of the width a path of 100 rounds misses in 0.3 of cases. Worst-case
    bounds of missing answers count as errors too, but these do not cancel out over rounds.
    """
    if metric not in _METRICS or not timeline:
        return None
    begins = (timeline[-1].round - 1) // ROUNDS * ROUNDS
    points = [point for point in timeline if point.round > begins]
    own = of_newest_history(points)
    rounds = [
        (point.round, ends)
        for point in own
        if (ends := getattr(point, f"{metric}_round")) is not None
    ]
    if len(rounds) < 2:  # noqa: PLR2004  the mean of one round is that round
        return None
    # Imported here so that commands which only read the store load no numpy.
    from monitor.stats.history.running_mean import running_interval  # noqa: PLC0415

    z = NormalDist().inv_cdf((1 + CREDIBLE_LEVEL) / 2)
    errors = [max(point - low, high - point) / z for _, (point, low, high) in rounds]
    interval = running_interval([ends[0] for _, ends in rounds], errors, level=CREDIBLE_LEVEL)
    first, last = rounds[0][0], rounds[-1][0]
    which = "" if len(rounds) == last - first + 1 else f"{len(rounds)} of the "
    alone = "" if len(own) == len(points) else " (newest history only)"
    return (
        f"{interval_text(interval)} on average over {which}rounds {first} to {last}{alone}, "
        "which holds in all rounds at once if no answers are missing"
    )


def crossed_text(timeline: Sequence[TimelinePoint], metric: str) -> str | None:
    """Explain why the interval of a round that fires an alert errs, with the one that does not."""
    text = running_text(timeline, metric)
    if text is None:
        return None
    return (
        f"{metric} is looked at here because its evidence crossed, so its interval of this round "
        f"errs to that side more often; {text}"
    )
