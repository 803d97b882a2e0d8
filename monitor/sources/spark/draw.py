"""Counting and drawing by Spark in one read of the rows, after a cheap look at how many there are.

Spark does not promise that two statements see one state of a table, so what is drawn is counted by
the statement that draws it. Where that brings too few, or an id stands twice, it is done as in a
database (`monitor.sources.sql_draw`), which counts before and after.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.sources import frames, sql_draw

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.domain.model import Stratum, Window
    from monitor.sources.spark.query import SparkQuery
    from monitor.sources.sql_reading import Reading

MOST_AT_ONCE = 100_000
"""Candidates of a stratum; of more than that, groups would take Spark more room than they save."""


class _Read(NamedTuple):
    """What one statement found: the groups, and the rows below each bucket's bound."""

    counted: list[frames.Group]
    drawn: Mapping[int, list[tuple[Any, ...]]]
    has_twins: bool


def groups_of(
    reading: Reading,
    query: SparkQuery,
    window: Window,
    strata: Sequence[Stratum],
    at_most: int,
    seed: str,
) -> list[frames.Group]:
    """Count the buckets of a window and take the first candidates of each stratum by md5.

    Raises
    ------
    SourceUnavailable
        If rows keep changing while they are read.
    """
    found = None
    if at_most <= MOST_AT_ONCE:
        found = _at_once(reading, query, window, strata, max(1, at_most), seed)
    if found is None:
        return sql_draw.groups_of(reading, query, window, strata, at_most, seed)
    return [*found, *sql_draw.untimed(reading, query)]


def _at_once(
    reading: Reading,
    query: SparkQuery,
    window: Window,
    strata: Sequence[Stratum],
    wanted: int,
    seed: str,
) -> list[frames.Group] | None:
    """Count and draw by one statement; None where it does not bring what is wanted."""
    guessed = _current(sql_draw.tallied(reading, query.without_ids(), window, strata))
    version = next((group.version for group in guessed), None)
    bounds = {group.bucket: sql_draw.first_bound(wanted, group.rows) for group in guessed}
    statement = query.count_and_draw(window, strata, seed, bounds, version)
    read = _parted(reading.connection.execute(statement), query)
    current = _current(read.counted)
    if read.has_twins or any(group.version != version for group in current):
        return None
    values = {}
    if query.segments and current:
        values = sql_draw.values_of(reading, query, window, strata, version)
    found: dict[int, frames.Group] = {}
    for group in current:
        first = sorted(read.drawn[group.bucket], key=sql_draw.in_order)[:wanted]
        segments = values.get(group.bucket, ())
        is_other_state = any(sum(counts.values()) != group.rows for counts in segments)
        if is_other_state or len(first) < min(wanted, group.rows):
            return None
        sql_draw.check_md5(first, seed, query)
        candidates = tuple(sql_draw.candidates_of(first))
        found[group.bucket] = replace(group, candidates=candidates, segments=segments)
    return [found[group.bucket] if group in current else group for group in read.counted]


def _current(groups: Iterable[frames.Group]) -> list[frames.Group]:
    """Keep the groups that candidates are drawn from: strata, of the newest model version."""
    return [group for group in frames.of_newest_version(groups) if group.bucket >= 0]


def _parted(rows: Iterable[Any], query: SparkQuery) -> _Read:
    """Part what came back: rows with an md5 are candidates, and all are counted."""
    counts: defaultdict[tuple[int, str | None], int] = defaultdict(int)
    newest: dict[tuple[int, str | None], Any] = {}
    drawn: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    has_twins = False
    for bucket, version, count, at, md5, item_id, score, *segments in rows:
        group = bucket, version
        counts[group] += count
        newest[group] = max(newest.get(group, at), at)
        if md5 is not None:
            has_twins |= count > 1
            drawn[bucket].append((bucket, md5, item_id, score, *segments))
    instant = query.times.instant
    counted = [
        frames.Group(bucket, version, counts[bucket, version], instant(newest[bucket, version]))
        for bucket, version in sorted(counts, key=lambda group: (group[0], group[1] or ""))
    ]
    return _Read(counted, drawn, has_twins)
