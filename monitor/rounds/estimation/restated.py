"""What a person asked to be restated, and the versions that come of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import InputRefused, TryLater
from monitor.domain.labels import Statement
from monitor.domain.model import Answer, LabelKind
from monitor.presentation.moves import restated_reason
from monitor.presentation.restatements import uncounted_text, unlabeled_text
from monitor.rounds.estimation.tally import Tally, classes_without_label
from monitor.storage.labels import label_store
from monitor.storage.results import estimate_store, restatement_store
from monitor.storage.rounds import round_transitions

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.domain.report import EstimateRow
    from monitor.rounds.estimation.batch import Estimates, HistoryBatch
    from monitor.storage.labels.round_labels import RoundLabels
    from monitor.storage.results.restatement_store import RestatedVersion
    from monitor.storage.rounds.round_store import Round

_SAME = 1e-9  # Numbers of two machines differ by less, those of two methods by more


@dataclass(frozen=True, slots=True)
class RestatedRound:
    """A round and its new version; ``own`` unless it only pools one that was restated.

    ``labels`` counts the answers that changed.
    """

    round: Round
    version: int
    own: bool
    labels: int
    before: list[EstimateRow]
    after: list[EstimateRow]


@dataclass(frozen=True, slots=True)
class Restatement:
    """Rounds of one history to restate, in slot order, and why.

    ``new_rows`` are rows of label events to be stored with the new versions, by round.
    """

    rounds: tuple[Round, ...]
    by: str
    why: str
    new_rows: Mapping[int, Sequence[dict[str, Any]]] = field(default_factory=dict)

    def requested_for(self, round_: Round) -> Round:
        """Let a round that is restated be counted anew, and every other one stay as stored."""
        if not self._has(round_):
            return replace(round_, estimated_revision=round_.label_revision)
        if round_.is_changed:
            raise TryLater(uncounted_text(round_.monitor, round_.number))
        return replace(round_, estimated_revision=None)

    def with_changes(self, labels: Mapping[int, RoundLabels]) -> dict[int, RoundLabels]:
        """Add the new statements to those that are stored."""
        return {
            round_id: _with_statements(of_round, self.new_rows.get(round_id, ()))
            for round_id, of_round in labels.items()
        }

    def refuse_unlabeled(self, batch: HistoryBatch) -> None:
        """Refuse to take away all labels of a predicted class."""
        for member in batch.affected:
            if self._has(member.round) and classes_without_label(member.tally.strata):
                raise InputRefused(unlabeled_text(member.round.monitor, member.round.number))

    def write(self, connection: Connection, batch: HistoryBatch, now: datetime) -> None:
        """Store the new labels, and who restated what."""
        label_store.insert_rows(
            connection, [row for rows in self.new_rows.values() for row in rows]
        )
        versions = [
            (member.round.id, member.version, member.round.version, self._has(member.round))
            for member in batch.affected
        ]
        restatement_store.add_restatement(
            connection,
            batch.affected[0].round.monitor_id,
            at=now,
            by=self.by,
            reason=self.why,
            versions=versions,
        )
        for member in batch.affected:
            if self._has(member.round):
                reason = restated_reason(member.version, self.by, self.why)
                round_transitions.note_event(connection, member.round, reason, now)

    def set_versions(self, connection: Connection, batch: HistoryBatch) -> None:
        """Make the new versions the latest ones."""
        revisions = [
            # Storing labels raises it by one; whatever else came in meanwhile is still to count.
            (
                member.round.id,
                member.round.label_revision + bool(self.new_rows.get(member.round.id)),
            )
            for member in batch.affected
            if self._has(member.round)
        ]
        versions = [
            (member.round.id, member.version, member.tally.is_partial) for member in batch.affected
        ]
        restatement_store.set_versions(connection, versions, revisions)

    def outcome(
        self, batch: HistoryBatch, stored: Mapping[int, list[EstimateRow]], estimates: Estimates
    ) -> list[RestatedRound]:
        """Return what becomes of each round."""
        return [
            RestatedRound(
                member.round,
                member.version,
                self._has(member.round),
                len(self.new_rows.get(member.round.id, ())),
                stored[member.round.id],
                list(estimates[member.round.id].rows),
            )
            for member in batch.affected
        ]

    def _has(self, round_: Round) -> bool:
        return any(round_.id == restated.id for restated in self.rounds)


def read_stored(connection: Connection, batch: HistoryBatch) -> dict[int, list[EstimateRow]]:
    """Read the newest estimates of the rounds of a batch."""
    return {
        member.round.id: estimate_store.read_estimates(
            connection, member.round.id, member.round.version
        )
        for member in batch.affected
    }


def is_as_estimated(stored: Mapping[int, list[EstimateRow]], estimates: Estimates) -> bool:
    """Whether all estimates come out as they were."""
    return all(_same(rows, estimates[round_id].rows) for round_id, rows in stored.items())


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


def _with_statements(labels: RoundLabels, rows: Sequence[dict[str, Any]]) -> RoundLabels:
    items = {item.id for item in labels.items}
    answers = {item: list(statements) for item, statements in labels.said.items()}
    checks = {one.id: one for one in labels.checks}
    for row in rows:
        item, answer = row["item_id"], None if row["answer"] is None else Answer(row["answer"])
        statement = Statement(row["at"], row["annotator"], LabelKind(row["kind"]), answer)
        if item in checks:  # people say of it how good the column is
            checks[item] = checks[item].plus(statement)
        elif item in items:
            answers.setdefault(item, []).append(statement)
    explored = None if labels.explored is None else _with_statements(labels.explored, rows)
    return replace(labels, said=answers, checks=tuple(checks.values()), explored=explored)


def _same(before: Sequence[EstimateRow], after: Sequence[EstimateRow]) -> bool:
    old, new = (
        {(row.metric, row.estimand, row.basis): (row.point, row.low, row.high) for row in rows}
        for rows in (before, after)
    )
    return old.keys() == new.keys() and all(
        _close(one, other) for key in old for one, other in zip(old[key], new[key], strict=True)
    )


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=0, abs_tol=_SAME)
