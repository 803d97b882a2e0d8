"""How a monitor stands, in lines of `pr-monitor status` without a full stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from monitor.domain.alerting import LEARNING_ROUNDS, StoredAlert
from monitor.domain.report import Attention, AttentionCause, EstimateRow
from monitor.domain.settings import LimitSide
from monitor.presentation.estimates import answered_at_random_text
from monitor.presentation.numbers import (
    NOT_ESTIMABLE,
    interval_text,
    limits_text,
    minute_text,
    plural,
    span_text,
)

REMOVED = "the monitor is no longer in the config"
"""Why an alert ended that no round can end any more."""


def last_estimate_line(number: int, slot: datetime, *, partial: bool = False) -> str:
    """Return the line that names the round of the estimates, and says whether it is partial."""
    return f"last estimate: round {number}, due {minute_text(slot)} UTC{', partial' * partial}"


def next_round_line(slot: datetime) -> str:
    """Describe when the next round is due."""
    return f"next round due {minute_text(slot)} UTC"


def open_round_line(
    number: int,
    slot: datetime,
    *,
    answered: int,
    expected: int,
    deadline: datetime | None,
    missing_means: str = "unanswered",
) -> str:
    """Return how many answers a round has, or without a deadline that it is not drawn yet."""
    begin = f"round {number}, due {minute_text(slot)} UTC, is"
    if deadline is None:
        return f"{begin} not drawn yet"
    if missing_means == "negative":
        return f"{begin} labeling: {rows_text(answered, expected, deadline)}"
    return (
        f"{begin} labeling: {answered} of {plural(expected, 'answer')}, "
        f"deadline {minute_text(deadline)} UTC"
    )


def rows_text(answered: int, expected: int, deadline: datetime) -> str:
    """Return how many items have a row where the others count as negative in the end.

    >>> rows_text(40, 300, datetime(2026, 11, 9))
    'rows of 40 of 300 items so far; items without one are negative from 2026-11-09 00:00 UTC on'
    """
    return (
        f"rows of {answered} of {plural(expected, 'item')} so far; items without one are negative "
        f"from {minute_text(deadline)} UTC on"
    )


def learning_lines(rounds_remaining: int, proposed: Mapping[str, float]) -> list[str]:
    """Describe when limits are proposed, or which are."""
    wait = f"limits are proposed after {plural(rounds_remaining, 'more round')}"
    limits = (
        "proposed limits, up to 0.05 below the low ends of the last rounds, to accept in the "
        f"config: limits: {limits_text(proposed)}"
    )
    return [*([wait] if rounds_remaining else []), *([limits] if proposed else [])]


def proposal_cautions(proposed: Mapping[str, float], unlabeled: int) -> list[str]:
    """State that proposed limits take no account of missing answers, where there are any."""
    if not (proposed and unlabeled):
        return []
    return [answered_at_random_text(unlabeled, LEARNING_ROUNDS, "the proposed limits")]


def round_line(number: int, text: str) -> str:
    """Prefix a line with the round that it is about."""
    return f"round {number}: {text}"


def unopened_line(due: datetime) -> str:
    """Return the sentence that nobody opened the round that is due."""
    return f"the round due {minute_text(due)} UTC has not been opened; run-once does"


def waiting_line(number: int, until: datetime | None, reason: str | None) -> str:
    """Describe what keeps a round from its next step, and until when it waits."""
    return f"round {number} waits{until_text(until)}: {reason}"


def overdue_line(number: int, *, answered: int, expected: int) -> str:
    """Return the sentence that the deadline of a round has passed, and nobody closed it."""
    return f"round {number} is past its deadline with {answered} of {expected} answers"


def unanswered_line(number: int, remaining: timedelta) -> str:
    """Return the sentence that a round without any answer ends soon."""
    return (
        f"round {number} has no answer and ends in {span_text(remaining)} without an estimate, "
        "unless answers arrive"
    )


def closing_line(
    number: int, remaining: timedelta, *, missing: int, missing_means: str = "unanswered"
) -> str:
    """Return the sentence that a round closes soon, and what its items without an answer become.

    >>> closing_line(3, timedelta(hours=2), missing=1, missing_means="negative")
    'round 3 closes in 2 h; 1 item without a row is negative then (missing_means: negative)'
    """
    begin = f"round {number} closes in {span_text(remaining)}"
    verb = "is" if missing == 1 else "are"
    if missing_means == "negative":
        items = f"{plural(missing, 'item')} without a row {verb}"
        return f"{begin}; {items} negative then (missing_means: negative)"
    return f"{begin}; {plural(missing, 'answer')} {verb} still missing"


def no_estimate_line(number: int, reason: str | None) -> str:
    """Return the sentence that the newest round that ended has no estimate."""
    return f"round {number} gave no estimate: {reason}"


def unread_labels_line(obstacle: str) -> str:
    """Return the sentence that the place that labels come from could not be read."""
    return f"labels cannot be read: {obstacle}"


def unwatched_line(number: int, *, had_limits: bool) -> str:
    """State that the last round watches no limit; ``had_limits``: some were set when it closed."""
    if not had_limits:
        return (
            f"round {number} closed, or showed a provisional estimate, before the limits were set; "
            "later rounds are watched"
        )
    return (
        f"round {number} watches no limit: with nothing before it to compare with, it only "
        "learns; a reference in the config has limits watched from the first round on"
    )


def retrospective_line(limit: LimitSide, row: EstimateRow, *, oldest: int, newest: int) -> str:
    """Name the rounds that miss a limit set after they closed; ``row`` is the newest one's."""
    where = f"round {newest}" if oldest == newest else f"rounds {oldest} to {newest}"
    beyond = "below" if limit.side == "at_least" else "above"
    which = "it" if oldest == newest else "the last"
    return (
        f"retrospective: {limit.metric} was {beyond} its new limit {limit.value:g} in {where}, in "
        f"{which} {interval_text(row)}. No alert counts rounds that closed before the limit was set"
    )


def upcoming_line(rounds: int, last: int, due: datetime) -> str:
    """Return the sentence that rounds lie ahead of the clock, the last of them being due then."""
    if rounds == 1:
        subject, verb, opened = "round", "lies", "it was opened"
    else:
        subject, verb, opened = f"{rounds} rounds up to round", "lie", "they were opened"
    return (
        f"{subject} {last}, due {minute_text(due)} UTC, {verb} ahead of the clock, which was ahead "
        f"itself when {opened}"
    )


def untagged_line(why: str) -> str:
    """Describe why the registered model does not carry the tags of the last round."""
    return f"the model is not tagged: {why}"


def row_lines(issues: Mapping[str, tuple[int, bool]]) -> list[str]:
    """Describe irregular rows: how many, and whether they were left out, excluded rows first.

    >>> row_lines({"score NaN": (3, True), "the table grew": (1, False), "id missing": (1, True)})
    ['bad rows left out: 3 score NaN, 1 id missing', 'the table grew']
    """
    excluded = [f"{count} {what}" for what, (count, is_bad) in issues.items() if is_bad]
    included = [note_text(what, count) for what, (count, is_bad) in issues.items() if not is_bad]
    return [f"bad rows left out: {', '.join(excluded)}", *included] if excluded else included


def note_text(what: str, count: int) -> str:
    """Write a note on rows, with how many there are where it is about several."""
    return what if count == 1 else f"{count:,} {what}"


def until_text(until: datetime | None) -> str:
    """Describe until when a round waits; nothing if there is no such time."""
    return "" if until is None else f" until {minute_text(until)} UTC"


def attention_text(attention: Attention) -> str:
    """Describe what it is, and of which round.

    >>> from monitor.domain.report import Attention
    >>> attention_text(Attention("mail", 4, AttentionCause.NOT_ESTIMABLE, "no positives", "recall"))
    'round 4: recall is not estimable: no positives'
    """
    what = attention.reason
    if attention.matter is AttentionCause.NOT_ESTIMABLE:
        what = f"{attention.metric} is {NOT_ESTIMABLE}: {what}"
    elif attention.matter is AttentionCause.UNANSWERED:
        what = "it has no answer, and more than half of its labeling time is over"
    return f"round {attention.round}: {what}"


def removed_sentence(
    monitor: str, alerts: Iterable[StoredAlert], rounds: Iterable[int], ends_at: datetime
) -> str:
    """Report what is open of a monitor that the config does not have, and what becomes of that."""
    open_alerts = [f"an alert on {alert.metric} ({alert.id[:8]})" for alert in alerts]
    open_rounds = [f"round {number}" for number in rounds]
    parts = ["It is not monitored, unless another config on this store has it"]
    if open_rounds:
        parts.append("rounds go on when the config has it again")
    if open_alerts:
        parts.append(f"alerts are ended on {minute_text(ends_at)} UTC")
    return (
        f"{monitor} is in the store but not in the config (renamed or removed?), with "
        f"{', '.join([*open_alerts, *open_rounds])} open. {'; '.join(parts)}."
    )
