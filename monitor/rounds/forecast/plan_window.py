"""What the next round of a monitor will ask for and what that buys, before any label of it.

The same scan, bands and knowledge as the draw, on the newest window that has predictions; nothing
is written.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused
from monitor.domain.slots import newest_slot, slots_after, window_of
from monitor.domain.state import RoundState
from monitor.presentation.reasons import plan_note
from monitor.rounds.sampling.draw import look, why_unusable
from monitor.rounds.sampling.plan import label_cost, prior_rates_of
from monitor.rounds.sampling.prior import known_before, reference_of
from monitor.stats.design.planning import PlanOptions, Prospect, plan_options
from monitor.stats.detection.power import DROP, WITHIN, AlertPower, alert_power, assumed_limits
from monitor.storage import round_store
from monitor.storage.round_store import Round

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monitor.domain.model import Window
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.sampling.draw import WindowScan
    from monitor.stats.detection.half_space import Limit

BASES = {
    "rates": "the values given",
    "reference": "the reference matrix, spread evenly over the bands",
    "scores": "the scores alone, trusted little until a round is labeled",
    "nothing": "nothing; half of the labels for each predicted class",
}
REFERENCE = "the labeled reference"
NO_ROUND = -1


@dataclass(frozen=True, slots=True, eq=False)
class Sighted:
    """A window as its plan sees it: names of the strata and where the rates come from."""

    prospect: Prospect
    strata: tuple[str, ...]
    basis: str
    window: Window | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PlanForecast:
    """A plan, told both ways, and what the alerts would find with it."""

    sighted: Sighted
    outlook: PlanOptions
    alerts: tuple[AlertPower, ...]
    limits_assumed: bool
    every: float

    def as_json(self) -> dict[str, Any]:
        """Tell it as JSON."""
        prospect, plan = self.sighted.prospect, self.outlook.plan
        window = self.sighted.window
        known = prospect.prior_rates.source != "nothing"
        return {
            "basis": self.sighted.basis,
            "window": None if window is None else str(window),
            "size": int(prospect.size.sum()),
            "expected": prospect.expected if known else {},
            "labels": plan.total,
            "cost": plan.cost,
            "margins": dict(plan.margins),
            "asked": dict(plan.asked),
            "needed": plan.needed,
            "notes": [plan_note(note) for note in plan.notes],
            "strata": [
                {"stratum": name, "size": size, "labels": labels, "rate": rate if known else None}
                for name, size, labels, rate in zip(
                    self.sighted.strata,
                    prospect.size.tolist(),
                    plan.labels.tolist(),
                    prospect.prior_rates.rate.tolist(),
                    strict=True,
                )
            ],
            "labels_for_margins": [asdict(each) for each in self.outlook.needed],
            "margins_for_labels": [asdict(each) for each in self.outlook.bought],
            "alerts": [_alert_json(each) for each in self.alerts],
            "limits_assumed": self.limits_assumed,
            "false_alarm_every": self.every,
        }


def _alert_json(found: AlertPower) -> dict[str, Any]:
    return {
        "metric": found.limit.metric,
        "at_least": found.limit.value,
        "expected": found.expected,
        "smallest_drop": found.smallest_drop,
        "within_rounds": WITHIN,
        "drop": DROP,
        "median_rounds": found.median,
        "mean_rounds": found.mean,
    }


def two_strata(prospect: Prospect) -> Sighted:
    """Name the two strata of assumed values."""
    return Sighted(prospect, ("flagged", "passed"), BASES["rates"])


def sight(context: MonitorContext) -> Sighted:
    """Scan the newest window that has predictions, and say what is known of its strata.

    Raises
    ------
    SourceRefused
        If there are no predictions yet, or the window could not be sampled.
    """
    found = _as_if_drawn(context)
    seen = look(context, found)
    reason = why_unusable(seen.frame, found.settings)
    if reason is not None:
        raise SourceRefused(reason)
    known = known_before(context, found, seen, reference_of(context, found, seen))
    prior_rates = prior_rates_of(seen.frame, known, found.settings)
    prospect = Prospect.of(
        [part.size for part in seen.frame.strata],
        [part.stratum.flagged for part in seen.frame.strata],
        prior_rates,
        label_cost(seen.frame, found.settings),
    )
    names = tuple(part.stratum.name for part in seen.frame.strata)
    basis = BASES[prior_rates.source] if known is None else _basis(context, seen)
    return Sighted(prospect, names, basis, found.window)


def _basis(context: MonitorContext, seen: WindowScan) -> str:
    if seen.known is None:
        return REFERENCE
    with context.database.read() as connection:
        earlier = len(round_store.closed_rounds(connection, seen.known.id))
    if earlier == 0:
        return REFERENCE
    return "one earlier round" if earlier == 1 else f"{earlier} earlier rounds"


def foretell(
    sighted: Sighted,
    *,
    margins: Mapping[str, float] | None,
    max_labels: int | None,
    limits: Sequence[Limit] = (),
    every: float = 52,
) -> PlanForecast:
    """Plan for margins, a number of labels or both, and tell what that buys.

    Raises
    ------
    ValueError
        If neither is given, or nothing is known and there is no number of labels.
    """
    prospect = sighted.prospect
    outlook = plan_options(prospect, margins=margins, max_labels=max_labels)
    known = bool(outlook.plan.margins)
    watched = tuple(limits) or (assumed_limits(prospect) if known else ())
    alerts = alert_power(prospect, outlook.plan.labels, watched, every=every) if known else ()
    return PlanForecast(sighted, outlook, alerts, limits_assumed=not limits, every=every)


def forecast_monitor(
    context: MonitorContext, *, margins: Mapping[str, float] | None, max_labels: int | None
) -> PlanForecast:
    """Plan the next round of a monitor: as asked, or as its config has it if nothing is asked.

    Raises
    ------
    SourceRefused
        As `sight` does.
    ValueError
        As `foretell` does.
    """
    settings = context.settings.round
    if not margins and max_labels is None:
        margins, max_labels = settings.sample.margin.wanted(), settings.sample.max_labels
    return foretell(
        sight(context),
        margins=margins,
        max_labels=max_labels,
        limits=settings.limits.watched(),
        every=settings.limits.false_alarm_every,
    )


def _as_if_drawn(context: MonitorContext) -> Round:
    """Make the round that would be drawn now; it is in no store."""
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
    if span[1] < window_of(schedule, slot).start:
        slot = next(slots_after(schedule, span[1] + schedule.lag))
    with context.database.read() as connection:
        monitor_id = round_store.find_monitor(connection, settings.name)
    return Round(
        id=NO_ROUND,
        monitor=settings.name,
        monitor_id=NO_ROUND if monitor_id is None else monitor_id,
        history_id=None,
        number=NO_ROUND,
        slot=slot,
        window=window_of(schedule, slot),
        state=RoundState.OPEN,
        reason=None,
        settings=settings.round,
        seed="plan",
        opened_at=now,
        deadline=None,
        closed_at=None,
        labels_until=None,
        partial=False,
        version=0,
        first_version=1,
        first_look_at=None,
        label_revision=0,
        estimated_revision=None,
        claimed_until=None,
    )
