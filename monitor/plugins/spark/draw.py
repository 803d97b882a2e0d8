"""Counting and drawing by Spark in one read of the rows, after a cheap look at how many there are.

Spark does not promise that two statements see one state of a table, so what is drawn is counted by
the statement that draws it. Where that brings too few, or an id stands twice, it is done as in a
database (`monitor.sources.sql_draw`), which counts before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from monitor.domain.model import Decisions, Window
from monitor.plugins.spark.query import SharedSparkQuery
from monitor.sources import frames, sql_draw

if TYPE_CHECKING:
    from monitor.plugins.spark.query import SparkQuery
    from monitor.sources.sql_query import Query, Scan
    from monitor.sources.sql_reading import Reading

MOST_AT_ONCE = 100_000
"""Candidates of a stratum; of more than that, groups would take Spark more room than they save."""


class _SparkRead(NamedTuple):
    """What one statement found: the groups, and the rows below each bucket's bound."""

    counted: list[frames.BucketCount]
    drawn: Mapping[int, list[tuple[Any, ...]]]
    has_duplicates: bool


def groups_of(reading: Reading, scan: Scan, window: Window, seed: str) -> list[frames.BucketCount]:
    """Count the buckets of a window and take the first candidates of each stratum by md5.

    Raises `SourceUnavailable` if rows keep changing while they are read.
    """
    if scan.at_most <= MOST_AT_ONCE and scan.query.settings.columns.released is None:
        [at_once] = shared_groups_of(reading, [scan], window, seed)
        if at_once is not None:
            return at_once
    [groups] = sql_draw.groups_of(reading, [scan], window, seed)
    return groups


def shared_groups_of(
    reading: Reading, scans: Sequence[Scan], window: Window, seed: str
) -> list[list[frames.BucketCount] | None]:
    """Count and draw for each of some monitors by one statement; None if that is not enough."""
    shared = SharedSparkQuery(scans)
    estimated = SharedSparkQuery([_without_ids(scan) for scan in scans])
    counted = sql_draw.tallied(reading, estimated, window)
    guesses = [
        sql_draw.Draw(groups, scan.at_most) for groups, scan in zip(counted, scans, strict=True)
    ]
    version = next((guess.version for guess in guesses if guess.has_rows), None)
    rows: list[list[Any]] = [[] for _ in scans]
    for k, *row in _counted_and_drawn(reading, shared, window, seed, guesses, version):
        rows[k].append(row)
    has_rows = any(guess.has_rows for guess in guesses)
    values = sql_draw.values_of(reading, shared, window, version) if has_rows else {}
    without_time = sql_draw.untimed(reading, shared.common)
    drawn: list[list[frames.BucketCount] | None] = []
    for index, (scan, guess) in enumerate(zip(scans, guesses, strict=True)):
        read = _parted(rows[index], scan.query)
        groups = _complete(read, scan.query, guess, values.get(index, {}), seed)
        drawn.append(None if groups is None else [*groups, *without_time])
    return drawn


def _without_ids(scan: Scan) -> Scan:
    """Count without reading ids: a bound needs no exact count."""
    return scan._replace(query=replace(cast("SparkQuery", scan.query), reads_ids=False))


def _counted_and_drawn(
    reading: Reading,
    shared: SharedSparkQuery,
    window: Window,
    seed: str,
    guesses: Sequence[sql_draw.Draw],
    version: str | None,
) -> Iterable[Sequence[Any]]:
    bounds = {index: guess.bounds for index, guess in enumerate(guesses)}
    if len(guesses) > 1:
        statement = shared.count_and_draw(window, seed, bounds, version)
        return reading.connection.execute(statement)  # type: ignore[no-any-return]
    [scan] = shared.scans
    query = cast("SparkQuery", scan.query)  # as `query_of` made it
    statement = query.count_and_draw(window, scan.strata, seed, bounds[0], version)
    return ((0, *row) for row in reading.connection.execute(statement))


def _complete(
    read: _SparkRead,
    query: Query,
    guess: sql_draw.Draw,
    values: Mapping[int, tuple[Mapping[str, int], ...]],
    seed: str,
) -> list[frames.BucketCount] | None:
    """Give the groups that were read their candidates; None if there are too few."""
    current = sql_draw.current(read.counted)
    if read.has_duplicates or any(group.version != guess.version for group in current):
        return None
    result: dict[int, frames.BucketCount] = {}
    for group in current:
        first = sorted(read.drawn[group.bucket], key=sql_draw.in_order)[: guess.wanted]
        segments = values.get(group.bucket, ())
        is_other_state = any(sum(counts.values()) != group.rows for counts in segments)
        if is_other_state or len(first) < min(guess.wanted, group.rows):
            return None
        sql_draw.check_md5(first, seed, query)
        candidates = tuple(sql_draw.candidates_of(first, query))
        result[group.bucket] = replace(group, candidates=candidates, segments=segments)
    return [result[group.bucket] if group in current else group for group in read.counted]


def _parted(rows: Iterable[Any], query: Query) -> _SparkRead:
    """Part what came back: rows with an md5 are candidates, and all are counted."""
    counts: defaultdict[tuple[int, str | None], int] = defaultdict(int)
    newest: dict[tuple[int, str | None], Any] = {}
    drawn: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    has_duplicates = False
    carried, challenged = len(query.carried), query.challenger is not None
    decided: defaultdict[tuple[int, str | None], Decisions] = defaultdict(lambda: Decisions(0, 0))
    for bucket, version, count, at, md5, item_id, score, *more in rows:
        group = bucket, version
        counts[group] += count
        newest[group] = max(newest.get(group, at), at)
        if challenged:
            decided[group] += Decisions(*more[-4:])
        if md5 is not None:
            has_duplicates |= count > 1
            drawn[bucket].append((bucket, md5, item_id, score, *more[:carried]))
    instant = query.times.instant
    counted = [
        frames.BucketCount(
            *group, counts[group], instant(newest[group]), challenged=decided.get(group)
        )
        for group in sorted(counts, key=lambda group: (group[0], group[1] or ""))
    ]
    return _SparkRead(counted, drawn, has_duplicates)
