"""What reports and pages show of restatements: of each, what stood there before it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from monitor.domain.report import RestatedRow
from monitor.rounds.reporting.report import SHOWN
from monitor.storage.results import estimate_store
from monitor.storage.results.restatement_store import RestatedVersion, read_restated

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection


def restated_rows(
    connection: Connection, restated: Sequence[RestatedVersion], round_ids: Collection[int]
) -> dict[int, list[RestatedRow]]:
    """Read the restatements of some rounds, the oldest first, by round."""
    named: defaultdict[int, list[int]] = defaultdict(list)
    for version in restated:
        if version.own:
            named[version.restatement].append(version.number)
    rows: defaultdict[int, list[RestatedRow]] = defaultdict(list)
    for version in restated:
        if version.round_id in round_ids:
            rows[version.round_id].append(_row(connection, version, named[version.restatement]))
    return dict(rows)


def read_restated_rows(
    connection: Connection, round_ids: Collection[int]
) -> dict[int, list[RestatedRow]]:
    """Read the restatements of some rounds, regardless of their monitors, by round."""
    restated = read_restated(connection, round_ids=sorted(round_ids))
    return restated_rows(connection, restated, round_ids)


def _row(connection: Connection, version: RestatedVersion, rounds: list[int]) -> RestatedRow:
    before = estimate_store.read_estimates(connection, version.round_id, version.before)
    return RestatedRow(
        version=version.version,
        replaces=version.before,
        at=version.at,
        by=version.by,
        reason=version.reason,
        rounds=rounds,
        own=version.own,
        before=[row for row in before if (row.metric, row.basis, row.estimand) in SHOWN],
    )
