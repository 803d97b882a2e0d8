"""A threshold that labels allow, beside the one in use: what `pr-monitor threshold` prints."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused
from monitor.domain.label_parts import checks_of
from monitor.domain.settings import LEAST_CONFIDENCE
from monitor.presentation.estimates import answered_at_random_text
from monitor.presentation.numbers import NOT_ESTIMABLE, interval_text
from monitor.presentation.table import Table
from monitor.rounds.forecast.threshold import AtThreshold, Goal, Proposal
from monitor.stats.curves.thresholds import STARTS

if TYPE_CHECKING:
    from collections.abc import Sequence


AROUND = 4  # Thresholds of the curve on either side of the proposed and the present one


def goal_of(
    *,
    precision: float | None,
    recall: float | None,
    cost_fp: float | None,
    cost_fn: float | None,
    capacity: float | None,
    confidence: float,
) -> Goal:
    """Return the goal of the options, checked.

    Raises `InputRefused` unless there is one goal, or if a number is out of range.
    """
    if (cost_fp is None) != (cost_fn is None):
        message = "--cost-fp and --cost-fn go together: give both"
        raise InputRefused(message)
    costs = None if cost_fp is None or cost_fn is None else (cost_fp, cost_fn)
    goals = {"--precision": precision, "--recall": recall, "--cost-fp": costs}
    named = [name for name, value in {**goals, "--capacity": capacity}.items() if value is not None]
    if len(named) != 1:
        message = (
            f"{' and '.join(named) or 'no goal'} given; give one of --precision, --recall, "
            "--cost-fp with --cost-fn, and --capacity"
        )
        raise InputRefused(message)
    for name, share in (("precision", precision), ("recall", recall), ("confidence", confidence)):
        if share is not None and not 0 < share < 1:
            message = f"--{name} is {share:g}; it is a share over 0 and under 1"
            raise InputRefused(message)
    if confidence < LEAST_CONFIDENCE:
        message = (
            f"--confidence is {confidence:g}, so the guarantee would mostly be broken; "
            f"did you mean {1 - confidence:g}?"
        )
        raise InputRefused(message)
    for name, value in (("cost-fp", cost_fp), ("cost-fn", cost_fn), ("capacity", capacity)):
        if value is not None and not 0 < value < float("inf"):
            message = f"--{name} is {value:g}; it is a number over 0"
            raise InputRefused(message)
    return Goal(precision, recall, costs, capacity, confidence)


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """Return all values; ``proposed`` is null where no threshold is allowed."""
    curve = [asdict(each) for each in proposal.curve]
    of_rounds = [each.number for each in proposal.rounds]
    source: dict[str, Any] = {"drawn": proposal.drawn, "warnings": [*proposal.warnings]}
    if of_rounds:
        source = {"monitor": proposal.rounds[-1].monitor, "rounds": of_rounds}
    return {
        **source,
        "goal": {name: value for name, value in proposal.goal._asdict().items() if value},
        **{name: getattr(proposal, name) for name in ("labeled", "positive", "missing")},
        "keep": proposal.proposed in {None, proposal.current} or not proposal.sure,
        "sure": proposal.sure,
        "current": curve[proposal.current],
        "proposed": None if proposal.proposed is None else curve[proposal.proposed],
        "curve": curve,
    }


def proposal_document(proposal: Proposal) -> list[str | Table]:
    """Return the answer, what it changes, and the curve around it."""
    shown = [(proposal.current, "in use")]
    if proposal.proposed not in {None, proposal.current}:
        shown.append((proposal.proposed or 0, "proposed"))
    checked = any(checks_of(each.settings.labeling) for each in proposal.rounds)
    head = ["threshold", "", f"flagged {_unit(proposal)}"]
    rows = [_row(proposal.curve[k], name) for k, name in shown]
    return [
        f"{_labels_text(proposal)}: {_goal_text(proposal.goal)}",
        *(f"WARNING: {warning}" for warning in proposal.warnings),
        f"by {proposal.labeled:,} labels, {proposal.positive:,} of them positive",
        *([answered_at_random_text(proposal.missing)] if proposal.missing else []),
        *(["labels are taken as they are: checks correct none of this"] if checked else []),
        "",
        _answer(proposal),
        "",
        Table([*head, "precision", "recall"], rows, right="02"),
        "",
        Table(
            [*head, "change", "precision", "recall", "p", "allowed p"],
            _around(proposal),
            right="0234567",
        ),
        *_p_text(proposal.goal),
    ]


def _labels_text(proposal: Proposal) -> str:
    if not proposal.rounds:
        return proposal.drawn
    first, last = proposal.rounds[0].number, proposal.rounds[-1].number
    numbers = f"round {last}" if first == last else f"rounds {first} to {last}"
    return f"{proposal.rounds[-1].monitor}, {numbers}"


def _unit(proposal: Proposal) -> str:
    return "a window" if proposal.total is None else f"of {proposal.total:,}"


def _goal_text(goal: Goal) -> str:
    confidence = f"with {100 * goal.confidence:.4g}% confidence"
    if goal.precision is not None:
        return f"the lowest tested threshold of precision {goal.precision:g} or more, {confidence}"
    if goal.recall is not None:
        return f"the highest tested threshold of recall {goal.recall:g} or more, {confidence}"
    if goal.costs is not None:
        wrong, missed = goal.costs
        return f"the least cost, {wrong:g} a false positive and {missed:g} a missed one"
    return f"the lowest tested threshold that flags at most {goal.capacity:,.10g} items a day"


def _answer(proposal: Proposal) -> str:
    now = proposal.curve[proposal.current]
    if proposal.proposed is None:
        more = "labels or more --rounds" if proposal.rounds else "labels"
        why = (
            f"no threshold is tested that flags so few; {proposal.curve[0].threshold:g} flags "
            f"{proposal.curve[0].flagged:,.0f} {_unit(proposal)}"
            if proposal.goal.capacity
            else f"these labels are sure of no threshold; more {more} may be"
        )
        return f"keep {now.threshold:g}: {why}"
    best = proposal.curve[proposal.proposed]
    if proposal.proposed == proposal.current:
        return f"keep {now.threshold:g}: it is that threshold already"
    if not proposal.sure:
        return (
            f"keep {now.threshold:g}: {best.threshold:.6g} has the least estimated cost, but these "
            "labels are not sure that it costs less"
        )
    change = best.flagged - now.flagged
    return (
        f"propose {best.threshold:.6g} in place of {now.threshold:g}: {abs(change):,.0f} "
        f"{'more' if change > 0 else 'fewer'} flagged {_unit(proposal)}"
    )


def _p_text(goal: Goal) -> list[str]:
    """Explain p, and why a threshold with a small one may not be proposed."""
    if goal.capacity is not None:
        return []
    meaning, order = "misses the goal", "from the highest" if goal.precision else "from the lowest"
    shared = (
        f"thresholds are tested {order} on. Each of up to {STARTS} starts has a part of "
        f"{1 - goal.confidence:.4g}; a threshold that passes hands its part on to the next, one "
        "that fails ends it"
    )
    if goal.costs is not None:
        meaning = "costs no less than the one in use"
        shared = f"all thresholds share {1 - goal.confidence:.4g} equally"
    return [
        "",
        f"p: probability of labels this good where the threshold {meaning}. It passes if p is at "
        "most the allowed p:",
        shared,
    ]


def _row(at: AtThreshold, name: str) -> list[str]:
    both = [(at.intervals or {}).get(metric) for metric in ("precision", "recall")]
    texts = [NOT_ESTIMABLE if each is None else interval_text(each) for each in both]
    return [*_begin(at, name), *texts]


def _begin(at: AtThreshold, name: str) -> list[str]:
    return [f"{at.threshold:.6g}", name, f"{at.flagged:,.0f}"]


def _around(proposal: Proposal) -> Sequence[list[str]]:
    ends = [proposal.current, proposal.current if proposal.proposed is None else proposal.proposed]
    rows = []
    for k in range(max(min(ends) - AROUND, 0), min(max(ends) + AROUND + 1, len(proposal.curve))):
        at = proposal.curve[k]
        change = at.flagged - proposal.curve[proposal.current].flagged
        role = "in use" if k == proposal.current else "proposed" if k == proposal.proposed else ""
        p = ["" if value is None else f"{value:.4f}" for value in (at.p, at.allowed_p)]
        metrics = [f"{at.precision:.3f}", f"{at.recall:.3f}", *p]
        rows.append([*_begin(at, role), f"{change:+,.0f}", *metrics])
    return rows
