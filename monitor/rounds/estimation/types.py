"""The rounds that get a new version together, and what is computed for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from monitor.domain.alerting import LimitReading, StoredAlert
from monitor.domain.report import NoticeRow, RecoveryRow, ReportedEstimate
from monitor.domain.round import Round
from monitor.domain.settings import LimitSide
from monitor.rounds.estimation.label_errors import CheckedLabels
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.stats.core.draws import JointPosterior
from monitor.stats.labels.audit import ClassAudits
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results.past_counts import PastRound
from monitor.storage.results.restatement_store import RestatedVersion
from monitor.storage.samples.frame_store import History

Side: TypeAlias = tuple[str, str]  # A watched metric and the side of its limit


@dataclass(frozen=True, slots=True)
class Member:
    """A round of the history with its current labels, and the version it will get."""

    round: Round
    tally: Tally
    version: int


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """A snapshot of a history, to give its due round and all later ones a new version.

    ``affected`` are these rounds in slot order: the later ones pool the due one. ``earlier`` are
    the rounds before it with their current labels, and ``past`` the same as stored. Mappings are by
    round id: ``evidence`` has the labels as evidence counts them, up to each block, without
    ``recurring`` items (an earlier closed round asked about them); ``unrestated`` has the counts of
    restated rounds before their restatement. ``stored`` has the counts of the due round's last
    version.
    """

    store_id: str
    history: History
    earlier: tuple[PastRound, ...]
    affected: tuple[Member, ...]
    evidence: Mapping[int, tuple[Tally, ...]]
    labels: Mapping[int, RoundLabels] = field(default_factory=dict)
    recurring: Mapping[int, frozenset[str]] = field(default_factory=dict)
    past: tuple[PastRound, ...] = ()
    stored: Tally | None = None
    restated: tuple[RestatedVersion, ...] = ()
    unrestated: Mapping[int, Tally] = field(default_factory=dict)
    checked: Mapping[int, CheckedLabels] = field(default_factory=dict)

    @property
    def counted(self) -> list[Counted]:
        """Counts of all rounds of the history."""
        return [*self.earlier, *(member.tally for member in self.affected)]

    def before(self, index: int) -> list[Counted]:
        """Return the counts of the rounds before the affected one at an index."""
        return self.counted[: len(self.earlier) + index]

    def before_restated(self, index: int) -> list[Counted]:
        """Return the same counts before any restatement: evidence uses only these."""
        ids = [*(each.id for each in self.earlier), *(each.round.id for each in self.affected)]
        return [
            self.unrestated.get(round_id, counted)
            for round_id, counted in zip(ids, self.before(index), strict=False)
        ]

    def with_due(self, round_: Round) -> HistoryBatch:
        """Replace the due round."""
        due, *later = self.affected
        return replace(self, affected=(replace(due, round=round_), *later))

    def is_compared(self, member: Member) -> bool:
        """Whether there was anything to compare a round with: an earlier one, or a reference."""
        references = (self.history.reference, member.round.settings.reference)
        is_first = not self.earlier and member.round.id == self.affected[0].round.id
        return not is_first or any(reference is not None for reference in references)


@dataclass(frozen=True, slots=True)
class AlertMove:
    """An alert that fired, resolved or was revised, and why, unless its kind explains it.

    ``event`` is None for an alert that goes on under another limit: nobody is notified.
    """

    event: str | None
    alert: StoredAlert
    why: str | None = None


@dataclass(frozen=True, slots=True)
class BatchEvidence:
    """Readings of each affected round, the alert moves they caused, and all alerts after them."""

    readings: Mapping[int, Mapping[Side, LimitReading]] = field(default_factory=dict)
    moves: Sequence[AlertMove] = ()
    alerts: Sequence[StoredAlert] = ()
    recoveries: Mapping[str, RecoveryRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LimitEvidence:
    """Evidence of a round on a limit: log e against it per alternative, and log e of a recovery.

    ``log_path`` is log e after each block before the round's end.
    """

    limit: LimitSide
    log_e: tuple[float, ...]
    log_recovery: float
    log_path: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundEstimate:
    """All results for one version of a round.

    ``pooled`` is the posterior for intervals with earlier rounds, ``proposed_unlabeled`` the number
    of missing answers behind the proposed limits. ``arrived`` is the share of the positive labels
    that is known; None if hardly any is still to come.
    """

    rows: list[ReportedEstimate]
    pooled: JointPosterior
    readings: list[LimitEvidence]
    proposed_limits: dict[str, float] = field(default_factory=dict)
    proposed_unlabeled: int = 0
    notices: list[NoticeRow] = field(default_factory=list)
    arrived: ClassAudits | None = None


Estimates: TypeAlias = Mapping[int, RoundEstimate]
"""The estimate of each affected round, by round id."""
