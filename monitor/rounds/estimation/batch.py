"""The rounds that get a new version together, what is computed for them, and writing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from monitor.domain.alerting import LimitReading, StoredAlert
from monitor.domain.report import RecoveryRow, ReportedEstimate
from monitor.rounds.estimation.estimate import RoundEstimate
from monitor.rounds.estimation.label_errors import CheckedLabels
from monitor.rounds.estimation.supplements import Supplements, write_supplements
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import estimate_store, evidence_store
from monitor.storage.results.past_counts import PastRound, write_packed
from monitor.storage.results.restatement_store import RestatedVersion
from monitor.storage.rounds.round_store import Round
from monitor.storage.samples.frame_store import History

if TYPE_CHECKING:
    from sqlalchemy import Connection


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


Estimates: TypeAlias = "Mapping[int, RoundEstimate]"
"""The estimate of each affected round, by round id."""


def write_versions(
    connection: Connection,
    batch: HistoryBatch,
    estimates: Estimates,
    supplements: Mapping[int, Supplements],
) -> None:
    """Store what versions count and estimate.

    Raises `RoundMoved` if somebody published into the history meanwhile.
    """
    # First of all writes: whoever computed from an older state of the history stops here.
    estimate_store.claim_history(connection, batch.history.id, batch.history.revision)
    members = {(member.round.id, member.version): member for member in batch.affected}
    tallies = {key: member.tally.strata for key, member in members.items()}
    estimate_store.write_counts(connection, tallies)
    write_packed(connection, batch.past, tallies)
    estimate_store.write_estimates(connection, {key: estimates[key[0]].rows for key in members})
    for round_id, version in members:
        write_supplements(connection, round_id, version, supplements[round_id])


def set_versions(connection: Connection, members: Sequence[Member]) -> None:
    """Make these versions the latest of their rounds, with all labels that there are."""
    for member in members:
        estimate_store.set_version(
            connection,
            member.round.id,
            member.version,
            estimated_revision=member.round.label_revision,
            partial=member.tally.answers.too_few,
        )


def write_readings(
    connection: Connection,
    members: Sequence[Member],
    readings: Mapping[int, Mapping[Side, LimitReading]],
) -> None:
    """Store the evidence of versions, by the round's id."""
    rows = [
        (member.round.id, member.version, side, reading)
        for member in members
        for side, reading in readings[member.round.id].items()
    ]
    evidence_store.write_readings(connection, rows)


def read_unrestated(
    connection: Connection, restated: Sequence[RestatedVersion]
) -> dict[int, Tally]:
    """Read how restated rounds were counted before the first time that they were."""
    first: dict[int, int] = {}
    for version in restated:
        if version.own:
            first.setdefault(version.round_id, version.before)
    result: dict[int, Tally] = {}
    for replaced in sorted(set(first.values())):
        ids = [round_id for round_id, first_version in first.items() if first_version == replaced]
        counted = estimate_store.read_counts(connection, ids, version=replaced)
        result |= {round_id: Tally(strata) for round_id, strata in counted.items()}
    return result


def with_stored_own_rows(
    connection: Connection, batch: HistoryBatch, estimates: Estimates
) -> Estimates:
    """Keep the estimates that rest on a round's own labels where no label of it changed.

    Computed again by a newer release, they might differ by the method alone.
    """
    return {
        member.round.id: replace(
            estimates[member.round.id],
            rows=_stored(connection, member.round, estimates[member.round.id].rows),
        )
        for member in batch.affected
    }


def _stored(
    connection: Connection, round_: Round, rows: list[ReportedEstimate]
) -> list[ReportedEstimate]:
    if round_.is_changed or round_.settings.delays is not None:
        return rows
    stored = {
        (row.metric, row.estimand, row.basis): row.model_dump()
        for row in estimate_store.read_estimates(connection, round_.id, round_.version)
        if row.basis != "pooled"
    }
    return [
        row.model_copy(update=stored.get((row.metric, row.estimand, row.basis), {})) for row in rows
    ]
