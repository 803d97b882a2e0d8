"""The half-widths that a round's plan expects of its intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from monitor.domain.state import RoundState
from monitor.storage.database import insert_all, listed
from monitor.storage.rounds.round_store import round_name
from monitor.storage.tables import monitors, planned_margins, rounds


def write_margins(connection: Connection, round_id: int, margins: Mapping[str, float]) -> None:
    """Note the half-widths that a round's plan expects, by metric."""
    rows = (
        {"round_id": round_id, "metric": metric, "half_width": float(half)}
        for metric, half in margins.items()
    )
    insert_all(connection, planned_margins, rows)


def read_margins(connection: Connection, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read the planned half-widths of the open rounds of these monitors, by round and metric.

    Leaves out a round whose second wave is still to come, since its tasks are not all out.
    """
    query = (
        select(
            monitors.c.name,
            *rounds.c["slot", "first_version"],
            *planned_margins.c["metric", "half_width"],
        )
        .select_from(rounds)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .join(planned_margins, planned_margins.c.round_id == rounds.c.id)
        .where(
            monitors.c.name.in_(listed(connection, names)),
            rounds.c.state == RoundState.LABELING,
            rounds.c.second_wave_at.is_(None),
        )
        .order_by(planned_margins.c.metric)
    )
    result: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for name, slot, first_version, metric, half_width in connection.execute(query):
        result[round_name(name, slot, first_version)][metric] = half_width
    return dict(result)
