"""What another setting begins, between two rounds or with the next one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from monitor.domain.settings import Begins, Change, Difference, HistoryStart
from monitor.presentation.numbers import minute_text

_FIRST = {
    Begins.HISTORY: "begins a new history",
    Begins.EARLIER_HISTORY: "continues an earlier history",
    Begins.SCHEDULE: "is the first by another schedule",
}
_STARTS = {
    HistoryStart.KNOWN: "the next round continues the history that it had with these settings",
    HistoryStart.REBINNED: (
        "the next round begins a new history, which starts from the labels so far, counted by the "
        "new strata"
    ),
    HistoryStart.NOTHING: (
        "the next round begins a new history: estimates with earlier rounds start again; evidence "
        "and open alerts stay"
    ),
}


def difference_text(difference: Difference) -> str:
    """Write a setting with its two values.

    >>> from monitor.domain.settings import Difference
    >>> difference_text(Difference("model", None, "models:/mail/7"))
    'model not set -> models:/mail/7'
    """
    return f"{difference.name} {_value(difference.before)} -> {_value(difference.after)}"


def change_sentence(change: Change) -> str:
    """Describe what a round is the first of, and by which settings."""
    first = _FIRST[change.begins]
    return f"{first} ({_all(change.differences)})" if change.differences else first


def next_history_sentence(differences: Sequence[Difference], start: HistoryStart) -> str:
    """State that the next round is of another history than the newest, and what it starts from."""
    return f"{_all(differences)}: {_STARTS[start]}"


def next_schedule_sentence(differences: Sequence[Difference], begins_at: datetime) -> str:
    """Describe where the first window of another schedule begins."""
    return (
        f"{_all(differences)}: the next window begins where the last one ended, "
        f"{minute_text(begins_at)} UTC; none overlaps and nothing is left out"
    )


def next_challenger_sentence(difference: Difference) -> str:
    """Return the sentence that the next round compares with another challenger, or with none."""
    if difference.after is None:
        return f"{difference_text(difference)}: the next round compares with nothing"
    return (
        f"{difference_text(difference)}: the next round counts with earlier ones of this "
        "challenger only; different ones are never mixed"
    )


WITHOUT_SOURCE = "an earlier release, which kept no settings of the source, opened the round"


def drawn_by_today_sentence(settings: Sequence[str], why: str) -> str:
    """Return the sentence that a round was drawn by other settings than it was opened with."""
    return (
        f"{', '.join(settings)} changed while the round was open, and it is drawn by the config of "
        f"today: {why}"
    )


def both_faults_sentence(own: str, today: str) -> str:
    """Return why a round can be drawn neither as it was opened nor by the config of today."""
    return f"{own}; by the config of today: {today}"


def _all(differences: Sequence[Difference]) -> str:
    return ", ".join(difference_text(one) for one in differences)


def _value(value: object) -> str:
    return "not set" if value is None else str(value)
