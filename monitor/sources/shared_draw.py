"""Counting and drawing for several monitors of one table by statements that they share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monitor.domain.model import Decisions, Window
from monitor.sources import frames
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_draw import Draw, finish, has_all, of_one_state, untimed

if TYPE_CHECKING:
    from monitor.sources.sql_query import Query, Scan
    from monitor.sources.sql_reading import Reading

    Groups = list[list[frames.BucketCount]]
    """The groups of each monitor, by its place."""

MOST_MONITORS = 100  # Of one reading: SQLite compares no more than 127 bounds
MOST_VALUES = 10_000  # Of a statement, in which every database takes that many

MOST_CANDIDATES = 250_000
"""Of one reading, about 100 bytes each: those of 30 monitors whose strata are known are fewer."""


def readings_of(scans: Iterable[Scan]) -> Iterator[list[Scan]]:
    """Part the scans of a table into those that one reading serves.

    Only monitors with the same segments are served together.
    """
    by_segments: defaultdict[Sequence[str], list[Scan]] = defaultdict(list)
    for scan in scans:
        by_segments[scan.query.settings.columns.segments].append(scan)
    for similar in by_segments.values():
        part: list[Scan] = []
        for scan in similar:
            if part and not _fit([*part, scan]):
                yield part
                part = []
            part.append(scan)
        yield part


def _fit(scans: Sequence[Scan]) -> bool:
    """Whether a statement takes so many monitors and values, and memory so many candidates."""
    return (
        len(scans) <= MOST_MONITORS
        and sum(scan.values for scan in scans) <= MOST_VALUES
        and sum(scan.candidates for scan in scans) <= MOST_CANDIDATES
    )


def groups_of(reading: Reading, scans: Sequence[Scan], window: Window, seed: str) -> Groups:
    """Count and draw for each of several monitors, in one state.

    Raises `SourceUnavailable` if rows keep changing and the database cannot show one state of them.
    """
    shared = SharedQuery(scans)
    drawn = of_one_state(
        shared.common,
        window,
        lambda: tallied(reading, shared, window),
        lambda counted: drawn_from(reading, shared, window, seed, counted),
        lambda drawn: all(map(has_all, drawn, [scan.at_most for scan in scans])),
    )
    without_time = untimed(reading, shared.common)
    return [[*groups, *without_time] for groups in drawn]


def tallied(reading: Reading, shared: SharedQuery, window: Window) -> Groups:
    """Count the buckets of a window for each monitor."""
    return tally_of(reading.connection.execute(shared.tally(window)), shared)


def tally_of(rows: Iterable[Sequence[Any]], shared: SharedQuery) -> Groups:
    """Make groups of counts, whose newest times belong to the same model version.

    They are counted for the first monitor alone; of a version nothing else is asked.
    """
    counted: Groups = [[] for _ in shared.scans]
    newest: dict[str | None, int] = {}
    instant = shared.common.times.instant
    for k, bucket, version, count, at, *decided in rows:
        is_challenged = shared.scans[k].query.challenger is not None
        challenged = Decisions(*decided) if is_challenged else None
        counted[k].append(frames.BucketCount(bucket, version, count, challenged=challenged))
        if at is not None:
            newest[version] = max(newest.get(version, instant(at)), instant(at))
    return [
        [
            replace(group, newest=newest.get(group.version))
            for group in sorted(groups, key=lambda group: (group.bucket, group.version or ""))
        ]
        for groups in counted
    ]


def drawn_from(
    reading: Reading, shared: SharedQuery, window: Window, seed: str, counted: Groups
) -> Groups:
    """Give the groups of each monitor their candidates and segments."""
    draws = [Draw(groups, scan.at_most) for groups, scan in zip(counted, shared.scans, strict=True)]
    wanting = {index: draw for index, draw in enumerate(draws) if draw.bounds}
    version = next((draw.version for draw in wanting.values()), None)
    if wanting:
        bounds = {index: draw.bounds for index, draw in wanting.items()}
        rows = reading.connection.execute(shared.draw(window, seed, bounds, version))
        _deal(rows, [(shared.scans[index].query, draw) for index, draw in wanting.items()])
    for index, draw in wanting.items():
        scan = shared.scans[index]
        draw.settle(seed, scan.query)
        finish(draw, reading, scan, window, seed, is_first=False)
    values = values_of(reading, shared, window, version) if wanting else {}
    return [draw.groups(values.get(index, {})) for index, draw in enumerate(draws)]


def _deal(rows: Iterable[Sequence[Any]], draws: Sequence[tuple[Query, Draw]]) -> None:
    """Give each row to the monitors whose bounds lie above its md5.

    It has md5 and id, its segments, then its bucket for each of them, its score for each, and what
    the challenger of each decided if one has any.
    """
    shared_columns, monitors = 2 + len(draws[0][0].segments), len(draws)
    for row in rows:
        values = tuple(row)
        md5, item_id, *segments = values[:shared_columns]
        for index, (query, draw) in enumerate(draws, shared_columns):
            bucket = values[index]
            if md5 < draw.bounds.get(bucket, ""):
                decided = () if query.challenger is None else (values[index + 2 * monitors],)
                draw.add((bucket, md5, item_id, values[index + monitors], *segments, *decided))


def values_of(
    reading: Reading, shared: SharedQuery, window: Window, version: str | None
) -> Mapping[int, dict[int, tuple[Mapping[str, int], ...]]]:
    """Count each monitor's strata by the values of each segment column."""
    columns = [
        _counts(reading.connection.execute(shared.values_of(index, window, version)))
        for index in range(len(shared.common.segments))
    ]
    return {
        k: {
            bucket: tuple(counted[k, bucket] for counted in columns)
            for bucket in range(len(scan.strata))
        }
        for k, scan in enumerate(shared.scans)
        if columns
    }


def _counts(rows: Iterable[Sequence[Any]]) -> defaultdict[tuple[int, int], dict[str, int]]:
    counted: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for k, bucket, value, count in rows:
        counted[k, bucket][value] = count
    return counted
