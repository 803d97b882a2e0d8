"""Forecast the labels and margins of a monitor's next round.

Uses the scan, bands and prior of the draw, on the newest window that has predictions. Writes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monitor.domain.bands import bands_of
from monitor.domain.errors import InputRefused, SourceRefused
from monitor.domain.label_parts import checks_of
from monitor.domain.model import Window
from monitor.domain.report import find_row
from monitor.domain.round import Round
from monitor.domain.sampled_log import AMOUNT_NOTE, SAMPLED_NOTE
from monitor.domain.slots import newest_slot, next_slot, slots_after, window_of
from monitor.domain.state import RoundState
from monitor.presentation.forecasts import PLAN_SOURCES, earlier_rounds_text
from monitor.presentation.reasons import plan_note
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.groups import group_effect_of
from monitor.rounds.sampling.plan import prospect_of
from monitor.rounds.sampling.prior_rates import rates_before
from monitor.rounds.sampling.reference import reference_of
from monitor.rounds.sampling.window_scan import scan_window, why_unusable
from monitor.stats.design.allocation import Allocation, allocate
from monitor.stats.design.assurance import ASSURANCE
from monitor.stats.design.planning import PlanOptions, plan_options
from monitor.stats.design.prospect import Prospect
from monitor.stats.detection.half_space import Limit
from monitor.stats.detection.power import DROP, WITHIN, AlertPower, alert_power, assumed_limits
from monitor.storage.results import estimate_store, report_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

NO_ROUND = -1  # an id that no row has


@dataclass(frozen=True, slots=True, eq=False)
class PlannedWindow:
    """A window to plan for: its prospect, the band of each stratum, and the basis of the rates.

    ``checks`` is the number of column labels that people check besides. ``estimates`` are precision
    and recall of the last closed round of the history with earlier rounds, as status shows them.
    ``group_effect`` is the larger design effect of its labels, if items belong to groups.
    ``size_note`` is the window's note on sizes that are no counts of items: `AMOUNT_NOTE`,
    `SAMPLED_NOTE` or None.
    """

    prospect: Prospect
    bands: tuple[str, ...]
    basis: str
    window: Window | None = None
    checks: int = 0
    estimates: Mapping[str, float] = field(default_factory=dict)
    group_effect: float = 1.0
    size_note: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedBand:
    """Labels that a plan gives a band; ``rate`` is None if it is unknown."""

    stratum: str
    size: int
    labels: int
    rate: float | None


_CLASSES = ("flagged", "passed")


class AssumedJudge(NamedTuple):
    """Assumed shares of the positives and of the negatives to which a judge says yes.

    Each is a pair, for flagged and for passed items. ``pilot`` names the labels they come from.
    """

    tpr: tuple[float, float]
    fpr: tuple[float, float]
    pilot: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PlanForecast:
    """A plan, in labels and in margins, and the power of the alerts with it.

    ``judge`` is an assumed judge, and ``judged`` the plan with it.
    """

    planned: PlannedWindow
    outlook: PlanOptions
    alerts: tuple[AlertPower, ...]
    limits_assumed: bool
    every: float
    judge: AssumedJudge | None = None
    judged: Allocation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast as JSON."""
        prospect, plan = self.planned.prospect, self.outlook.plan
        window, plausible = self.planned.window, self.outlook.plausible
        return {
            "basis": self.planned.basis,
            "window": None if window is None else str(window),
            "size": int(prospect.size.sum()),
            "expected": prospect.expected if self._has_rates else {},
            "labels": plan.total,
            "free_labels": prospect.free_labels,
            "checks": self.planned.checks,
            "group_effect": self.planned.group_effect,
            "cost": plan.cost,
            "margins": dict(plan.margins),
            "later_margins": dict(plan.later),
            "asked": dict(plan.asked),
            "assurance": self.outlook.assurance,
            "assured": dict(plan.assured),
            "plausible": None if plausible is None else asdict(plausible),
            "recall_with_one_more": self.outlook.one_more,
            "needed": plan.needed,
            "notes": [plan_note(note) for note in plan.notes],
            "strata": [asdict(band) for band in self.bands()],
            "labels_for_margins": [asdict(needed) for needed in self.outlook.needed],
            "margins_for_labels": [asdict(bought) for bought in self.outlook.bought],
            "alerts": [_alert_json(power) for power in self.alerts],
            "limits_assumed": self.limits_assumed,
            "false_alarm_every": self.every,
            "judged": self._judged_json(),
        }

    def _judged_json(self) -> dict[str, Any] | None:
        if self.judge is None or self.judged is None:
            return None
        plan = self.judged
        return {
            "tpr": dict(zip(_CLASSES, self.judge.tpr, strict=True)),
            "fpr": dict(zip(_CLASSES, self.judge.fpr, strict=True)),
            "labels": plan.total,
            "needed": plan.needed,
            "margins": dict(plan.margins),
        }

    @property
    def _has_rates(self) -> bool:
        return self.planned.prospect.prior_rates.source != "nothing"

    def bands(self) -> list[PlannedBand]:
        """Sum the plan over the strata of each band, in the order of the strata."""
        of, prospect = np.array(self.planned.bands), self.planned.prospect
        results = []
        for name in dict.fromkeys(self.planned.bands):
            own = of == name
            size, rates = prospect.size[own], prospect.prior_rates.rate[own]
            if not size.any():  # there is nothing to plan for
                continue
            rate = float(np.average(rates, weights=size))
            labels = int(self.outlook.plan.labels[own].sum())
            prior_rate = rate if self._has_rates else None
            results.append(PlannedBand(name, int(size.sum()), labels, prior_rate))
        return results


def _alert_json(power: AlertPower) -> dict[str, Any]:
    return {
        "metric": power.limit.metric,
        "at_least": power.limit.value,
        "expected": power.expected,
        "smallest_drop": power.smallest_drop,
        "smallest_drop_in_lowest_band": power.smallest_drops.get("in_lowest_band"),
        "within_rounds": WITHIN,
        "drop": DROP,
        "median_rounds": power.median,
        "mean_rounds": power.mean,
    }


def two_strata(prospect: Prospect) -> PlannedWindow:
    """Return a window of two strata with assumed rates."""
    return PlannedWindow(prospect, ("flagged", "passed"), PLAN_SOURCES["rates"])


def scan_to_plan(context: MonitorContext) -> PlannedWindow:
    """Scan the newest window that has predictions, and find the prior of its strata.

    Raises `SourceRefused` if there are no predictions yet, or the window could not be sampled.
    """
    round_ = _as_if_drawn(context)
    seen = scan_window(context, round_)
    reason = why_unusable(seen.frame, round_.settings)
    if reason is not None:
        raise SourceRefused(reason)
    existing = rates_before(context, round_, seen, reference_of(context, round_, seen))
    prospect = prospect_of(seen.frame, existing, round_.settings, round_.seed)
    bands = bands_of([part.stratum for part in seen.frame.strata], round_.settings.sample)
    names = tuple(band.name for band in bands)
    estimates: dict[str, float] = {}
    effect = 1.0
    if existing is None or existing.source == "history":
        source: str = prospect.prior_rates.source
        by_verdict = source == "scores" and prospect.cell is not None
        basis = PLAN_SOURCES["verdicts" if by_verdict else source]
    else:
        with context.database.read() as connection:
            earlier = round_store.closed_rounds(connection, seen.known.id) if seen.known else []
            if earlier:
                estimates = _shown_estimates(connection, earlier[-1])
                report = report_store.read_report(connection, earlier[-1].id, earlier[-1].version)
                effect = group_effect_of(report)
        basis = earlier_rounds_text(len(earlier))
    checks = sum(each.items for each in checks_of(round_.settings.labeling).values())
    return PlannedWindow(
        prospect,
        names,
        basis,
        round_.window,
        checks,
        estimates,
        effect,
        next((note for note in (AMOUNT_NOTE, SAMPLED_NOTE) if note in seen.frame.notes), None),
    )


def _shown_estimates(connection: Connection, round_: Round) -> dict[str, float]:
    rows = estimate_store.read_estimates(connection, round_.id, round_.version)
    shown = {metric: find_row(rows, metric, "pooled") for metric in ("precision", "recall")}
    return {
        metric: row.point
        for metric, row in shown.items()
        if row is not None and row.point is not None and 0 < row.point < 1
    }


def forecast_plan(
    planned: PlannedWindow,
    *,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    assurance: float | None = ASSURANCE,
    limits: Sequence[Limit] = (),
    every: float = 52,
    judge: AssumedJudge | None = None,
) -> PlanForecast:
    """Plan for margins, a number of labels or both, and forecast the alerts.

    judge: An assumed judge, for a second plan with it.

    Raises `ValueError` if neither is given, or if rates are unknown and no number of labels is
    given.
    """
    prospect = planned.prospect
    outlook = plan_options(prospect, margins=margins, max_labels=max_labels, assurance=assurance)
    existing = bool(outlook.plan.margins)
    watched = tuple(limits) or (assumed_limits(prospect) if existing else ())
    labels = outlook.plan.labels
    bands = None if prospect.uniform is None else planned.bands
    alerts = alert_power(prospect, labels, watched, every=every, bands=bands) if existing else ()
    judged = None
    if judge is not None:
        judged = allocate(
            prospect.judged(judge.tpr, judge.fpr),
            margins=margins,
            max_labels=max_labels,
            assurance=assurance,
        )
    return PlanForecast(planned, outlook, alerts, not limits, every, judge, judged)


def forecast_monitor(
    context: MonitorContext,
    *,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    judge: AssumedJudge | None = None,
) -> PlanForecast:
    """Plan the next round of a monitor, with the config's margins and budget if none are given."""
    settings = context.settings.round
    if judge is not None and settings.judge is not None:
        message = (
            f"{context.settings.name} has a judge, and its plan counts on it; leave out the rates "
            "of an assumed one"
        )
        raise InputRefused(message)
    if not margins and max_labels is None:
        margins, max_labels = settings.sample.margin.wanted(), settings.sample.budget
    return forecast_plan(
        scan_to_plan(context),
        margins=margins,
        max_labels=max_labels,
        assurance=settings.sample.assurance,
        limits=settings.limits.watched(),
        every=settings.limits.every_of_classifier(),
        judge=judge,
    )


def _as_if_drawn(context: MonitorContext) -> Round:
    settings, now = context.settings, context.clock()
    schedule = settings.round.schedule
    slot = newest_slot(schedule, now)
    span = context.source.span()
    if span is None:
        message = (
            f"{settings.name} has no predictions yet; to plan without any, give --precision, "
            "--recall and --flagged-rate"
        )
        raise SourceRefused(message)
    newest = window_of(schedule, slot)
    # Nothing in the newest window: plan by the last window that predictions fill, if one is filled.
    if span[1] < newest.start or span[0] >= newest.end:
        slot = newest_slot(schedule, span[1] + schedule.lag)
        if window_of(schedule, slot).start < span[0]:
            slot = next(slots_after(schedule, span[1] + schedule.lag))
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, settings.name)
    return Round(
        id=NO_ROUND,
        monitor=settings.name,
        monitor_id=NO_ROUND if monitor_id is None else monitor_id,
        number=NO_ROUND,
        slot=next_slot(schedule, now),  # not the window's, whose round may have closed already
        window=window_of(schedule, slot),
        state=RoundState.OPEN,
        settings=settings.round,
        seed="plan",
        opened_at=now,
    )
