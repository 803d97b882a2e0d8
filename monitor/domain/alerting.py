"""Alerts: fired by evidence, resolved, or revised if late labels change the evidence.

Only the evidence of a round's first version, frozen when the round closes, can fire an alert. While
an alert is open, later rounds gather evidence of recovery, that is, that the metric keeps its limit
again; enough of it ends the alert (docs/method.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from monitor.domain.model import Window

if TYPE_CHECKING:
    from monitor.stats.detection.e_detector import Evidence
    from monitor.stats.detection.recovery import Recovery

LEARNING_ROUNDS = 6
"""Rounds with an estimate before limits are proposed: a few weeks, and enough labels for a
meaningful low quantile."""


class AlertState(StrEnum):
    """The states of an alert; the last two are final."""

    FIRING = "firing"
    RESOLVED = "resolved"
    REVISED = "revised"


@dataclass(frozen=True, slots=True)
class AlertNote:
    """A note by a person on what they did about an alert."""

    at: datetime
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredAlert:
    """A stored alert with its monitor's name and the round that fired it."""

    id: str
    monitor: str
    metric: str
    side: str
    limit: float
    state: AlertState
    fired_round_id: int
    fired_in_round: int
    fired_slot: datetime
    fired_at: datetime
    window: Window
    ended_at: datetime | None
    ended_why: str | None
    notes: tuple[AlertNote, ...] = ()


class EvidenceState(StrEnum):
    """The evidence of a round on a limit, or why it is missing.

    ``silent``: no label bears on the limit, or the metric is undefined in the window.
    ``other_version``: another version of the program computed it against other alternatives, so
    it cannot be continued.
    """

    GATHERED = "gathered"
    ALERT_OPEN = "alert_open"
    LEARNING = "learning"
    SILENT = "silent"
    OTHER_VERSION = "other_version"


class ChainStep(NamedTuple):
    """Log e-values of one round of a chain; ``log_path`` has those after each earlier block."""

    log_e: tuple[float, ...]
    log_path: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LimitReading:
    """Evidence on one limit when one round closes.

    A new ``chain`` of evidence starts when an alert ends, or when the limit, the promise or the
    number of watched limits changes; ``order`` counts all closings for the limit. ``log_e`` has the
    log e-value of this round for each alternative, ``log_m`` the evidence of the chain so far (None
    while an alert is open), ``log_path`` the log e-values after each block before the round's end.
    ``recovery`` is the evidence of recovery, ``log_recovery`` this round's step of it, or None.
    """

    limit: float
    log_threshold: float
    chain: int
    order: int
    log_e: tuple[float, ...]
    log_m: tuple[float, ...] | None
    fires: bool
    recovery: Recovery | None = None
    log_recovery: float | None = None
    log_path: tuple[tuple[float, ...], ...] = ()

    @property
    def log_evidence(self) -> float | None:
        """Log M, to compare with ``log_threshold``; None while an alert is open."""
        if self.log_m is None:
            return None
        mean = _chain(self.log_m).log_mean
        return mean if math.isfinite(mean) else None

    @property
    def ends_alert(self) -> bool:
        """Whether this closing ends the open alert; False if it took no step of recovery."""
        took_step = self.log_recovery is not None
        return took_step and self.recovery is not None and self.recovery.ends


def evidence_state(reading: LimitReading, *, is_compared: bool) -> EvidenceState:
    """Return the state of a reading; ``is_compared``: there were earlier rounds to compare with."""
    if reading.log_m is None:
        by_this = is_comparable([reading.log_e])
        return EvidenceState.ALERT_OPEN if by_this else EvidenceState.OTHER_VERSION
    if any(reading.log_e):
        return EvidenceState.GATHERED
    return EvidenceState.SILENT if is_compared else EvidenceState.LEARNING


def only_learns(states: Sequence[str | None]) -> bool:
    """Whether a round watched no limit: it has no limits, or no earlier rounds to compare with."""
    return all(state == EvidenceState.LEARNING for state in states)


def next_reading(
    last: LimitReading | None,
    *,
    alert_open: bool,
    limit: float,
    log_threshold: float,
    log_e: tuple[float, ...],
    log_recovery: float | None,
    log_path: tuple[tuple[float, ...], ...] = (),
) -> LimitReading:
    """Return the reading that follows ``last``; it fires if any block reaches the threshold.

    ``log_recovery`` is the round's evidence of recovery; None for a round from before the alert,
    which takes no step.
    """
    order, chain = (1, 1) if last is None else (last.order + 1, last.chain)
    if alert_open:
        recovery = recovery_after(last)
        if log_recovery is not None:
            recovery = recovery.updated(log_recovery)
        return LimitReading(
            limit, log_threshold, chain, order, log_e, None, False, recovery, log_recovery, log_path
        )
    gathered = _gathered(last, (limit, log_threshold), len(log_e))
    if last is not None and gathered is None:
        chain += 1
    evidence = _chain(gathered)
    # A round without evidence (e = 1) takes no step: M would grow by 1 and in the end fire.
    after = evidence.after(log_e) if any(log_e) else evidence
    return LimitReading(
        limit=limit,
        log_threshold=log_threshold,
        chain=chain,
        order=order,
        log_e=log_e,
        log_m=after.log_m,
        fires=reaches(evidence, log_path, log_e, log_threshold),
        log_path=log_path,
    )


def reaches(
    before: Evidence,
    log_path: Sequence[Sequence[float]],
    log_e: Sequence[float],
    log_threshold: float,
) -> bool:
    """Whether one more round reaches the threshold, after any of its blocks or at its end."""
    return any(log_e) and before.highest([*log_path, log_e]) >= log_threshold


def recovery_after(last: LimitReading | None) -> Recovery:
    """Return the evidence of recovery from an open alert after the last closing; empty at first."""
    from monitor.stats.detection.recovery import Recovery  # noqa: PLC0415  scipy takes half a second

    return Recovery() if last is None or last.recovery is None else last.recovery


def _gathered(
    last: LimitReading | None, limit: tuple[float, float], alternatives: int
) -> tuple[float, ...] | None:
    """Return the evidence that a round continues; None if it starts a new chain."""
    if last is None or last.log_m is None or last.fires:
        return None
    same_limit = (last.limit, last.log_threshold) == limit
    same_alternatives = len(last.log_m) == alternatives  # else from another version
    return last.log_m if same_limit and same_alternatives else None


def keeps(side: str, limit: float, value: float) -> bool:
    """Whether a value keeps a limit; a value equal to the limit does."""
    return value >= limit if side == "at_least" else value <= limit


def evidence_of(log_e: Sequence[Sequence[float]]) -> Evidence:
    """Recompute the evidence of a chain from its rounds' log e-values, in the order of closing."""
    from monitor.stats.detection.e_detector import Evidence  # noqa: PLC0415  scipy takes half a second

    return Evidence.replay(row for row in log_e if any(row))


def evidence_after_each(log_e: Sequence[Sequence[float]]) -> list[Evidence]:
    """Return the evidence of a chain after each of its rounds, as `evidence_of` computes it."""
    steps = [_chain()]
    for row in log_e:
        steps.append(steps[-1].after(row) if any(row) else steps[-1])
    return steps[1:]


def is_comparable(log_e: Sequence[Sequence[float]]) -> bool:
    """Whether these rounds were computed against the alternatives of this program version."""
    return all(len(row) == len(_chain().log_m) for row in log_e)


def _chain(log_m: tuple[float, ...] | None = None) -> Evidence:
    """Return the evidence of a chain with these log M, or of a new chain."""
    from monitor.stats.detection.e_detector import Evidence  # noqa: PLC0415

    return Evidence(log_m) if log_m else Evidence()
