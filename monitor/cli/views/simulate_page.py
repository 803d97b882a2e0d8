"""What `pr-monitor simulate` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from monitor.fixed_text import significant_text
from monitor.presentation.forecasts import smallest_drop_texts
from monitor.presentation.numbers import percent_text
from monitor.presentation.table import Table
from monitor.stats.detection.power import WITHIN

if TYPE_CHECKING:
    from monitor.rounds.forecast.simulate import Drift, Forecast
    from monitor.stats.detection.delay import Detection
    from monitor.stats.detection.scenario import Scenario

MOST = 0.9


def forecast_json(monitor: str, forecast: Forecast) -> dict[str, Any]:
    """Return a forecast for programs."""
    after, lowest = forecast.after, forecast.in_lowest_band
    return {
        "monitor": monitor,
        "known_from": forecast.expected.source,
        "labels_per_round": forecast.expected.scenario.labels,
        "limits": [_limit(forecast, index) for index in range(len(forecast.limits))],
        "false_alarm_every": forecast.every,
        "rounds": forecast.rounds,
        "alarms_without_drift": _false_alarms(forecast),
        "true_alarms_without_drift": _true_alarms(forecast),
        "alarms_at_limits": forecast.at_limits,
        "promised_alarms": forecast.rounds / forecast.every,
        "smallest_drops": {metric: dict(drops) for metric, drops in forecast.smallest.items()},
        "drift": after
        and {
            "broken": [str(limit) for limit in forecast.broken],
            "alarms": forecast.alarms_after,
            **(_delay(after, forecast.rounds) if forecast.broken else {}),
            "in_lowest_band": lowest and _delay(lowest, forecast.rounds),
        },
    }


def forecast_document(monitor: str, forecast: Forecast, drift: Drift) -> Iterator[str | Table]:
    """Return a forecast: the limits, alarms without a drift, and what the drift leads to."""
    scenario = forecast.expected.scenario
    flagged = int(scenario.is_flagged.sum())
    strata = f"{flagged} + {len(scenario.size) - flagged} strata"
    source = forecast.expected.source
    yield f"{monitor}: {scenario.labels:,} labels a round in {strata}, going by {source}"
    yield ""
    heads = ("limit", "now", "state", "after", "state after")
    columns = 3 if forecast.drifted is None else 5
    yield Table(heads[:columns], [row[:columns] for row in _limit_rows(forecast)], right="13")
    yield ""
    promised = forecast.rounds / forecast.every
    for limit, count in _true_alarms(forecast).items():
        yield (
            f"without a drift: {limit} is broken, so alarms on it are true: {count:.2f} in "
            f"{forecast.rounds} rounds, each ended at once"
        )
    yield (
        f"without a drift: {_false_alarms(forecast):.2f} false alarms in {forecast.rounds} rounds; "
        f"promised: at most {significant_text(promised)}"
    )
    if forecast.at_limits is not None:
        yield f"with every metric exactly at its limit: {forecast.at_limits:.2f}"
    if texts := smallest_drop_texts(forecast.smallest):
        yield f"found within {WITHIN} rounds in 8 of 10 cases: {', '.join(texts)}"
    if forecast.after is not None:
        yield ""
        terms = [
            f"{metric} {'falls' if drop > 0 else 'rises'} by {abs(drop):g}"
            for metric, drop in drift.drops.items()
        ]
        if not math.isclose(drift.prevalence, 1):
            terms.insert(0, f"positives become {drift.prevalence:g} times as common")
        yield from _drift_lines(forecast, forecast.after, " and ".join(terms))


def _limit_rows(forecast: Forecast) -> Iterator[tuple[str, ...]]:
    for limit in forecast.limits:
        now = _value(forecast.expected.scenario, limit.metric)
        after = "" if forecast.drifted is None else _value(forecast.drifted, limit.metric)
        states = (
            "broken" if limit in broken else "kept"
            for broken in (forecast.broken_before, forecast.broken)
        )
        yield str(limit), now, next(states), after, next(states)


def _true_alarms(forecast: Forecast) -> dict[str, float]:
    """Mean number of alarms on each limit that is broken before any drift."""
    return {
        str(limit): count
        for limit, count in zip(forecast.limits, forecast.quiet, strict=True)
        if limit in forecast.broken_before
    }


def _false_alarms(forecast: Forecast) -> float:
    return sum(forecast.quiet) - sum(_true_alarms(forecast).values())


def _drift_lines(forecast: Forecast, after: Detection, text: str) -> Iterator[str]:
    if not forecast.broken:
        yield (
            f"{text}: every limit is kept, so nothing should alert; "
            f"{forecast.alarms_after or 0:.2f} alarms in {forecast.rounds} rounds"
        )
        return
    if set(forecast.broken) <= set(forecast.broken_before):
        yield f"{text}: no further limit is broken, so nothing new should alert"
        return
    soon = min(WITHIN, forecast.rounds)
    lowest = forecast.in_lowest_band
    more = (
        ""
        if lowest is None
        else (
            f", {percent_text(lowest.share_within(soon))} if all new misses lie in the lowest band"
        )
    )
    share = percent_text(after.share_within(soon))
    yield f"{text}: found within {soon} rounds in {share} of cases{more}"
    if after.median is None:
        yield f"in half of them not within {forecast.rounds} rounds"
        return
    rounds = "1 round" if after.median == 1 else f"{after.median} rounds"
    yield f"in half of them by {rounds}, {after.median * after.labels:,} labels; {_tail(after)}"


def _tail(after: Detection) -> str:
    late = next((k for k, share in enumerate(after.detected_within, 1) if share >= MOST), None)
    if late is None:
        last = len(after.detected_within)
        return f"in {percent_text(after.share_within(last))} within {last} rounds"
    return f"in nine of ten by {late}"


def _value(scenario: Scenario, metric: str) -> str:
    value = scenario.value(metric)
    return "undefined" if value is None else f"{value:.3f}"


def _limit(forecast: Forecast, index: int) -> dict[str, Any]:
    limit = forecast.limits[index]
    return {
        "metric": limit.metric,
        "side": limit.side,
        "limit": limit.value,
        "now": forecast.expected.scenario.value(limit.metric),
        "after": None if forecast.drifted is None else forecast.drifted.value(limit.metric),
        "broken": limit in forecast.broken,
    }


def _delay(after: Detection, rounds: int) -> dict[str, Any]:
    return {
        "found_within": {str(k): after.share_within(k) for k in (1, 2, 4, 8, 13) if k <= rounds},
        "median_rounds": after.median,
        "mean_rounds": after.mean_delay,
        "labels_until_found": None if after.median is None else after.median * after.labels,
    }
