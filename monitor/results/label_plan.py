"""A plan of labels: what `plan` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monitor.domain.sampled_log import AMOUNT_NOTE, SAMPLED_NOTE
from monitor.presentation.forecasts import one_more_text, plausible_text, unanswered_text
from monitor.presentation.numbers import capital
from monitor.presentation.reasons import plan_note
from monitor.presentation.table import Table
from monitor.results.result import Result
from monitor.stats.design.notes import BudgetShort
from monitor.stats.design.planning import LabelsNeeded
from monitor.stats.detection.power import DROP, PROBABILITY, WITHIN, AlertPower

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from monitor.rounds.forecast.plan_window import AssumedJudge, PlanForecast

METRICS = ("precision", "recall")
_NOTHING = 1e-6
_SIZES = {
    AMOUNT_NOTE: ", by amount (source.columns.weight)",
    SAMPLED_NOTE: ", estimated (source.kept_with)",
}
_UNTESTED = {
    "scores": "the scores are probabilities",
    "history": "scores say as much as in the last history",
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelPlan(Result):
    """How many labels a round needs, in which strata, and what other numbers would buy."""

    forecast: PlanForecast

    def document(self) -> Sequence[str | Table]:
        """Return the plan, what margins cost, what labels buy, and what alerts would find."""
        forecast = self.forecast
        parts: list[str | Table] = [*_window(forecast), _strata(forecast), ""]
        parts += sentences(forecast)
        if forecast.outlook.needed:
            parts += ["", _needed(forecast), "", _bought(forecast)]
        if forecast.alerts:
            parts += ["", *_alerts(forecast)]
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return all values; `monitor.plan` names them."""
        return self.forecast.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each stratum: ``stratum``, ``size``, ``labels``, ``rate``."""
        import pandas as pd  # noqa: PLC0415 - a second that only tables need

        return pd.DataFrame(self.to_dict()["strata"])


def _shares(forecast: PlanForecast) -> Iterator[str]:
    planned, total = forecast.planned, forecast.outlook.plan.total
    if free := planned.prospect.free_labels:
        yield f"Columns have {free:,} of them, people give {total - free:,}."
    if planned.group_effect > 1:
        yield (
            "These margins are of the window itself. Items of one group are alike: by the last "
            f"round, intervals of the rate are up to {planned.group_effect**0.5:.1f} times as wide "
            "as labels of independent items make them. Labels from more groups narrow them."
        )
    if planned.checks:
        yield f"People check {planned.checks:,} labels of columns besides."


def sentences(forecast: PlanForecast) -> list[str]:
    """Describe the plan in sentences: its result, the request, and what could not be done."""
    plan = forecast.outlook.plan
    cost = "" if plan.cost == plan.total else f" (cost {plan.cost:,.6g})"
    gives = f" give {_widths(plan.margins)}" if plan.margins else ""
    if plan.later:
        gives = (
            f": the first round gives {_widths(plan.margins)}, from the second on "
            f"{_widths(plan.later)} if {_UNTESTED[forecast.planned.prospect.prior_rates.source]}"
        )
    lines = [f"{plan.total:,} labels{cost}{gives}."]
    lines += _shares(forecast)
    if plan.margins and (lost := forecast.planned.prospect.recall_lost(plan.labels)):
        lines.append(f"{capital(unanswered_text(lost))}.")
    if (one_more := forecast.outlook.one_more or 0.0) > plan.margins.get("recall", 0.0):
        lines.append(one_more_text(one_more))
    assurance = forecast.outlook.assurance
    if plan.assured:
        assured = [f"{name} {plan.assured[name]:.2f}" for name in METRICS if name in plan.assured]
        lines.append(
            f"Probability that they are within {_widths(plan.asked)}: {', '.join(assured)}."
        )
    if forecast.outlook.plausible is not None:
        lines.append(plausible_text(forecast.outlook.plausible, plan.assured))
    if plan.needed is not None and plan.needed > plan.total:
        sure = "on average" if assurance is None else f"with probability {assurance:g}"
        lines.append(f"To be within that {sure} would take {plan.needed:,}.")
    lines += _of_judge(forecast)
    if whole := _whole(forecast):
        names = "the window" if len(whole) == len(forecast.bands()) else ", ".join(whole)
        lines.append(f"Every item of {names} gets a label: none of it is left to chance.")
    # What a short budget means is in the sentences above.
    notes = [note for note in plan.notes if not isinstance(note, BudgetShort)]
    return [*lines, *(f"Note: {plan_note(note)}." for note in notes)]


def _of_judge(forecast: PlanForecast) -> Iterator[str]:
    if forecast.judge is not None and forecast.judged is not None:
        yield (
            f"With a judge that says yes to {_judge_text(forecast.judge)}, "
            f"{forecast.judged.total:,} labels give {_widths(forecast.judged.margins)}."
        )
        if forecast.judge.pilot is not None:
            yield forecast.judge.pilot


def _judge_text(judge: AssumedJudge) -> str:
    (positive, missed), (false, passed) = (
        [f"{100 * share:.3g} %" for share in shares] for shares in (judge.tpr, judge.fpr)
    )
    if (positive, false) == (missed, passed):
        return f"{positive} of the positives and {false} of the negatives"
    return (
        f"{positive} of the flagged positives, {missed} of the missed ones, {false} of the flagged "
        f"negatives and {passed} of the passed ones"
    )


def _whole(forecast: PlanForecast) -> list[str]:
    return [band.stratum for band in forecast.bands() if band.size == band.labels > 0]


def _window(forecast: PlanForecast) -> list[str]:
    planned = forecast.planned
    size, up = planned.prospect.size, planned.prospect.is_flagged
    where = "an assumed window" if planned.window is None else f"window {planned.window}"
    flagged = int(size[up].sum())
    sizes = "" if planned.size_note is None else _SIZES[planned.size_note]
    expected = planned.prospect.expected
    has_estimate = bool(forecast.outlook.plan.margins)
    values = ", ".join(f"{name} {expected[name]:.3f}" for name in METRICS if name in expected)
    return [
        f"{where}: {flagged:,} flagged, {int(size.sum()) - flagged:,} passed{sizes}",
        f"planned by {planned.basis}{f': {values}' if has_estimate and values else ''}",
        "",
    ]


def _strata(forecast: PlanForecast) -> Table:
    has_estimate = bool(forecast.outlook.plan.margins)
    rows = []
    for band in forecast.bands():
        rate = f"{band.rate:.4f}" if has_estimate and band.rate is not None else "-"
        rows.append([band.stratum, f"{band.size:,}", rate, f"{band.labels:,}"])
    return Table(["stratum", "size", "positive rate", "labels"], rows, right="123")


def _needed(forecast: PlanForecast) -> Table:
    banded = len(forecast.planned.bands) > len(forecast.planned.prospect.without_bands.size)
    head = ["interval", "labels", "without bands", "random sampling"]
    rows = [
        [_margins_text(of), f"{of.labels:,}", f"{of.two_strata:,}", f"{of.random:,}"]
        for of in forecast.outlook.needed
    ]
    if not banded:
        head, rows = [*head[:2], head[3]], [[*row[:2], row[3]] for row in rows]
    return Table(head, rows, right="123"[: len(head) - 1])


def _bought(forecast: PlanForecast) -> Table:
    bought = forecast.outlook.bought
    names = [name for name in METRICS if name in bought[0].margins]
    rows = [
        [f"{each.labels:,}", *(_width(each.margins[name]) for name in names)] for each in bought
    ]
    head = ["labels", *names]
    if any(each.cost != each.labels for each in bought):
        head.append("cost")
        rows = [[*row, f"{each.cost:,.6g}"] for row, each in zip(rows, bought, strict=True)]
    return Table(head, rows, right="0123")


def _alerts(forecast: PlanForecast) -> list[str | Table]:
    rows = []
    for power in forecast.alerts:
        limit = f"{power.limit.metric} at least {power.limit.value:.3g}"
        late = power.mean is None or power.median is None
        rounds = "over 26" if late else f"{power.mean:.1f}"
        rows.append([limit, _smallest(power), _in_lowest_band(power), rounds])
    heads = ["limit", "drop", "drop in lowest band", f"rounds for {DROP * 100:.0f} points"]
    if all(row[2] == "-" for row in rows):  # passed items in one stratum
        heads, rows = [*heads[:2], heads[3]], [[*row[:2], row[3]] for row in rows]
    assumed = "; no limits are set, these are 5 points under what is expected"
    return [
        f"Drops in points that alerts find within {WITHIN} rounds ({PROBABILITY:.0%})"
        f"{assumed if forecast.limits_assumed else ''}:",
        Table(heads, rows, right="123"),
    ]


def _smallest(power: AlertPower) -> str:
    if power.expected < power.limit.value:
        return f"{power.expected:.3g} is expected: under it already"
    return "none" if power.smallest_drop is None else f"{power.smallest_drop * 100:.0f}"


def _in_lowest_band(power: AlertPower) -> str:
    if "in_lowest_band" not in power.smallest_drops or power.expected < power.limit.value:
        return "-"
    drop = power.smallest_drops["in_lowest_band"]
    return "none" if drop is None else f"{drop * 100:.0f}"


def _margins_text(needed: LabelsNeeded) -> str:
    if len(set(needed.margins.values())) == 1:
        return _width(next(iter(needed.margins.values())))
    return _widths(needed.margins)


def _widths(margins: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {_width(margins[name])}" for name in METRICS if name in margins)


def _width(half: float) -> str:
    return f"+-{0 if half < _NOTHING else half * 100:.2g} %" if half < 1 else "unknown"
