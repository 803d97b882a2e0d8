"""Restate closed rounds at a person's request: with changed labels, or by a newer method.

Each history is written in one transaction, so an interrupted request can be repeated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import structlog

from monitor.domain.census import Census
from monitor.domain.errors import InputRefused, TryLater
from monitor.domain.label_parts import with_columns_of
from monitor.domain.model import Collected, LabelEvent, Refusal, Task
from monitor.domain.report import EstimateRow
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.presentation.moves import restated_reason
from monitor.presentation.rounds import no_round_text
from monitor.rounds import versions
from monitor.rounds.claims import claimed
from monitor.rounds.classes import publish_classes
from monitor.rounds.closing import retried
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.batch_estimates import estimate_batch
from monitor.rounds.estimation.reading import read_batch
from monitor.rounds.estimation.tally import classes_without_label
from monitor.rounds.estimation.types import HistoryBatch, Member
from monitor.rounds.labels.new_labels import (
    NewAnswers,
    NewLabels,
    labels_in_column,
    labels_in_file,
    new_answers,
    readers_of_columns,
    recounted,
    with_answers,
    withdrawn_labels,
)
from monitor.rounds.parts.registry import version_parts
from monitor.rounds.reporting.concerns import note_missing
from monitor.storage.labels import census_store, label_store
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import estimate_store, restatement_store
from monitor.storage.results.restatement_store import read_restated
from monitor.storage.rounds import round_store, round_transitions
from monitor.storage.rounds.round_claims import Claim

if TYPE_CHECKING:
    from sqlalchemy import Connection

log = structlog.get_logger("monitor.rounds")

_SAME = 1e-9  # Numbers of two machines differ by less, those of two methods by more


@dataclass(frozen=True, slots=True)
class RestateRequest:
    """A person's request to restate rounds, and the reason.

    rounds, since: Numbers of rounds, and the number from which all rounds are included; with
        neither, the rounds whose labels change.
    read_file: Reads answers to tasks from a corrected label file.
    truth: Whether to read the truth column again.
    without: Annotator whose answers are withdrawn.
    """

    by: str
    why: str
    rounds: tuple[int, ...] = ()
    since: int | None = None
    read_file: Callable[[Mapping[str, Task]], Collected] | None = None
    truth: bool = False
    without: str | None = None

    @property
    def names_rounds(self) -> bool:
        """Whether the request names rounds."""
        return bool(self.rounds) or self.since is not None

    def has(self, round_: Round) -> bool:
        """Whether the request includes a round; it includes all if it names none."""
        is_later = self.since is not None and round_.number >= self.since
        return not self.names_rounds or is_later or round_.number in self.rounds


@dataclass(frozen=True, slots=True)
class RestatedRound:
    """A round's number and new version; ``own`` is false if it only pools a restated round."""

    round: int
    version: int
    own: bool
    labels_changed: int
    before: list[EstimateRow]
    after: list[EstimateRow]


@dataclass(frozen=True, slots=True)
class RestateOutcome:
    """The rounds that get a new version, and rows of label files that were refused."""

    restated: list[RestatedRound]
    refused: tuple[Refusal, ...]
    dry_run: bool = False


def restate(
    context: MonitorContext, restatement: RestateRequest, *, dry_run: bool = False
) -> RestateOutcome:
    """Restate closed rounds, each history at once.

    A round whose column is read again keeps the column settings of that reading for late labels. If
    neither a label nor an estimate changes, there is no new version. Raises `InputRefused` if a
    named round cannot be restated, or if the named annotator labeled none; `TryLater` if another
    worker has one of them, or if late labels are not counted yet.
    """
    rounds = _chosen(context, restatement)
    labels = _changed_labels(context, restatement, rounds)
    by_history: defaultdict[int | None, list[Round]] = defaultdict(list)
    for round_ in rounds:
        by_history[round_.history_id].append(round_)
    restated: list[RestatedRound] = []
    for of_history in by_history.values():
        restated += _restate_history(context, restatement, of_history, labels, dry_run=dry_run)
    if not dry_run:  # also of unchanged rounds: the request that restated them may have been killed
        publish_classes(context, sorted({each.slot for each in rounds}))
    if restated and not dry_run:
        numbers = [each.round for each in restated if each.own]
        log.info(
            "rounds restated", monitor=context.settings.name, rounds=numbers, by=restatement.by
        )
    return RestateOutcome(restated, labels.refused, dry_run)


def _chosen(context: MonitorContext, request: RestateRequest) -> list[Round]:
    """Find the rounds to restate, in slot order; named rounds must be closed."""
    name = context.settings.name
    with context.database.read() as connection:
        rounds = round_store.find_rounds(connection, name)
    numbers = [round_.number for round_ in rounds]
    for number in [*request.rounds, *([] if request.since is None else [request.since])]:
        if number not in numbers:
            raise InputRefused(no_round_text(name, number, numbers))
    for round_ in rounds:
        if round_.number in request.rounds and round_.state is not RoundState.CLOSED:
            message = (
                f"round {round_.number} of {name} is {round_.state}; only closed rounds can be "
                "restated"
            )
            raise InputRefused(message)
    return [
        round_ for round_ in rounds if request.has(round_) and round_.state is RoundState.CLOSED
    ]


def _changed_labels(
    context: MonitorContext, request: RestateRequest, rounds: Sequence[Round]
) -> NewLabels:
    """Read the changed labels of some rounds from the sources that the request names."""
    by_people = [round_ for round_ in rounds if context.asks_people(round_.settings)]
    by_column = [round_ for round_ in rounds if readers_of_columns(context, round_)]
    events: defaultdict[int, list[LabelEvent]] = defaultdict(list)
    refused: list[Refusal] = []
    censuses: dict[int, dict[int, Census]] = {}
    if request.read_file is not None:
        if rounds and not by_people:
            message = (
                f"the labels of these rounds of {context.settings.name} come from a column, not "
                "from people; correct the column and read it again with --truth"
            )
            raise InputRefused(message)
        read, rows = labels_in_file(context, request.read_file, by_people)
        events.update(read)
        refused += rows
    if request.truth:
        if rounds and not by_column:
            message = (
                f"people labeled these rounds of {context.settings.name}, so there is no column to "
                "read again; give corrected answers with --labels FILE"
            )
            raise InputRefused(message)
        in_column, lost = labels_in_column(context, by_column)
        for round_id, answers in in_column.items():
            events[round_id] += answers
        censuses, uncounted = recounted(context, by_column)
        refused += [*lost, *uncounted]
    if request.without is not None:
        for round_id, withdrawn in withdrawn_labels(context, rounds, request.without).items():
            events[round_id] += withdrawn
    return NewLabels(events, censuses, tuple(refused))


def _restate_history(
    context: MonitorContext,
    request: RestateRequest,
    rounds: Sequence[Round],
    labels: NewLabels,
    *,
    dry_run: bool,
) -> list[RestatedRound]:
    """Restate rounds of one history; a claim on the first one covers all."""
    restated: list[RestatedRound] = []

    def act(claim: Claim) -> None:
        changes = new_answers(context, rounds, labels)
        changed = changes.rounds
        chosen = [round_ for round_ in rounds if request.names_rounds or round_.id in changed]
        if chosen:
            batch = _read_batch(context, chosen, changes)
            ids = {round_.id for round_ in chosen}
            restated[:] = _publish(context, request, batch, ids, changes, claim, dry_run=dry_run)

    with claimed(context.database, rounds[0].id) as claim:
        if claim is None:
            message = (
                f"another worker is busy with round {rounds[0].number} of {rounds[0].monitor}; "
                "nothing of it was restated, run the same command again"
            )
            raise TryLater(message)
        retried(partial(act, claim))
    return restated


def _read_batch(
    context: MonitorContext, chosen: Sequence[Round], changes: NewAnswers
) -> HistoryBatch:
    """Read the batch of the first round with the changed answers; other labels stay as stored."""
    ids = {round_.id for round_ in chosen}

    def revised(
        rounds: list[Round], labels: dict[int, RoundLabels]
    ) -> tuple[list[Round], dict[int, RoundLabels]]:
        for round_ in rounds:
            if round_.id in ids and round_.is_changed:
                message = (
                    f"round {round_.number} of {round_.monitor} has late labels that no version "
                    "has counted; nothing was restated, run pr-monitor run-once and then this again"
                )
                raise TryLater(message)
        counted = [
            replace(each, estimated_revision=None if each.id in ids else each.label_revision)
            for each in rounds
        ]
        return counted, {
            round_id: with_answers(
                replace(
                    of_round, censuses={**of_round.censuses, **changes.censuses.get(round_id, {})}
                ),
                changes.rows.get(round_id, ()),
            )
            for round_id, of_round in labels.items()
        }

    batch = read_batch(context, chosen[0], revised=revised)
    for member in batch.affected:
        if member.round.id in ids and classes_without_label(member.tally.strata):
            message = (
                f"round {member.round.number} of {member.round.monitor} would be left with no "
                "label for one of the predicted classes; nothing was restated"
            )
            raise InputRefused(message)
    return batch


def _publish(
    context: MonitorContext,
    request: RestateRequest,
    batch: HistoryBatch,
    own: set[int],
    changes: NewAnswers,
    claim: Claim,
    *,
    dry_run: bool,
) -> list[RestatedRound]:
    """Give ``own`` rounds of a history, and the rounds that pool them, a new version.

    Evidence and alerts stay as they are, even if labels changed. Returns the rounds with their new
    versions; none if neither a label nor an estimate changes. ``dry_run`` writes nothing.
    """
    estimates = estimate_batch(context, batch)
    with context.database.read() as connection:
        stored = census_store.read_censuses(connection, list(changes.censuses))
        outcome = [
            RestatedRound(
                member.round.number,
                member.version,
                member.round.id in own,
                changes.count(member.round.id, stored.get(member.round.id, {})),
                estimate_store.read_estimates(connection, member.round.id, member.round.version),
                list(estimates[member.round.id].rows),
            )
            for member in batch.affected
        ]
    if not changes.rounds and all(_same(each.before, each.after) for each in outcome):
        return []
    if not dry_run:
        reason = restated_reason(batch.affected[0].version, request.by, request.why)
        step = _Restatement(
            claim, reason, restated=own, context=context, request=request, changes=changes
        )
        parts = version_parts(context.database, batch, estimates, own)
        versions.commit_version(context, batch, estimates, parts, step)
    return outcome


@dataclass(frozen=True, kw_only=True)
class _Restatement(versions.Step):
    """Evidence and alerts stay as they are, even if labels changed."""

    context: MonitorContext
    request: RestateRequest
    changes: NewAnswers

    def counted_revision(self, member: Member) -> int | None:
        """Return the revision after the new labels are stored; labels that came meanwhile wait."""
        round_ = member.round
        if round_.id not in self.restated:
            return None
        return round_.label_revision + self.changes.revisions(round_.id)

    def record(self, connection: Connection, batch: HistoryBatch, now: datetime) -> HistoryBatch:
        """Store the new labels, and who restated which versions."""
        label_store.insert_rows(
            connection, [row for rows in self.changes.rows.values() for row in rows]
        )
        for round_id, censuses in sorted(self.changes.censuses.items()):
            for part, census in censuses.items():
                census_store.write_census(connection, round_id, part, census, now)
                label_store.raise_label_revision(connection, round_id)
        monitor_id = batch.affected[0].round.monitor_id
        restatement_store.add_restatement(
            connection,
            monitor_id,
            at=now,
            by=self.request.by,
            reason=self.request.why,
            versions=[
                (each.round.id, each.version, each.round.version, each.round.id in self.restated)
                for each in batch.affected
            ],
        )
        for member in batch.affected:
            if member.round.id in self.restated:
                self._record_own(connection, member, now)
        return replace(batch, restated=read_restated(connection, monitor_id=monitor_id))

    def _record_own(self, connection: Connection, member: Member, now: datetime) -> None:
        """Note the restatement; if it read the truth, late labels use today's column settings."""
        round_ = member.round
        reason = restated_reason(member.version, self.request.by, self.request.why)
        round_transitions.note_event(connection, round_, reason, now)
        if self.request.truth:
            columns = self.context.settings.round.labeling
            labeling = with_columns_of(round_.settings.labeling, columns)
            settings = round_.settings.model_copy(update={"labeling": labeling})
            round_transitions.replace_settings(connection, round_.id, settings)
        note_missing(connection, round_, member.tally, now)


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
