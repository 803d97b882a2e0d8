"""A store as many monitors leave it, written row by row without any estimating."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select

from monitor.domain.settings import RoundSettings, Schedule
from monitor.storage.database import Database
from monitor.storage.tables import (
    effects,
    estimates,
    evidence,
    histories,
    items,
    label_events,
    monitors,
    rounds,
    strata,
)

WEEK = timedelta(days=7)
SETTINGS = RoundSettings(
    threshold=0.5,
    schedule=Schedule(cron="0 6 * * MON"),
    deadline=timedelta(days=5),
    late_labels=timedelta(days=90),
)
_METRICS = ("precision", "recall", "f1", "prevalence")
_CHUNK = 5000


def fill(
    database: Database, *, many: int, rounds_each: int, items_each: int, newest: datetime
) -> None:
    """Give each monitor closed rounds a week apart, and a last one that is half labeled."""
    with database.write() as connection:
        numbers = range(1, many + 1)
        named = [{"id": i, "name": f"monitor-{i:04}", "created_at": newest} for i in numbers]
        connection.execute(insert(monitors), named)
        connection.execute(
            insert(histories),
            [
                {"id": i, "monitor_id": i, "key": "k", "band_edges": {}, "opened_at": newest}
                for i in numbers
            ],
        )
        frozen = SETTINGS.model_dump(mode="json")
        rows: list[dict[str, Any]] = []
        for monitor in numbers:
            rows += _rounds_of(monitor, rounds_each, newest, frozen)
        _insert(connection, rounds, rows)
        ids = connection.execute(select(rounds.c.id, rounds.c.state)).all()
        closed = [row.id for row in ids if row.state == "closed"]
        labeling = [row.id for row in ids if row.state == "labeling"]
        _insert(connection, estimates, [row for each in closed for row in _estimates_of(each)])
        _insert(connection, evidence, [row for each in closed for row in _evidence_of(each)])
        _insert(
            connection, strata, [row for each in labeling for row in _strata_of(each, items_each)]
        )
        for start in range(0, len(labeling), 50):
            part = labeling[start : start + 50]
            _insert(
                connection, items, [row for each in part for row in _items_of(each, items_each)]
            )
            _insert(
                connection,
                label_events,
                [row for each in part for row in _labels_of(each, items_each // 2, newest)],
            )


def _insert(connection: Any, table: Any, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _CHUNK):
        connection.execute(insert(table), rows[start : start + _CHUNK])


def _rounds_of(
    monitor: int, count: int, newest: datetime, frozen: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    for number in range(1, count + 1):
        slot = newest - (count - number) * WEEK
        is_closed = number < count
        yield {
            "monitor_id": monitor,
            "history_id": monitor,
            "number": number,
            "slot": slot,
            "window_start": slot - WEEK,
            "window_end": slot,
            "state": "closed" if is_closed else "labeling",
            "settings": frozen,
            "seed": "0" * 32,
            "opened_at": slot,
            "deadline": slot + SETTINGS.deadline,
            "closed_at": slot + timedelta(days=4) if is_closed else None,
            "version": 1 if is_closed else 0,
            "label_revision": 5,
            "estimated_revision": 5 if is_closed else None,
        }


def _estimates_of(round_id: int) -> Iterator[dict[str, Any]]:
    for metric in _METRICS:
        for basis in ("round", "pooled"):
            for estimand in ("rate", "window"):
                yield {
                    "round_id": round_id,
                    "version": 1,
                    "metric": metric,
                    "estimand": estimand,
                    "basis": basis,
                    "point": 0.8,
                    "low": 0.7,
                    "high": 0.9,
                    "level": 0.95,
                    "method": "posterior",
                }


def _evidence_of(round_id: int) -> Iterator[dict[str, Any]]:
    for metric in ("precision", "recall"):
        yield {
            "round_id": round_id,
            "version": 1,
            "metric": metric,
            "side": "at_least",
            "limit": 0.7,
            "chain": 1,
            "order": 1,
            "log_e": [0.1],
            "log_m": [0.1],
            "log_evidence": 0.5,
            "log_threshold": 4.0,
            "fires": False,
        }


def _strata_of(round_id: int, count: int) -> Iterator[dict[str, Any]]:
    for position, name in enumerate(("passed", "flagged")):
        yield {
            "round_id": round_id,
            "stratum": name,
            "position": position,
            "flagged": name == "flagged",
            "size": 10_000,
            "planned": count // 2,
        }


def _items_of(round_id: int, count: int) -> Iterator[dict[str, Any]]:
    for place in range(count):
        flagged = place % 2 == 0
        yield {
            "round_id": round_id,
            "id": f"{place:06}",
            "stratum": "flagged" if flagged else "passed",
            "order": place // 2,
            "predicted": flagged,
        }


def _labels_of(round_id: int, count: int, at: datetime) -> Iterator[dict[str, Any]]:
    for place in range(count):
        yield {
            "round_id": round_id,
            "item_id": f"{place:06}",
            "labeler": "files",
            "external_id": f"{round_id}/{place}/ada",
            "revision": "0" * 32,
            "annotator": "ada",
            "kind": "given",
            "answer": "positive",
            "at": at,
            "received_at": at,
        }


def waiting_effects(database: Database, *, sinks: tuple[str, ...], now: datetime) -> None:
    """Let one effect of every monitor wait for each sink."""
    with database.write() as connection:
        newest = connection.execute(
            select(rounds.c.monitor_id, rounds.c.id).where(rounds.c.state == "labeling")
        )
        rows = [
            {
                "key": f"{row.id}/{sink}",
                "monitor_id": row.monitor_id,
                "round_id": row.id,
                "kind": "notice",
                "sink": sink,
                "payload": {},
                "status": "waiting",
                "created_at": now,
                "next_try": now,
            }
            for row in newest.all()
            for sink in sinks
        ]
        _insert(connection, effects, rows)
