"""Rounds that have not ended, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from monitor.domain.label_parts import parts_of
from monitor.domain.report import ProvisionalRow
from monitor.domain.round import Round
from monitor.domain.settings import LimitSide
from monitor.domain.state import RoundState
from monitor.presentation.estimates import provisional_line
from monitor.presentation.limit_comparisons import provisional_beyond
from monitor.presentation.status import closing_line, open_round_line
from monitor.rounds.context import gives_up_at
from monitor.storage.overview import many_rounds
from monitor.storage.overview.many_rounds import RoundProgress
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that has not ended: what it waits for."""

    round: int
    slot: datetime
    state: RoundState
    wanted: int
    answered: int
    deadline: datetime | None
    reason: str | None
    waits_until: datetime | None = None  # When it gives up on predictions that cannot be used yet
    provisional: ProvisionalRow | None = None
    beyond: tuple[LimitSide, ...] = ()
    """Limits of the round that its provisional estimate is beyond."""
    missing_means: str = "unanswered"
    """``negative`` if each of its columns counts an item without a row as negative."""

    @property
    def line(self) -> str:
        """Line on how many answers the round has, or that it is not drawn yet."""
        return open_round_line(
            self.round,
            self.slot,
            answered=self.answered,
            expected=self.wanted,
            deadline=self.deadline,
            missing_means=self.missing_means,
        )

    @property
    def lines(self) -> list[str]:
        """`line`, and the provisional estimate if there is one."""
        early = [] if self.provisional is None else [provisional_line(self.provisional)]
        return [self.line, *(f"  {line}" for line in early)]

    def time_for_labels(self, now: datetime) -> timedelta | None:
        """Return the time to the deadline, negative after it; None if the round takes no labels."""
        if self.state is not RoundState.LABELING or self.deadline is None:
            return None
        return self.deadline - now

    @classmethod
    def of(
        cls, round_: Round, progress: RoundProgress, provisional: ProvisionalRow | None = None
    ) -> OpenRound:
        """Select the fields that status shows."""
        return cls(
            round=round_.number,
            slot=round_.slot,
            state=round_.state,
            deadline=round_.deadline,
            reason=round_.reason,
            waits_until=gives_up_at(round_),
            provisional=provisional,
            beyond=tuple(provisional_beyond(round_.settings.limits.sides(), provisional)),
            missing_means=_missing_means(round_),
            **asdict(progress),
        )


def _missing_means(round_: Round) -> str:
    parts = parts_of(round_.settings.labeling)
    are_negative = bool(parts) and all(part.get("missing_means") == "negative" for part in parts)
    return "negative" if are_negative else "unanswered"


def near_deadline(
    rounds: Sequence[OpenRound], deadline: timedelta, now: datetime
) -> Iterator[tuple[OpenRound, timedelta]]:
    """Find the rounds in the last fifth of their time for labels, and what remains of it."""
    for round_ in rounds:
        remaining = round_.time_for_labels(now)
        if remaining is not None and timedelta(0) < remaining <= deadline / 5:
            yield round_, remaining


def closing_lines(rounds: Sequence[OpenRound], deadline: timedelta, now: datetime) -> list[str]:
    """Describe the rounds that close soon with answers missing."""
    return [
        closing_line(
            round_.round,
            remaining,
            missing=round_.wanted - round_.answered,
            missing_means=round_.missing_means,
        )
        for round_, remaining in near_deadline(rounds, deadline, now)
        if 0 < round_.answered < round_.wanted
    ]


def open_rounds(connection: Connection, monitor: str) -> list[OpenRound]:
    """Read the rounds of a monitor that have not ended."""
    return all_open_rounds(connection, monitor).get(monitor, [])


def all_open_rounds(
    connection: Connection, monitor: str | None = None
) -> dict[str, list[OpenRound]]:
    """Read the rounds of a monitor, or of all, that have not ended, by the monitor's name."""
    rounds = round_store.find_rounds(connection, monitor, states=many_rounds.WAITING)
    progress = many_rounds.read_progress(connection, [round_.id for round_ in rounds])
    by_name: dict[str, list[OpenRound]] = {}
    for round_ in rounds:
        waiting = by_name.setdefault(round_.monitor, [])
        waiting.append(OpenRound.of(round_, progress[round_.id]))
    return by_name
