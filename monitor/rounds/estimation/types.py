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
    """A round of the history as its labels stand, and the version it will get."""

    round: Round
    tally: Tally
    version: int


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """One state of the store: a history, and its rounds in slot order from the due one on.

    These are ``affected``: they get a new version, because they pool the due one. The rounds before
    it are ``earlier``, as their labels stand, and ``past`` as they were stored. Mappings are by
    round id: ``evidence`` has the labels as evidence counts them, up to each block,
    without the items that are ``recurring`` (a round that closed before asked about them);
    ``unrestated`` has restated rounds as they were counted before. ``stored`` is what the last
    version of the due round counted.
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
        """All rounds of the history, by what was counted in them."""
        return [*self.earlier, *(member.tally for member in self.affected)]

    def before(self, index: int) -> list[Counted]:
        """Give what was counted in the rounds before the affected one at an index."""
        return self.counted[: len(self.earlier) + index]

    def before_restated(self, index: int) -> list[Counted]:
        """Give the same as it was before any restatement: evidence rests on that alone."""
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
    """An alert that fired, resolved or was revised, and why, where its kind does not say so.

    ``event`` is None for one that goes on under another limit, which nobody is told.
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
    """One round about one limit: log e against it per alternative, and log e of a recovery.

    ``log_path`` is log e after each block before the round's end.
    """

    limit: LimitSide
    log_e: tuple[float, ...]
    log_recovery: float
    log_path: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundEstimate:
    """All that is computed for one version of a round.

    ``pooled`` is what intervals with earlier rounds come from, ``proposed_unlabeled`` the missing
    answers of the rounds that limits are proposed by. ``arrived`` is the share of its positive
    labels that is known; None if hardly any is still to come.
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
