"""Limits proposed by closed rounds, and rounds that closed before the limits were set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from monitor.domain.alerting import keeps
from monitor.domain.report import Attention, EstimateRow, find_row
from monitor.domain.round import Round
from monitor.domain.settings import LimitSide, MonitorSettings
from monitor.presentation.status import retrospective_line
from monitor.rounds.context import MonitorContext
from monitor.storage.results import concern_store, estimate_store
from monitor.storage.rounds import round_store
from monitor.storage.samples import frame_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


_KIND = "limit "  # Prefix of the kinds of these concerns
_MOST = 50  # Rounds to look back at; a longer run adds nothing


def note_missed_limits(context: MonitorContext) -> None:
    """Note which new limits the newest closed round misses, and notify people once."""
    settings, now = context.settings, context.clock()
    with context.database.read() as connection:
        last = round_store.newest_closed(connection, settings.name, now)
        missed = missed_limits(connection, settings, last)
        concerns = {} if last is None else concern_store.read_concerns(connection, last.id)
    noted = {kind: concerns[kind] for kind in concerns if kind.startswith(_KIND)}
    if last is None or noted == missed:
        return
    # numpy takes 0.2 s
    from monitor.rounds.reporting.concerns import note  # noqa: PLC0415
    from monitor.rounds.reporting.enqueue import resend  # noqa: PLC0415

    with context.database.write() as connection:
        for kind in noted.keys() - missed.keys():
            concern_store.drop_concern(connection, last.id, kind)
        for kind, sentence in missed.items():
            if not note(connection, last, kind, sentence, now):
                concern_store.reword_concern(connection, last.id, kind, sentence)
        resend(connection, last, now)


def missed_limits(
    connection: Connection, settings: MonitorSettings, last: Round | None
) -> dict[str, str]:
    """Return a sentence for each new or changed limit that the newest closed rounds miss, by kind.

    Opens no alert and is outside the promise on false alarms: a person may have chosen the limit
    knowing these estimates.
    """
    if last is None or last.history_id is None:
        return {}
    then = set(last.settings.limits.sides())
    new = [limit for limit in settings.round.limits.sides() if limit not in then]
    if not new:
        return {}
    rounds = round_store.closed_rounds(connection, last.history_id)[-_MOST:]
    metrics = sorted({limit.metric for limit in new})
    rows = estimate_store.read_points(connection, [each.id for each in rounds], metrics)
    result = {f"{_KIND}{limit.metric} {limit.side}": _missed(limit, rounds, rows) for limit in new}
    return {kind: sentence for kind, sentence in result.items() if sentence is not None}


def is_missed_limit(attention: Attention) -> bool:
    """Whether a concern is about a new limit that closed rounds miss."""
    return attention.kind is not None and attention.kind.startswith(_KIND)


def _missed(
    limit: LimitSide, rounds: Sequence[Round], rows: Mapping[int, Sequence[EstimateRow]]
) -> str | None:
    run: list[tuple[Round, EstimateRow]] = []
    for each in reversed(rounds):
        row = find_row(rows.get(each.id, ()), limit.metric, "round")
        if row is None or row.point is None or keeps(limit.side, limit.value, row.point):
            break
        run.append((each, row))
    if not run:
        return None
    (newest, row), (oldest, _) = run[0], run[-1]
    nearest = row.high if limit.side == "at_least" else row.low
    if nearest is None or keeps(limit.side, limit.value, nearest):
        return None
    return retrospective_line(limit, row, oldest=oldest.number, newest=newest.number)


def proposed_limits(
    connection: Connection, settings: MonitorSettings, last: Round | None
) -> tuple[dict[str, float], int]:
    """Propose limits for a monitor that has none, from its latest rounds; ``last`` closed last.

    Also returns the number of missing answers. Empty until ``last`` has most of its labels.
    """
    if settings.round.limits.bounds or last is None or last.history_id is None:
        return {}, 0
    # scipy takes half a second
    from monitor.rounds.estimation.estimate import propose_limits, unlabeled_of  # noqa: PLC0415
    from monitor.rounds.estimation.history import before_launch, cells_to_pool  # noqa: PLC0415
    from monitor.rounds.estimation.label_errors import has_most_labels  # noqa: PLC0415
    from monitor.rounds.estimation.tally import Tally  # noqa: PLC0415

    if not has_most_labels(last):
        return {}, 0
    history = frame_store.read_history(connection, last.history_id)
    ids = [round_.id for round_ in round_store.closed_rounds(connection, history.id)]
    stored = estimate_store.read_counts(connection, ids)
    tallies = [Tally(stored[each]) for each in ids]
    reference = before_launch(tallies[-1].frame, history.reference)
    cells = cells_to_pool(tallies[-1].frame, last.settings.sample)
    limits = propose_limits(tallies, reference, cells, seed=last.sobol_seed)
    return limits, unlabeled_of(tallies)
