"""Simulate the alerts of a monitor: on its expected next round, and after a drift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from monitor.domain.errors import InputRefused
from monitor.domain.settings import RoundSettings
from monitor.presentation.forecasts import shown_estimates_text
from monitor.rounds.context import MonitorContext
from monitor.rounds.forecast.plan_window import PlannedWindow, scan_to_plan, two_strata
from monitor.rounds.sampling.plan import free_strata
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.prospect import Prospect
from monitor.stats.detection.delay import Detection, alarms, detection
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.power import smallest_drops
from monitor.stats.detection.scenario import Misses, Scenario

_Stage: TypeAlias = tuple[str, Callable[[], Any]]  # a field of a forecast, and how to compute it
_UNTESTED = ("scores", "nothing")  # sources of rates without any label


@dataclass(frozen=True, slots=True)
class ExpectedRound:
    """The expected next round of a monitor: a scenario by bands, and its plan.

    ``source`` is a phrase that names the basis of the rates.
    """

    scenario: Scenario
    plan: Allocation
    source: str
    recall_lost: float  # by one passed item without an answer


@dataclass(frozen=True, slots=True)
class Drift:
    """A drift: drops by metric (0.10 is ten points), and the factor of the share of positives."""

    drops: Mapping[str, float]
    prevalence: float = 1.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """A simulation of a monitor: quiet rounds, rounds at the limits, rounds after the drift.

    ``quiet`` (one number per limit) and ``at_limits`` are mean numbers of alarms in ``rounds``
    rounds. Alarms on limits ``broken_before`` any drift are true alarms. ``after`` is None without
    a drift; ``broken`` are the limits that the drift breaks. ``in_lowest_band`` is the same drift
    with all new misses in the lowest band; None if recall does not fall, or the band is too small.
    ``smallest`` are the smallest drops that are detected soon.
    """

    expected: ExpectedRound
    limits: tuple[Limit, ...]
    every: float
    rounds: int
    quiet: tuple[float, ...]
    broken_before: tuple[Limit, ...]
    at_limits: float | None
    drifted: Scenario | None
    broken: tuple[Limit, ...]
    after: Detection | None
    alarms_after: float | None
    in_lowest_band: Detection | None
    smallest: Mapping[str, Mapping[Misses, float | None]]


def expected_round(
    context: MonitorContext, assumed: Mapping[str, Any] | None = None
) -> ExpectedRound:
    """Plan the next round, from its window and labels or a reference, or from assumed values.

    assumed: ``precision``, ``recall``, ``flagged_rate`` and ``size``.

    Raises `InputRefused` if there are no labels to plan from, or the assumed values contradict each
    other; `SourceRefused` if there are no predictions to plan from.
    """
    settings = context.settings.round
    planned = scan_to_plan(context) if assumed is None else _assumed(assumed, settings)
    prospect, sample = planned.prospect, settings.sample
    if prospect.prior_rates.source in _UNTESTED:
        message = (
            f"{context.settings.name} has no closed round and no reference to go by; give "
            "--precision, --recall, --flagged-rate and --size"
        )
        raise InputRefused(message)
    plan = allocate(
        prospect,
        margins=sample.margin.wanted() or None,
        max_labels=sample.budget,
        assurance=sample.assurance,
    )
    rates = prospect.prior_rates.rate
    scenario = Scenario.of(prospect.size, plan.labels, prospect.is_flagged, rates)
    if prospect.uniform is not None:
        scenario = scenario.summed(planned.bands)
    for metric, point in planned.estimates.items():
        scenario = scenario.moved(Limit(metric, point, "at_least"))
    basis = shown_estimates_text(planned.basis) if planned.estimates else planned.basis
    return ExpectedRound(scenario, plan, basis, prospect.recall_lost(plan.labels))


def _assumed(values: Mapping[str, Any], settings: RoundSettings) -> PlannedWindow:
    cost = settings.sample.cost
    try:
        prospect = Prospect.assumed(**values, flagged_cost=cost.flagged, passed_cost=cost.passed)
    except ValueError as error:
        raise InputRefused(str(error)) from error
    is_free = free_strata(prospect.is_flagged, settings)
    return two_strata(replace(prospect, is_free=is_free))


def simulate_alerts(
    expected: ExpectedRound,
    limits: Sequence[Limit],
    drift: Drift,
    *,
    every: float,
    rounds: int,
    paths: int,
    seed: int,
    track: Callable[[Sequence[_Stage]], Iterable[_Stage]] = iter,
) -> Forecast:
    """Simulate the alerts of a monitor without and with a drift; ``track`` reports progress.

    Raises `InputRefused` if the metrics cannot drift that far.
    """
    drifted = _drifted(expected.scenario, drift)
    edge = _at_limits(expected.scenario, limits)
    settings: dict[str, Any] = {"every": every, "seed": seed, "paths": paths, "rounds": rounds}

    def play(after: Scenario) -> Detection:
        return detection(expected.scenario, after, limits, **settings)

    broken = () if drifted is None else tuple(x for x in limits if drifted.breaks(x))
    lowest = _drifted(expected.scenario, drift, "in_lowest_band") if broken else None
    stages: list[_Stage] = [
        ("quiet", lambda: alarms(expected.scenario, limits, **settings)),
        ("at_limits", lambda: edge and sum(alarms(edge, limits, **settings))),
        ("after", lambda: drifted and play(drifted)),
        (
            "alarms_after",
            lambda: None if broken or not drifted else sum(alarms(drifted, limits, **settings)),
        ),
        ("in_lowest_band", lambda: lowest and play(lowest)),
        ("smallest", lambda: detected_soon(expected, limits, every)),
    ]
    return Forecast(
        expected=expected,
        limits=tuple(limits),
        every=every,
        rounds=rounds,
        broken_before=tuple(x for x in limits if expected.scenario.breaks(x)),
        drifted=drifted,
        broken=broken,
        **{name: compute() for name, compute in track(stages)},
    )


def detected_soon(
    expected: ExpectedRound, limits: Sequence[Limit], every: float
) -> dict[str, dict[Misses, float | None]]:
    """Find the smallest drop that is detected soon in 8 of 10 cases, for each limit that is kept.

    Skips ``at_most`` limits.
    """
    return {
        limit.metric: smallest_drops(expected.scenario, limits, metric=limit.metric, every=every)
        for limit in limits
        if limit.side == "at_least" and not expected.scenario.breaks(limit)
    }


def _drifted(scenario: Scenario, drift: Drift, misses: Misses = "in_proportion") -> Scenario | None:
    if not drift.drops and drift.prevalence == 1:
        return None
    can_miss = drift.drops.get("recall", 0) > 0 and scenario.lowest_band is not None
    if misses == "in_lowest_band" and not can_miss:
        return None
    try:
        result = scenario if drift.prevalence == 1 else scenario.with_prevalence(drift.prevalence)
        for metric, drop in drift.drops.items():
            result = result.dropped(metric, drop, misses)
    except ValueError as error:
        if misses == "in_lowest_band":
            return None  # the band is too small for it
        raise InputRefused(str(error)) from error
    return result


def _at_limits(scenario: Scenario, limits: Sequence[Limit]) -> Scenario | None:
    """Move every metric onto its limit; None if that cannot be done for all at once."""
    for limit in limits:
        scenario = scenario.moved(limit)
    # Rounding may leave a metric a hair beyond the limit that it was moved onto.
    inside = all(not scenario.breaks(limit, by=1e-9) for limit in limits)
    return scenario if inside else None
