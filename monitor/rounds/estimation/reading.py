"""Read one snapshot of the store: a round with its history, as labeled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.label_parts import checks_of
from monitor.domain.labels import corrected_evidence_label, evidence_label
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.rounds.context import MonitorContext
from monitor.rounds.estimation.groups import in_groups, label_groups, past_labels_of_groups
from monitor.rounds.estimation.label_errors import CHECKS, checked_labels
from monitor.rounds.estimation.tally import Tally
from monitor.rounds.estimation.types import HistoryBatch, Member
from monitor.stats.detection.blocks import BLOCKS
from monitor.storage.labels.round_labels import RoundLabels, read_all_labels, read_recurring
from monitor.storage.results import estimate_store, part_store
from monitor.storage.results.part_store import PastCounts
from monitor.storage.results.past_counts import PastRound, read_past
from monitor.storage.results.restatement_store import RestatedVersion, read_restated
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    Labels = dict[int, RoundLabels]
    """Labels of rounds, by their id."""


def read_batch(
    context: MonitorContext,
    this_round: Round,
    *,
    round_labels: RoundLabels | None = None,
    revised: Callable[[list[Round], Labels], tuple[list[Round], Labels]] | None = None,
) -> HistoryBatch:
    """Read a round and all later ones of its history, with their labels or as ``revised``."""
    if this_round.history_id is None:
        message = f"round {this_round.id} was not drawn, so it has no history to publish into"
        raise AssertionError(message)
    with context.database.read() as connection:
        history, store_id = frame_store.read_history_here(connection, this_round.history_id)
        past = read_past(connection, history.id, before=this_round.slot)
        # Read again here: another worker may have given the due round a later version.
        rounds = round_store.rounds_from(connection, history.id, this_round)
        stored = estimate_store.read_counts(connection, [round_.id for round_ in rounds])
        changed_ids = [each.id for each in past if each.is_changed]
        changed = round_store.read_rounds(connection, changed_ids) if changed_ids else []
        labels = _read_labels(connection, [*changed, *rounds], rounds[0], round_labels)
        of_groups = past_labels_of_groups(connection, past, labels)
        restated = read_restated(connection, monitor_id=this_round.monitor_id)
        unrestated = _read_unrestated(connection, restated)
        recurring = read_recurring(connection, rounds)
        past_checks: dict[int, PastCounts] = {}
        if any(checks_of(round_.settings.labeling) for round_ in rounds):
            past_checks = part_store.read_past(connection, [each.id for each in past], CHECKS)[
                CHECKS
            ]
    if revised is not None:
        rounds, labels = revised(rounds, labels)
    return HistoryBatch(
        store_id=store_id,
        history=history,
        earlier=tuple(_earlier(each, {**of_groups, **labels}) for each in past),
        affected=tuple(
            Member(
                round_,
                _labeled_tally(labels[round_.id])
                if round_.is_changed
                else Tally(stored[round_.id], label_groups(labels[round_.id])),
                max(round_.version, round_.settings.shown_version) + 1,
            )
            for round_ in rounds
        ),
        evidence={
            round_.id: evidence_tallies(round_, labels[round_.id].without(recurring[round_.id]))
            for round_ in rounds
        },
        labels=labels,
        recurring=recurring,
        past=tuple(past),
        stored=Tally(stored[this_round.id]) if this_round.id in stored else None,
        restated=restated,
        unrestated=unrestated,
        checked=checked_labels(
            rounds, labels, [past_checks[each.id] for each in past if each.id in past_checks]
        ),
    )


def _earlier(past: PastRound, labels: Mapping[int, RoundLabels]) -> PastRound:
    """Return an earlier round as stored, or counted from its labels if they changed since."""
    if not past.is_changed:
        return in_groups(past, labels.get(past.id))
    now = _labeled_tally(labels[past.id])
    return replace(past, counts=now.counts, missing=now.missing)


def _read_labels(
    connection: Connection, rounds: list[Round], due: Round, round_labels: RoundLabels | None
) -> dict[int, RoundLabels]:
    """Read the labels of some rounds; uses ``round_labels`` for the due one if unchanged."""
    if round_labels is None or round_labels.label_revision != due.label_revision:
        return read_all_labels(connection, rounds)
    others = [round_ for round_ in rounds if round_.id != due.id]
    return {due.id: round_labels} | read_all_labels(connection, others)


def evidence_tallies(round_: Round, labels: RoundLabels) -> tuple[Tally, ...]:
    """Count the labels of a round as evidence does, up to each block."""
    closed = round_.state is RoundState.CLOSED
    label_of = corrected_evidence_label if closed else evidence_label
    *blocks, whole = labels.by_block(label_of, blocks=BLOCKS)
    last = Tally(tuple(whole), label_groups(labels, label_of))
    return (*(Tally(tuple(block)) for block in blocks), last)


def _labeled_tally(labels: RoundLabels) -> Tally:
    return Tally(tuple(labels.counts()), label_groups(labels))


def _read_unrestated(
    connection: Connection, restated: Sequence[RestatedVersion]
) -> dict[int, Tally]:
    """Read the counts of restated rounds before their first restatement."""
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
