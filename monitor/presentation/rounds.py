"""Sentences about a round: its one sentence, and what to do where it needs somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from monitor.domain.alerting import StoredAlert
from monitor.domain.model import Window
from monitor.domain.report import EstimateRow
from monitor.presentation.alerts import broken_limit
from monitor.presentation.estimates import estimate_text
from monitor.presentation.numbers import capital, limits_text

if TYPE_CHECKING:
    Rows = Mapping[str, EstimateRow | None]


def show_command(monitor: str, number: int) -> str:
    """Give the command that shows a round."""
    return f"pr-monitor show {number} -m {monitor}"


def run_command(monitor: str, slot: datetime) -> str:
    """Give the command that runs the round of a slot."""
    return f"pr-monitor run-once --slot {slot.astimezone(UTC):%Y-%m-%dT%H:%MZ} -m {monitor}"


def round_sentence(
    window: Window, own: Rows, pooled: Rows, *, few: Sequence[str], alerts: str
) -> str:
    """Describe what a closed round found, by metric, and whether an alert is open.

    ``few``: metrics that few labels decide.
    """
    decided = f" (few labels decide {' and '.join(few)})" if few else ""
    return (
        f"Window {window.start:%Y-%m-%d} to {window.end:%Y-%m-%d}: {_numbers(own)} from this round "
        f"alone{decided}; {_numbers(pooled)} with earlier rounds; {alerts}."
    )


def alerts_text(firing: Sequence[StoredAlert]) -> str:
    """Describe which alerts are open."""
    open_ones = (f"ALERT: {broken_limit(a)}, firing since round {a.fired_in_round}" for a in firing)
    return "; ".join(open_ones) or "no alert"


def learning_text(proposed: Mapping[str, float]) -> str:
    """Return how far a monitor without limits is."""
    if not proposed:
        return "learning, no limits set yet"
    return f"learning; proposed limits {limits_text(proposed)}"


def no_estimate_sentence(number: int, reason: str) -> str:
    """Describe in its report that a round ended without an estimate."""
    return f"Round {number} gave no estimate: {reason}."


def check_sentence(number: int, reason: str) -> str:
    """Describe in its report that a round needs a look."""
    return f"Round {number} needs a look: {reason}."


def abandoned_sentence(monitor: str, number: int, reason: str) -> str:
    """Describe in a notice that a round ended without an estimate."""
    return f"{monitor}, round {number}: no estimate. {capital(reason)}."


def attention_sentence(monitor: str, number: int, concern: str) -> str:
    """Describe in a notice that a round needs a look."""
    return f"{monitor}, round {number} needs a look: {concern}."


def corrected_sentence(number: int, turned: tuple[int, int], lost: tuple[int, int]) -> str:
    """Report a correction that turned many answers of a closed round.

    ``turned`` has how many of all labels, ``lost`` how many of the positive ones.
    """
    fewer = (
        f", and {lost[0]:,} of its {lost[1]:,} positive ones are not positive now (are all rows of "
        "the labels still there?)"
        if lost[0]
        else ""
    )
    return (
        f"a correction turned at least {turned[0]:,} of the {turned[1]:,} labels of round "
        f"{number}{fewer}, so its estimates, and those of later rounds, have changed"
    )


def unusual_sentence(monitor: str, number: int, notice: str) -> str:
    """Describe in the log what was unusual about a round that closed."""
    return f"{monitor}, round {number}: {notice}."


def attention_to_do(monitor: str, number: int) -> str:
    """Describe what helps a round that needs a look and goes on."""
    return (
        f"The round continues, and alerts fire as usual. pr-monitor check describes the newest "
        f"predictions, {show_command(monitor, number)} what was "
        "counted. If the config or the classifier's input is wrong, fix it."
    )


def undrawn_to_do(monitor: str, slot: datetime) -> str:
    """Describe what helps a round that was given up before it was drawn."""
    return (
        f"{_until(monitor)} Fix that, check with pr-monitor check that a round can be drawn, and "
        f"run this one again: {run_command(monitor, slot)}"
    )


def unlabeled_to_do(monitor: str, number: int, *, by_column: bool) -> str:
    """Report what helps a round of which only labels were missing, from people or from a column."""
    if by_column:
        return (
            f"{_until(monitor)} Check with pr-monitor check whether labels and predictions have "
            "the same ids; if labels come later than labeling.matures, increase it. The labels so "
            f"far are in {show_command(monitor, number)}."
        )
    return (
        f"{_until(monitor)} Make sure that people get the tasks of the next round and answer in "
        f"time, or extend labeling.deadline. The answers so far are in "
        f"{show_command(monitor, number)}."
    )


def no_round_text(monitor: str, number: int, numbers: Sequence[int]) -> str:
    """Return the sentence that a monitor has no such round, and which it has, in slot order."""
    if not numbers:
        return f"{monitor} has no round {number}; it has none yet"
    between = f"{numbers[0]} and {numbers[-1]}"
    return f"{monitor} has no round {number}; its rounds lie between {between}"


def remarks_text(
    version: int,
    *,
    partial: bool = False,
    worst_case: bool = False,
    restated: bool = False,
    by_amount: bool = False,
) -> str:
    """Describe in a list of rounds what is special about the estimates of one.

    ``worst_case``: intervals are worst-case bounds, as always in a partial round.

    >>> remarks_text(1), remarks_text(2, partial=True)
    ('', 'version 2, partial')
    >>> remarks_text(1, partial=True, worst_case=True), remarks_text(1, worst_case=True)
    ('partial', 'bounds')
    >>> remarks_text(2, restated=True, by_amount=True)
    'by amount, version 2, restated'
    """
    remarks = ["by amount"] * by_amount
    remarks += [f"version {version}"] * (version > 1) + ["restated"] * restated
    remarks += ["partial"] if partial else ["bounds"] * worst_case
    return ", ".join(remarks)


def _until(monitor: str) -> str:
    return f"Until a later round has an estimate, nothing watches {monitor}."


def _numbers(rows: Rows) -> str:
    return ", ".join(f"{metric} {estimate_text(row)}" for metric, row in rows.items())
