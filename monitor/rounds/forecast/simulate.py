"""What a monitor's alerts would do: its next round as a scenario, and drifts played on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.bands import bands_of
from monitor.domain.errors import InputRefused
from monitor.domain.model import BandEdges, Stratum
from monitor.domain.slots import newest_slot, window_of
from monitor.presentation import forecasts
from monitor.rounds.estimation.history import pooled_before
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.sampling.plan import free_strata, rates_of_cells, uniform_of
from monitor.rounds.sampling.rebin import References, binned
from monitor.rounds.sampling.window_scan import edges_of
from monitor.stats.core.beta_mixture import prior_count
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.prior import PriorRates
from monitor.stats.design.prospect import Prospect
from monitor.stats.design.recalibration import recalibrated_rates
from monitor.stats.detection.delay import Detection, detection, false_alarms
from monitor.stats.detection.power import smallest_drops
from monitor.stats.detection.scenario import Misses, Scenario
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext, ReferenceItems
    from monitor.stats.detection.half_space import Limit

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Levels:
    """A classifier in four numbers, for a monitor that has nothing to look back on."""

    precision: float
    recall: float
    flagged_rate: float
    size: int


@dataclass(frozen=True, slots=True)
class ExpectedRound:
    """A monitor's next round as it is expected.

    ``plan`` is what its settings ask for when its strata are known well, ``source`` a phrase for
    where that is from.
    """

    scenario: Scenario
    plan: Allocation
    source: str


@dataclass(frozen=True, slots=True)
class Drift:
    """What happens: drops by metric (.10 is ten points), and how much more common positives get."""

    drops: Mapping[str, float]
    prevalence: float = 1.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """A simulation of a monitor: quiet rounds, rounds at the limits, rounds after the drift.

    ``quiet`` and ``at_limits`` are mean numbers of alarms in ``rounds`` rounds; ``after`` is None
    where no drift was asked about; ``broken`` are the limits that it breaks. ``in_lowest_band`` is
    the same drift with the misses of its fall of recall all in the lowest band; None if recall
    does not fall or that cannot be. ``smallest`` are the smallest drops that are soon found.
    """

    expected: ExpectedRound
    limits: tuple[Limit, ...]
    every: float
    rounds: int
    quiet: float
    at_limits: float | None
    drifted: Scenario | None
    broken: tuple[Limit, ...]
    after: Detection | None
    alarms_after: float | None
    in_lowest_band: Detection | None
    smallest: Mapping[str, Mapping[Misses, float | None]]


def expected_round(
    context: MonitorContext, levels: Levels | None, size: int | None
) -> ExpectedRound:
    """Find the best that is known: given numbers, else closed rounds, else the reference.

    Raises `InputRefused` if there is nothing to go by, or the given numbers contradict each other.
    """
    settings = context.settings.round
    if levels is not None:
        return ExpectedRound(*_of_levels(levels, settings), forecasts.ASSUMED)
    expected_round = _of_rounds(context)
    if expected_round is not None:
        return expected_round
    if context.reference is not None:
        planned = _of_items(context.reference(), size or _window_size(context), settings)
        return ExpectedRound(*planned, forecasts.REFERENCE_ITEMS)
    matrix = settings.reference
    if matrix is not None and min(matrix.tp, matrix.fp, matrix.fn, matrix.tn) > 0:
        flagged = matrix.tp + matrix.fp
        levels = Levels(
            precision=matrix.tp / flagged,
            recall=matrix.tp / (matrix.tp + matrix.fn),
            flagged_rate=flagged / (flagged + matrix.fn + matrix.tn),
            size=size or _window_size(context),
        )
        return ExpectedRound(*_of_levels(levels, settings), forecasts.REFERENCE_MATRIX)
    message = (
        f"{context.settings.name} has no closed round and no reference to go by; give --precision, "
        "--recall, --flagged-rate and --size"
    )
    raise InputRefused(message)


def simulate_alerts(
    expected: ExpectedRound,
    limits: Sequence[Limit],
    drift: Drift,
    *,
    every: float,
    rounds: int,
    paths: int,
    seed: int,
) -> Forecast:
    """Simulate the alerts of a monitor without and with a drift.

    Raises `InputRefused` if the drift is impossible from where the metrics are.
    """
    drifted = _drifted(expected.scenario, drift)
    edge = _at_limits(expected.scenario, limits)
    alarms = partial(false_alarms, every=every, seed=seed, paths=paths, rounds=rounds)
    play = partial(detection, limits=limits, every=every, seed=seed, paths=paths, rounds=rounds)
    broken = () if drifted is None else tuple(x for x in limits if drifted.breaks(x))
    lowest = _drifted(expected.scenario, drift, "in_lowest_band") if broken else None
    return Forecast(
        expected=expected,
        limits=tuple(limits),
        every=every,
        rounds=rounds,
        quiet=alarms(expected.scenario, limits),
        at_limits=None if edge is None else alarms(edge, limits),
        drifted=drifted,
        broken=broken,
        after=None if drifted is None else play(expected.scenario, drifted),
        alarms_after=None if drifted is None or broken else alarms(drifted, limits),
        in_lowest_band=None if lowest is None else play(expected.scenario, lowest),
        smallest=detected_soon(expected, limits, every),
    )


def detected_soon(
    expected: ExpectedRound, limits: Sequence[Limit], every: float
) -> dict[str, dict[Misses, float | None]]:
    """Find, for each limit from below, the smallest drop that is soon found in 8 of 10 cases."""
    return {
        limit.metric: smallest_drops(expected.scenario, limits, metric=limit.metric, every=every)
        for limit in limits
        if limit.side == "at_least"
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


def _of_levels(levels: Levels, settings: RoundSettings) -> tuple[Scenario, Allocation]:
    """Make two strata with these levels; without scores there is nothing to cut bands by."""
    flagged = round(levels.flagged_rate * levels.size)
    passed = levels.size - flagged
    missed = levels.precision * flagged * (1 / levels.recall - 1)
    if not (flagged > 0 and passed > 0 and missed <= passed):
        message = (
            f"precision {levels.precision:g}, recall {levels.recall:g} and a flagged rate of "
            f"{levels.flagged_rate:g} cannot all hold for {levels.size} items"
        )
        raise InputRefused(message)
    return _planned(
        np.array([flagged, passed]),
        np.array([True, False]),
        np.array([levels.precision, missed / passed]),
        settings,
    )


def _of_rounds(context: MonitorContext) -> ExpectedRound | None:
    """Take the newest closed round's sizes, and the rates pooled over its history.

    Its strata are those it was drawn by, which may differ from today's config.
    """
    tallies, reference, drawn = _read_newest_history(context)
    if drawn is None:
        return None
    now = context.settings.round
    sample = now.sample.model_copy(update={"cells": drawn.sample.cells})
    settings = now.model_copy(update={"sample": sample})
    rates = _prior_rates(tallies, reference, settings)
    if rates is None:
        return None
    counts = tallies[-1].counts
    scenario, plan = _planned(counts.size, counts.is_flagged, rates, settings)
    source = forecasts.closed_rounds_text(len(tallies), with_reference=reference is not None)
    return ExpectedRound(_by_bands(scenario, tallies[-1].frame, settings), plan, source)


def _by_bands(scenario: Scenario, strata: Sequence[Stratum], settings: RoundSettings) -> Scenario:
    if settings.sample.cells is None:
        return scenario
    return scenario.summed([band.name for band in bands_of(strata, settings.sample)])


def _prior_rates(
    tallies: Sequence[Tally], reference: References | None, settings: RoundSettings
) -> Floats | None:
    newest = tallies[-1]
    if settings.sample.cells is not None:
        prior_rates = rates_of_cells(newest.frame, newest.counts.size.tolist(), tallies, reference)
        return None if prior_rates is None else prior_rates.rate
    pooled = pooled_before(tallies, newest.frame, reference, settings.pooling)
    return None if pooled is None else pooled.mean()


def _read_newest_history(
    context: MonitorContext,
) -> tuple[list[Tally], References | None, RoundSettings | None]:
    """Read the rounds that the newest closed one belongs with, their reference, its settings."""
    with context.database.read() as connection:
        rounds = round_store.find_rounds(connection, context.settings.name)
        ids = [round_.history_id for round_ in rounds if round_.estimated_version]
        histories = [history_id for history_id in ids if history_id is not None]
        if not histories:
            return [], None, None
        history = frame_store.read_history(connection, histories[-1])
        closed = round_store.closed_rounds(connection, history.id)
        stored = estimate_store.read_counts(connection, [round_.id for round_ in closed])
    tallies = [Tally(stored[round_.id]) for round_ in closed]
    return tallies, history.reference, closed[-1].settings


def _of_items(
    items: ReferenceItems, size: int, settings: RoundSettings
) -> tuple[Scenario, Allocation]:
    flagged, passed = (items.score[items.flagged == up] for up in (True, False))
    unscored = bool(np.isnan(items.score).any() and not np.isnan(items.score).all())
    edges = edges_of(flagged, passed, settings.sample, unscored=unscored)
    counted = binned(items, edges)
    strata = edges.strata()
    is_flagged = np.array([stratum.flagged for stratum in strata])
    positive, labeled = np.array([counted[s.name] for s in strata], dtype=np.float64).T
    sizes = np.rint(size * labeled / labeled.sum()).astype(np.int64)
    if settings.sample.cells is None:
        prior = np.array([prior_count(int((is_flagged == up).sum())) for up in is_flagged])
        rates = (prior + positive) / (2 * prior + labeled)
    else:
        rates = recalibrated_rates(
            sizes, is_flagged, labeled, positive, [stratum.unscored for stratum in strata]
        )
    scenario, plan = _planned(sizes, is_flagged, rates, settings)
    return _by_bands(scenario, strata, settings), plan


def _planned(
    size: NDArray[np.int64], is_flagged: NDArray[np.bool_], rates: Floats, settings: RoundSettings
) -> tuple[Scenario, Allocation]:
    """Add the labels that a round would ask for when its strata are known well."""
    cost = settings.sample.cost
    # Clipped: a rate of exactly 0 or 1 has no variance, and its stratum would get no label.
    plan = allocate(
        Prospect.of(
            size,
            is_flagged,
            PriorRates.of_rates(np.clip(rates, 1e-9, 1 - 1e-9)),
            cost=[cost.flagged if up else cost.passed for up in is_flagged],
            share_by_size=settings.sample.share_by_size,
            uniform=uniform_of(settings, "simulate"),
            is_free=free_strata(is_flagged, settings),
        ),
        margins=settings.sample.margin.wanted() or None,
        max_labels=settings.sample.base,
        assurance=settings.sample.assurance,
    )
    return Scenario.of(size, plan.labels, is_flagged, rates), plan


def _window_size(context: MonitorContext) -> int:
    schedule = context.settings.round.schedule
    window = window_of(schedule, newest_slot(schedule, context.clock()))
    size = context.source.scan(window, BandEdges().strata(), 1, "simulate").size
    if not size:
        message = f"no predictions in the newest window, {window}; give --size"
        raise InputRefused(message)
    return size
