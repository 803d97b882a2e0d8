"""Histories, and the frame of a round: strata, drawn items, tasks and row issues."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, Row, or_, select

from monitor.domain.block import seed_of
from monitor.domain.errors import RoundMoved
from monitor.domain.model import CHECK_SLOT, BandEdges, Item, Stratum, Verdict
from monitor.domain.registered import spellings
from monitor.domain.round import round_name
from monitor.domain.shown import Shown
from monitor.domain.state import RoundState
from monitor.storage.database import chunks, insert_all, insert_all_new, listed, remove
from monitor.storage.queries import picked
from monitor.storage.tables import (
    histories,
    items,
    monitors,
    payloads,
    planned_margins,
    round_issues,
    rounds,
    store,
    strata,
    tasks,
)

_ITEM = ("id", "stratum", "order", "score", "predicted", "segments", "challenged")
GROUP = ""
"""Key of an item's group among its segments: no column has an empty name."""
TALLIED = ("size", "planned", "rows")
"""Columns of ``strata`` that are also fields of a tally."""
_STORE_ID = select(store.c.id).scalar_subquery().label("store_id")


def write_margins(connection: Connection, round_id: int, margins: Mapping[str, float]) -> None:
    """Store the half-widths expected by a round's plan, by metric."""
    rows = (
        {"round_id": round_id, "metric": metric, "half_width": float(half)}
        for metric, half in margins.items()
    )
    insert_all(connection, planned_margins, rows)


def read_margins(connection: Connection, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read the planned half-widths of rounds in labeling, by round and metric."""
    query = (
        select(monitors.c.name, rounds.c.slot, *planned_margins.c["metric", "half_width"])
        .join_from(rounds, monitors)
        .join(planned_margins, planned_margins.c.round_id == rounds.c.id)
        .where(
            monitors.c.name.in_(listed(connection, names)),
            rounds.c.state == RoundState.LABELING,
        )
        .order_by(planned_margins.c.metric)
    )
    result: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for name, slot, metric, half_width in connection.execute(query):
        result[round_name(name, slot)][metric] = half_width
    return dict(result)


@dataclass(frozen=True, slots=True)
class History:
    """A row of ``histories``."""

    id: int
    model_version: str | None
    threshold: float | None
    edges: BandEdges
    reference: Mapping[str, tuple[int, int]] | None
    revision: int


@dataclass(frozen=True, slots=True)
class StratumTally:
    """A stratum of a round, and the label counts of a version.

    ``rows`` is the number of rows that the size was estimated from, if the log is a sample.
    """

    stratum: Stratum
    size: int
    planned: int
    labeled: int = 0
    positive: int = 0
    declined: int = 0
    rows: int | None = None


def newest_history(
    connection: Connection, monitor_id: int, *, threshold: float | None, key_parts: Sequence[object]
) -> History | None:
    """Return the newest history with these settings and any model version, or None."""
    query = select(histories).where(histories.c.monitor_id == monitor_id)
    # The key is a digest that includes the model version, so a query cannot match it.
    for row in connection.execute(query.order_by(histories.c.id.desc())):
        parts = (*key_parts, row.band_edges["unscored"])
        if row.key == _history_key(row.model_version, threshold, parts):
            return _history(row)
    return None


def history_for(
    connection: Connection,
    monitor_id: int,
    *,
    model_version: str | None,
    threshold: float | None,
    key_parts: Sequence[object],
    unscored: bool,
) -> History | None:
    """Return the history of rounds with these settings, or None."""
    parts = (*key_parts, unscored)
    keys = [_history_key(each, threshold, parts) for each in spellings(model_version)]
    query = select(histories).where(histories.c.monitor_id == monitor_id, histories.c.key.in_(keys))
    row = connection.execute(query.order_by(histories.c.id.desc())).first()
    return None if row is None else _history(row)


def histories_of_model(
    connection: Connection, monitor_id: int, *, model_version: str | None, threshold: float | None
) -> list[int]:
    """Return the ids of a monitor's histories with a model version and threshold, oldest first."""
    query = select(histories.c.id).where(
        histories.c.monitor_id == monitor_id,
        or_(*(histories.c.model_version.is_not_distinct_from(v) for v in spellings(model_version))),
        histories.c.threshold.is_not_distinct_from(threshold),
    )
    return [int(scalar) for scalar in connection.scalars(query.order_by(histories.c.id))]


def last_history(connection: Connection, monitor_id: int, *, before: datetime) -> History | None:
    """Read the history of a monitor's last closed round before a slot, or None."""
    closed = (rounds.c.monitor_id == monitor_id, rounds.c.state == RoundState.CLOSED)
    query = (
        select(histories)
        .join(rounds, rounds.c.history_id == histories.c.id)
        .where(*closed, rounds.c.slot < before)
        .order_by(rounds.c.slot.desc())
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _history(row)


def read_history(connection: Connection, history_id: int) -> History:
    """Read one history."""
    return _history(connection.execute(select(histories).where(histories.c.id == history_id)).one())


def read_history_here(connection: Connection, history_id: int) -> tuple[History, str]:
    """Read one history, and the id of its store."""
    row = connection.execute(select(histories, _STORE_ID).where(histories.c.id == history_id)).one()
    return _history(row), row.store_id


def read_histories(connection: Connection, ids: Collection[int]) -> dict[int, History]:
    """Read some histories, by id."""
    return {
        row.id: _history(row)
        for some in chunks(sorted(ids))
        for row in connection.execute(select(histories).where(histories.c.id.in_(some)))
    }


def add_history(
    connection: Connection,
    monitor_id: int,
    *,
    model_version: str | None,
    threshold: float | None,
    key_parts: Sequence[object],
    edges: BandEdges,
    reference: Mapping[str, tuple[int, int]] | None,
    now: datetime,
) -> int:
    """Add a history; raises `RoundMoved` if another round added it meanwhile."""
    row = {
        "monitor_id": monitor_id,
        "key": _history_key(model_version, threshold, (*key_parts, edges.unscored)),
        "model_version": model_version,
        "threshold": threshold,
        "band_edges": asdict(edges),
        "reference": None if reference is None else dict(reference),
        "opened_at": now,
    }
    if added := insert_all_new(connection, histories, [row]):
        return added[0]
    message = "another round opened this history meanwhile; this one is drawn by its bands"
    raise RoundMoved(message)


def add_items(
    connection: Connection,
    round_id: int,
    drawn: Sequence[Item],
    *,
    shown: Mapping[str, Shown],
    doubled: Collection[str] = (),
    parts: Mapping[bool, int] = MappingProxyType({True: 0, False: 0}),
    checkers: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Store drawn items, their shown content, and tasks, including second copies and checks."""
    insert_all(connection, items, item_rows(round_id, drawn))
    seen = (
        {"round_id": round_id, "item_id": item.id, "shown": dict(shown.get(item.id, {}))}
        for item in drawn
    )
    insert_all(connection, payloads, seen)
    seed = _key_seed(connection, round_id)
    requests = (
        {"key": _task_key(seed, item.id, slot), "item_id": item.id, "slot": slot, "part": part}
        | {"round_id": round_id}
        for item in drawn
        for slot, part in _slots(item, doubled, parts, checkers)
    )
    insert_all(connection, tasks, requests)


def _slots(
    item: Item, doubled: Collection[str], parts: Mapping[bool, int], checkers: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    own = parts[item.predicted]
    yield 1, own
    if item.id in doubled:
        yield 2, own
    if item.id in checkers:
        yield CHECK_SLOT, checkers[item.id]


def item_rows(round_id: int, drawn: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the rows of drawn items for the table ``items``."""
    return [
        picked(item, _ITEM) | {"round_id": round_id, "segments": _stored_segments(item) or None}
        for item in drawn
    ]


def _stored_segments(item: Item) -> dict[str, str]:
    own = {} if item.group is None else {GROUP: item.group}
    return {**item.segments, **own}


def write_strata(connection: Connection, round_id: int, planned: Sequence[StratumTally]) -> None:
    """Store the counted strata of a round."""
    rows = [
        {"round_id": round_id, "stratum": part.stratum.name, "position": position}
        | picked(part.stratum, ("flagged", "low", "high", "unscored", "verdict"))
        | picked(part, TALLIED)
        for position, part in enumerate(planned)
    ]
    insert_all(connection, strata, rows)


def write_issues(
    connection: Connection, round_id: int, issues: Mapping[str, tuple[int, bool]]
) -> None:
    """Replace the issues of a round's rows: reason to (count, whether bad)."""
    remove(connection, round_issues, round_issues.c.round_id == round_id)
    rows = [
        {"round_id": round_id, "reason": reason, "count": count, "bad": bad}
        for reason, (count, bad) in issues.items()
        if count
    ]
    insert_all(connection, round_issues, rows)


def read_issues(connection: Connection, round_id: int) -> dict[str, tuple[int, bool]]:
    """Read the issues of a round's rows."""
    return read_all_issues(connection, [round_id]).get(round_id, {})


def read_all_issues(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[str, tuple[int, bool]]]:
    """Read the issues of the rows of some rounds, by round."""
    issues: dict[int, dict[str, tuple[int, bool]]] = {}
    for some in chunks(round_ids):
        query = select(round_issues).where(round_issues.c.round_id.in_(some))
        for round_id, reason, count, is_bad in connection.execute(query):
            issues.setdefault(round_id, {})[reason] = (int(count), is_bad)
    return issues


def read_strata(connection: Connection, round_id: int) -> list[StratumTally]:
    """Read the strata of a round, flagged first, from low to high score."""
    return read_all_strata(connection, [round_id]).get(round_id, [])


def read_all_strata(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, list[StratumTally]]:
    """Read the strata of some rounds, each round's as `read_strata` does."""
    query = select(strata).where(strata.c.round_id.in_(round_ids))
    tallies: dict[int, list[StratumTally]] = {}
    for row in connection.execute(query.order_by(strata.c.round_id, strata.c.position)):
        tally = StratumTally(stratum_of(row), **picked(row, TALLIED))
        tallies.setdefault(row.round_id, []).append(tally)
    return tallies


def stratum_of(row: Row[Any]) -> Stratum:
    """Return the stratum from a row with the columns of ``strata``."""
    verdict = None if row.verdict is None else Verdict(row.verdict)
    return Stratum(row.stratum, row.flagged, row.low, row.high, row.unscored, verdict)


def _history(row: Row[Any]) -> History:
    edges = row.band_edges
    flagged, passed, unscored = edges["flagged"], edges["passed"], edges["unscored"]
    is_judged = edges.get("judged", False)  # no store of before judges has it
    return History(
        **picked(row, ("id", "model_version", "threshold", "revision")),
        edges=BandEdges(tuple(flagged), tuple(passed), unscored, judged=is_judged),
        reference=row.reference and {name: tuple(pair) for name, pair in row.reference.items()},
    )


def _history_key(
    model_version: str | None, threshold: float | None, parts: Sequence[object]
) -> str:
    text = repr((model_version, threshold, *parts))
    return hashlib.sha256(text.encode()).hexdigest()


def _key_seed(connection: Connection, round_id: int) -> str:
    """Return the seed for the keys of a round's tasks, derived from immutable data of the round.

    Rounds that share a block's seed add their monitor's name. Ids of monitors would not do: they
    may be swapped in a restored store, and an answer would then count for another class.
    """
    columns = (*rounds.c["seed", "slot", "monitor_id"], monitors.c.name, _STORE_ID)
    query = select(*columns).join_from(rounds, monitors).where(rounds.c.id == round_id)
    row = connection.execute(query).one()
    has_own = row.seed == seed_of(row.store_id, row.monitor_id, row.slot)
    return str(row.seed) if has_own else f"{row.seed}/{row.name}"


def _task_key(seed: str, item_id: str, slot: int) -> str:
    """Return a task key; it begins with a letter, so that spreadsheets keep it as text."""
    copy = "" if slot == 1 else str(slot)
    return "t" + hashlib.sha256(f"{seed}/task{copy}/{item_id}".encode()).hexdigest()[:16]
