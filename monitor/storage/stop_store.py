"""The margins that a round's plan expects, and rounds that ended once theirs held."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  of a NamedTuple
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, exists, insert, select, update

from monitor.domain.state import RoundState
from monitor.storage.database import listed
from monitor.storage.page_tables import page_tasks
from monitor.storage.round_store import round_name
from monitor.storage.stop_tables import planned_margins, stopped_rounds
from monitor.storage.tables import monitors, payloads, rounds, strata, tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.storage.round_store import Round


def write_margins(connection: Connection, round_id: int, margins: Mapping[str, float]) -> None:
    """Note the half-widths that a round's plan expects, by metric."""
    rows = [
        {"round_id": round_id, "metric": metric, "half_width": float(half)}
        for metric, half in margins.items()
    ]
    if rows:
        connection.execute(insert(planned_margins), rows)


class Expected(NamedTuple):
    """What the plan of a round expects of its end, before any answer, and whether it may stop.

    ``margins`` are half-widths by metric.
    """

    margins: Mapping[str, float]
    may_stop: bool


def read_expected(connection: Connection, names: Sequence[str]) -> dict[str, Expected]:
    """Read what rounds of some monitors expect that are being labeled, by the round's name.

    Not of one that has a second wave to come: what is out is not all of its plan. One that had
    a second wave does not stop.
    """
    has_waves = exists().where(strata.c.round_id == rounds.c.id, strata.c.first_wave.is_not(None))
    query = (
        select(
            monitors.c.name,
            rounds.c.slot,
            rounds.c.first_version,
            rounds.c.settings["sample"]["stop"].as_string().label("stop"),
            has_waves.label("has_waves"),
            planned_margins.c.metric,
            planned_margins.c.half_width,
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
    found: dict[str, Expected] = {}
    for name, slot, first_version, stops, two_waves, metric, half in connection.execute(query):
        mine = round_name(name, slot, first_version)
        before = {} if mine not in found else found[mine].margins
        found[mine] = Expected({**before, metric: half}, stops is not None and not two_waves)
    return found


def stop(
    connection: Connection,
    round_: Round,
    *,
    kept: Mapping[str, int],
    planned: int,
    withdrawn: Sequence[tuple[str, str]],
    now: datetime,
) -> None:
    """Let the first items of each stratum be all of a round, and withdraw what else is asked.

    The items that go stay as rows, since there may be answers to them; nothing counts them.

    Parameters
    ----------
    kept
        How many items each stratum keeps, the first in the order of the draw.
    planned
        How many items the round had.
    withdrawn
        Task key and item of what is asked no more.
    """
    row = {"round_id": round_.id, "planned": planned, "kept": sum(kept.values())}
    connection.execute(insert(stopped_rounds).values(**row, stopped_at=now))
    connection.execute(
        update(strata)
        .where(strata.c.round_id == round_.id, strata.c.stratum == bindparam("of"))
        .values(planned=bindparam("items")),
        [{"of": name, "items": items} for name, items in kept.items()],
    )
    keys = listed(connection, [key for key, _ in withdrawn])
    items = listed(connection, [item for _, item in withdrawn])
    for delete_ in (
        delete(page_tasks).where(
            page_tasks.c.round_name == round_.name, page_tasks.c.key.in_(keys)
        ),
        delete(tasks).where(tasks.c.round_id == round_.id, tasks.c.key.in_(keys)),
        delete(payloads).where(payloads.c.round_id == round_.id, payloads.c.item_id.in_(items)),
    ):
        connection.execute(delete_)


def forget_plan(connection: Connection, round_id: int) -> None:
    """Delete what was noted of a round that is done again."""
    for table in (planned_margins, stopped_rounds):
        connection.execute(delete(table).where(table.c.round_id == round_id))
