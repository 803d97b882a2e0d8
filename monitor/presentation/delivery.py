"""Sinks that take nothing, and why an effect was not delivered."""

from __future__ import annotations

from datetime import datetime

from monitor.domain.model import ANSWERS, LOG, MLFLOW, WaitingSink
from monitor.presentation.numbers import minute_text, plural

INTERRUPTED = "the process that delivered it ended, or hung, before it was done"
"""Why an effect is still to be done whose last delivery nobody came back from."""


def sink_name(sink: str) -> str:
    """Name a sink to people.

    >>> sink_name("mlflow"), sink_name("ops")
    ('MLflow', 'hook ops')
    """
    return {MLFLOW: "MLflow", LOG: "the log", ANSWERS: "the source"}.get(sink, f"hook {sink}")


def waiting_sentence(waiting: WaitingSink) -> str:
    """Describe what waits: ``3 rounds wait for MLflow since 02:00, next try 02:40: <why>``.

    Of what is dead, with how often it was tried.
    """
    verb = "waits" if waiting.rounds == 1 else "wait"
    sink = "MLflow" if waiting.sink == MLFLOW else waiting.sink
    why = "" if waiting.last_error is None else f": {waiting.last_error}"
    tried = f", failed {plural(waiting.tries, 'time')}" if waiting.dead and waiting.tries else ""
    next_try = minute_text(waiting.next_try) if waiting.dead else f"{waiting.next_try:%H:%M}"
    return (
        f"{plural(waiting.rounds, 'round')} {verb} for {sink} since "
        f"{minute_text(waiting.since)}{tried}, next try {next_try}{why}"
    )


def dead_sentence(monitor: str, sink: str, since: datetime, attempts: int, error: str) -> str:
    """Return the sentence that a sink has taken nothing for long."""
    return (
        f"{monitor}: {sink_name(sink)} has taken nothing since {minute_text(since)} UTC, tried "
        f"{attempts} times: {error}"
    )


def aside_sentence(monitor: str, number: int, sink: str, attempts: int, error: str) -> str:
    """Return the sentence that one delivery failed and others do not wait for it."""
    return (
        f"{monitor}, round {number}: one delivery to {sink_name(sink)} failed {attempts} times and "
        f"was set aside; later ones continue: {error}"
    )


def dead_to_do(sink: str) -> str:
    """Describe what helps a dead letter."""
    return (
        "pr-monitor effects lists what waits. Once it is fixed, deliveries resume by themselves, "
        f"or at once with: pr-monitor effects retry --sink {sink}"
    )


def dead_line(waiting: WaitingSink) -> str:
    """Describe in `status` what is held up for long, and what helps."""
    return f"{waiting_sentence(waiting)}. {dead_to_do(waiting.sink)}"


def recovered_sentence(sink: str) -> str:
    """Return the sentence that a sink takes everything again."""
    return f"{sink_name(sink)} receives everything again."


def no_hook_reason(sink: str) -> str:
    """Describe why an effect for a hook that was taken out of the config is dead."""
    return f"the config has no hook {sink} any more"


def orphaned_sentence(monitor: str, sink: str, notices: int) -> str:
    """Return the sentence that notices wait for a hook that the config does not have."""
    things = "1 notice waits" if notices == 1 else f"{notices} notices wait"
    return f"{monitor}: {things} for hook {sink}, but {no_hook_reason(sink)}."


def orphaned_to_do(sink: str) -> str:
    """Describe what helps notices for a hook that the config does not have."""
    return (
        f"Put the hook back into the config, or give them up: "
        f'pr-monitor effects drop --sink {sink} --reason "..."'
    )


def broken_handler_reason(sink: str, kind: str, error: Exception) -> str:
    """State that a handler has a bug; the error's text stays in the log: it may hold secrets."""
    return (
        f"{sink} did not take {kind}: its handler broke with {type(error).__name__}; the log says "
        "where. It is tried again"
    )


def crash_looping_reason(sink: str, kind: str, *, attempts: int) -> str:
    """State that no process came back from ``attempts`` deliveries of an effect in a row."""
    return (
        f"{kind} for {sink} is on hold: in {attempts} attempts or more, each by itself, "
        f"{INTERRUPTED}. The system's log may have the reason (memory?); it is retried less and "
        "less often"
    )
