"""The rounds that get a new version together, and what is computed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from monitor.domain.alerting import LimitReading
    from monitor.domain.report import RecoveryRow
    from monitor.rounds.estimation.checks import CheckedLabels
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.rounds.estimation.tally import Counted, Tally
    from monitor.stats.core.counts import Counts
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.results.alert_store import StoredAlert
    from monitor.storage.results.past_counts import PastRound
    from monitor.storage.results.restatement_store import RestatedVersion
    from monitor.storage.rounds.round_store import Round
    from monitor.storage.samples.frame_store import History

Side: TypeAlias = tuple[str, str]  # A watched metric and the side of its limit


@dataclass(frozen=True, slots=True)
class Earlier:
    """A round of the history before the due one, as its labels stand."""

    id: int
    counts: Counts
    missing: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Member:
    """A round of the history as its labels stand, and the version it will get."""

    round: Round
    tally: Tally
    version: int


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """One state of the store: a history, and its rounds in slot order from the due one on.

    These are ``affected``: they get a new version, because they pool the due one. The rounds before
    it are ``earlier``, of which only ``past`` knows how they were stored. ``labels`` has the
    statements about items, by round id, and ``evidence`` how evidence counts them, wave by wave
    up to each block (`monitor.domain.labels`), without the items that are ``recurring``: a round
    that closed before had asked about them. ``stored`` is what the last version of the due round
    counted. ``restated`` is what was restated of the monitor, and ``unrestated`` has the restated
    rounds of the history as they were counted before. ``checked`` has what people say of the labels
    of columns, by round id.
    """

    store_id: str
    history: History
    earlier: tuple[Earlier, ...]
    affected: tuple[Member, ...]
    evidence: Mapping[int, tuple[tuple[Tally, ...], ...]]
    labels: Mapping[int, RoundLabels] = field(default_factory=dict)
    recurring: Mapping[int, frozenset[str]] = field(default_factory=dict)
    past: tuple[PastRound, ...] = ()
    stored: Tally | None = None
    restated: tuple[RestatedVersion, ...] = ()
    unrestated: Mapping[int, Tally] = field(default_factory=dict)
    checked: Mapping[int, CheckedLabels] = field(default_factory=dict)

    @property
    def counted(self) -> list[Counted]:
        """All rounds of the history, by what was counted in them."""
        return [*self.earlier, *(member.tally for member in self.affected)]

    def before(self, index: int) -> list[Counted]:
        """Give what was counted in the rounds before the affected one at a place, from 0."""
        return self.counted[: len(self.earlier) + index]

    def before_restated(self, index: int) -> list[Counted]:
        """Give the same as it was before any restatement: evidence rests on that alone."""
        ids = [*(each.id for each in self.earlier), *(each.round.id for each in self.affected)]
        return [
            self.unrestated.get(round_id, counted)
            for round_id, counted in zip(ids, self.before(index), strict=False)
        ]

    def with_due(self, round_: Round) -> HistoryBatch:
        """Let the due round be as it is after a move."""
        due, *later = self.affected
        return replace(self, affected=(replace(due, round=round_), *later))

    def is_compared(self, member: Member) -> bool:
        """Whether there was anything to compare a round with: an earlier one, or a reference."""
        references = (self.history.reference, member.round.settings.reference)
        is_first = not self.earlier and member.round.id == self.affected[0].round.id
        return not is_first or any(reference is not None for reference in references)


@dataclass(frozen=True, slots=True)
class AlertMove:
    """An alert that fired, resolved or was revised, and why, where its kind does not say so.

    ``event`` is None for one that goes on under another limit, which nobody is told.
    """

    event: str | None
    alert: StoredAlert
    why: str | None = None


@dataclass(frozen=True, slots=True)
class BatchEvidence:
    """Readings of each affected round, the alert moves they caused, and all alerts after them.

    ``recoveries`` says of each open alert, by its id, how far it is from its end.
    """

    readings: Mapping[int, Mapping[Side, LimitReading]] = field(default_factory=dict)
    moves: tuple[AlertMove, ...] = ()
    alerts: tuple[StoredAlert, ...] = ()
    recoveries: Mapping[str, RecoveryRow] = field(default_factory=dict)


Estimates: TypeAlias = "Mapping[int, RoundEstimate]"
"""The estimate of each affected round, by round id."""
