"""A challenger in the store: what it decided in each stratum, and labels by decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from monitor.domain.model import Frame
from monitor.storage.database import insert_all
from monitor.storage.labels.round_labels import RoundLabels, count_labels
from monitor.storage.queries import by_first, is_latest, picked, version_rows
from monitor.storage.tables import challenger_counts, challenger_sizes, rounds, strata


@dataclass(frozen=True, slots=True)
class ChallengedStratum:
    """A stratum of a round by what the challenger decided: items, and labels as (passed, flagged).

    ``undecided`` are items on which it made no decision, and so does not flag.
    """

    stratum: str
    flagged: bool
    size: int
    challenged: int
    undecided: int
    planned: int
    labeled: tuple[int, int] = (0, 0)
    positive: tuple[int, int] = (0, 0)


def write_sizes(connection: Connection, round_id: int, frame: Frame) -> None:
    """Write what the challenger decided in each stratum; nothing if that was not read."""
    rows = [
        {"round_id": round_id, "stratum": part.stratum.name}
        | picked(part.challenged, ("flagged", "undecided"))
        for part in frame.strata
        if part.challenged is not None
    ]
    insert_all(connection, challenger_sizes, rows)


def current_strata(
    connection: Connection, round_id: int, labels: RoundLabels
) -> list[ChallengedStratum]:
    """Count the labels of a round as they stand; none if no challenger was read."""
    counts = count_labels(
        ((item.stratum, bool(item.challenged)), positive) for item, positive in labels.usable()
    )
    sizes = _sizes(connection, [round_id]).get(round_id, [])
    return [_counted(part, counts) for part in sizes]


def write_counts(
    connection: Connection, round_id: int, version: int, counted: Iterable[ChallengedStratum]
) -> None:
    """Store the labels of a version by the challenger's decision, where there are any."""
    rows = [
        {"stratum": part.stratum, "flagged": flags}
        | {"labeled": part.labeled[flags], "positive": part.positive[flags]}
        for part in counted
        for flags in (False, True)
        if part.labeled[flags]
    ]
    insert_all(connection, challenger_counts, version_rows({(round_id, version): rows}))


def read_counts(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, list[ChallengedStratum]]:
    """Read the latest version of some rounds, those that had a challenger, strata in order."""
    query = (
        select(challenger_counts)
        .join(rounds, is_latest(challenger_counts))
        .where(challenger_counts.c.round_id.in_(round_ids))
    )
    counts: dict[int, dict[tuple[str, bool], tuple[int, int]]] = {}
    for row in connection.execute(query):
        round_counts = counts.setdefault(row.round_id, {})
        round_counts[row.stratum, row.flagged] = (row.labeled, row.positive)
    sizes = _sizes(connection, round_ids)
    return {
        round_id: [_counted(part, counts.get(round_id, {})) for part in parts]
        for round_id, parts in sizes.items()
    }


def _sizes(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[ChallengedStratum]]:
    query = (
        select(
            *strata.c["round_id", "stratum", "flagged", "size"],
            *challenger_sizes.c["flagged", "undecided"],
            strata.c.planned,
        )
        .join_from(challenger_sizes, strata)
        .where(strata.c.round_id.in_(round_ids))
        .order_by(strata.c.round_id, strata.c.position)
    )
    read = by_first(connection, query)
    return {each: [ChallengedStratum(*values) for values in of] for each, of in read.items()}


def _counted(
    part: ChallengedStratum, counts: Mapping[tuple[str, bool], tuple[int, int]]
) -> ChallengedStratum:
    (passed, missed), (flagged, positive) = (
        counts.get((part.stratum, flags), (0, 0)) for flags in (False, True)
    )
    return replace(part, labeled=(passed, flagged), positive=(missed, positive))
