"""What a judge that is asked said of items, and what asking it has cost a round."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from monitor.domain.judge import OnDemandJudge
from monitor.domain.judging import Opinion
from monitor.domain.model import Verdict
from monitor.storage.database import add_missing, change, listed
from monitor.storage.rounds.round_store import Round
from monitor.storage.tables import judgings, verdicts


@dataclass(frozen=True, slots=True)
class Judging:
    """What asking its judge has cost a round; ``why`` some items have no verdict."""

    began_at: datetime
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    items: int | None = None
    why: str | None = None


def read_opinions(
    connection: Connection, round_: Round, ids: Sequence[str]
) -> dict[tuple[str, str], Opinion]:
    """Read what a round's judge said, by item and a digest of what it saw of it."""
    query = select(*verdicts.c["item_id", "seen", "verdict", "fault", "tokens"]).where(
        verdicts.c.monitor_id == round_.monitor_id,
        verdicts.c.judge == _key(round_),
        verdicts.c.item_id.in_(listed(connection, ids)),
    )
    return {
        (item, seen): Opinion(Verdict(verdict), fault or "", tokens)
        for item, seen, verdict, fault, tokens in connection.execute(query)
    }


_LONGEST_FAULT = 100  # characters, as its column has


def add_opinions(
    connection: Connection,
    round_: Round,
    opinions: Mapping[str, Opinion],
    seen: Mapping[str, str],
    now: datetime,
) -> None:
    """Keep what a round's judge said of items and digests of what it saw; no failed requests."""
    shared = {"monitor_id": round_.monitor_id, "judge": _key(round_), "round_id": round_.id}
    rows = [
        {**shared, "item_id": item, "seen": seen[item], "verdict": opinion.verdict, "at": now}
        | {"fault": opinion.fault[:_LONGEST_FAULT] or None, "tokens": opinion.tokens}
        for item, opinion in opinions.items()
        if opinion.is_reply
    ]
    add_missing(connection, verdicts, rows)


def _key(round_: Round) -> str:
    judge = round_.settings.judge
    assert isinstance(judge, OnDemandJudge)  # noqa: S101  no other is asked
    return judge.key


def read_judgings(connection: Connection, round_ids: Collection[int]) -> dict[int, Judging]:
    """Read what asking its judge has cost each of some rounds that asked one, by round."""
    if not round_ids:
        return {}
    query = select(judgings).where(judgings.c.round_id.in_(round_ids))
    return {each: Judging(*cost) for each, *cost in connection.execute(query)}


def begin_judging(connection: Connection, round_id: int, now: datetime) -> Judging:
    """Return what asking has cost a round so far: nothing, if it begins now."""
    row = {"round_id": round_id, "began_at": now, "calls": 0, "tokens": 0, "seconds": 0.0}
    add_missing(connection, judgings, [row])
    return read_judgings(connection, [round_id])[round_id]


def spend(
    connection: Connection, round_id: int, *, calls: int, tokens: int = 0, seconds: float = 0.0
) -> None:
    """Add to what asking has cost a round."""
    c = judgings.c
    cost = {"calls": c.calls + calls, "tokens": c.tokens + tokens, "seconds": c.seconds + seconds}
    change(connection, judgings, c.round_id == round_id, **cost)


def end_judging(connection: Connection, round_id: int, items: int, why: str | None) -> None:
    """Note how many items the first phase had, and why some of them have no verdict."""
    change(connection, judgings, judgings.c.round_id == round_id, items=items, why=why)
