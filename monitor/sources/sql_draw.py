"""Drawing from a table: counts of a window, a bound on md5 for each stratum, then the few rows.

A database sorts nothing and writes no temporary file: of each stratum those rows come back whose
md5 is below a bound that nearly always holds enough, and they are put in order here. Where it held
too few, the bound of that stratum is raised.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.model import Candidate
from monitor.sources import frames
from monitor.sources.sql_query import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from monitor.domain.model import Stratum, Window
    from monitor.sources.sql_query import Query
    from monitor.sources.sql_reading import Reading

_DIGITS = 12
_RAISED = 8  # times, where a bound held too few
_AT_ONCE = 10_000  # rows that are held besides those that are kept
_STREAMED = {"stream_results": True, "yield_per": _AT_ONCE}
"""How rows come where they may be many, as of an id that fills a stratum: PostgreSQL then takes
one process for them and not several."""
TRIES = 3  # at a table whose rows change while they are read


def groups_of(
    reading: Reading,
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    at_most: int,
    seed: str,
) -> list[frames.Group]:
    """Count the buckets of a window and take the first candidates of each stratum by md5.

    Raises
    ------
    SourceUnavailable
        If rows keep changing and the database cannot show one state of them, as of a view that
        uses ``random()``.
    """
    for _ in range(TRIES):
        counted = tallied(reading, query, window, strata)
        drawn = drawn_from(reading, query, window, strata, at_most, seed, counted)
        if _as_many(drawn, max(1, at_most)) and (
            query.table.sees_one_state or tallied(reading, query, window, strata) == counted
        ):
            return [*drawn, *untimed(reading, query)]
    view = ", or name a table where this is a view that computes its rows anew each time"
    message = (
        f"{query.table.place}: rows of {window} changed while they were counted and drawn, "
        f"{TRIES} times; it is tried again{view if query.table.sees_one_state else ''}"
    )
    raise SourceUnavailable(message)


def _as_many(drawn: Sequence[frames.Group], wanted: int) -> bool:
    """Whether as many rows were drawn of each stratum as were counted, or are wanted."""
    current = [group for group in frames.of_newest_version(drawn) if group.bucket >= 0]
    return all(len(group.candidates) == min(wanted, group.rows) for group in current)


def drawn_from(
    reading: Reading,
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    at_most: int,
    seed: str,
    counted: Sequence[frames.Group],
) -> list[frames.Group]:
    """Give the groups of a window that were counted their candidates and segments."""
    current = [group for group in frames.of_newest_version(counted) if group.bucket >= 0]
    sizes = {group.bucket: group.rows for group in current}
    version = next((group.version for group in current), None)
    wanted = max(1, at_most)
    candidates: dict[int, tuple[Candidate, ...]] = {}
    bounds = {bucket: first_bound(wanted, rows) for bucket, rows in sizes.items()}
    options: dict[str, Any] = {}
    while bounds:
        statement = query.draw(window, strata, seed, bounds, version, wanted)
        rows = reading.connection.execute(statement, execution_options=options)
        found = _first(rows, wanted)
        short = {
            bucket
            for bucket, bound in bounds.items()
            if bound != ALL and len(found[bucket]) < min(wanted, sizes[bucket])
        }
        for bucket in bounds.keys() - short:
            check_md5(found[bucket], seed, query)
            candidates[bucket] = tuple(candidates_of(found[bucket]))
        bounds = {bucket: raised(bounds[bucket]) for bucket in short}
        options = _STREAMED
    values = values_of(reading, query, window, strata, version) if current else {}
    return [
        replace(group, candidates=candidates[group.bucket], segments=values.get(group.bucket, ()))
        if group in current
        else group
        for group in counted
    ]


def first_bound(wanted: int, rows: int) -> str:
    """Give the md5 below which enough of so many rows lie, but for one case in 10^14."""
    return _hex((wanted + 8 * sqrt(wanted) + 20) / rows)


def raised(bound: str) -> str:
    """Raise a bound that held too few rows."""
    return _hex(_RAISED * (int(bound, 16) + 1) / 16**_DIGITS)


def _hex(share: float) -> str:
    return ALL if share >= 1 / 2 else f"{int(share * 16**_DIGITS):0{_DIGITS}x}"


def tallied(
    reading: Reading, query: Query, window: Window, strata: Sequence[Stratum]
) -> list[frames.Group]:
    """Count the buckets of a window."""
    rows = reading.connection.execute(query.tally(window, strata))
    instant = query.times.instant
    groups = [
        frames.Group(bucket, version, count, None if at is None else instant(at), example=example)
        for bucket, version, count, at, example in rows
    ]
    return sorted(groups, key=lambda group: (group.bucket, group.version or ""))


def untimed(reading: Reading, query: Query) -> list[frames.Group]:
    """Count the rows of the whole table that have no usable time."""
    statement = query.untimed()
    if statement is None:
        return []
    rows = reading.connection.execute(statement)
    return [frames.Group(code, None, count, example=text) for code, count, text in rows if count]


def _first(rows: Iterable[Any], wanted: int) -> Mapping[int, list[tuple[Any, ...]]]:
    """Keep the first rows of each stratum by md5, as many as are wanted."""
    kept: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        of_stratum = kept[row[0]]
        of_stratum.append(tuple(row))
        if len(of_stratum) >= 2 * wanted + _AT_ONCE:
            of_stratum[:] = sorted(of_stratum, key=in_order)[:wanted]
    for of_stratum in kept.values():
        of_stratum[:] = sorted(of_stratum, key=in_order)[:wanted]
    return kept


def in_order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort by md5 and id; of rows with one id the scored one first, with the lowest score."""
    _, drawn, item_id, score, *segments = row
    return (drawn, item_id, score is None, score or 0.0, segments)


def check_md5(rows: Iterable[tuple[Any, ...]], seed: str, query: Query) -> None:
    """Refuse a database whose md5 is another one, since no other would draw the same sample."""
    for _, drawn, item_id, *_ in rows:
        ours = hashlib.md5(f"{seed}|{item_id}".encode(), usedforsecurity=False).hexdigest()
        if drawn != ours:
            message = (
                f"{query.table.place}: its md5 of the id {item_id!r} is not that of its text in "
                "UTF-8, so the sample could not be drawn again; is the column's character set "
                "right? A view that casts the id to text may help"
            )
            raise SourceRefused(message)


def candidates_of(rows: Iterable[tuple[Any, ...]]) -> Iterable[Candidate]:
    """Make candidates of rows that were drawn."""
    for _, _, item_id, score, *segments in rows:
        yield Candidate(item_id, score, tuple(segments))


def values_of(
    reading: Reading,
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    version: str | None,
) -> dict[int, tuple[Mapping[str, int], ...]]:
    """Count each stratum by the values of each segment column."""
    columns: list[defaultdict[int, dict[str, int]]] = []
    for place, _ in enumerate(query.segments):
        counted: defaultdict[int, dict[str, int]] = defaultdict(dict)
        statement = query.values_of(place, window, strata, version)
        for bucket, value, count in reading.connection.execute(statement):
            counted[bucket][value] = count
        columns.append(counted)
    return {
        place: tuple(counted[place] for counted in columns)
        for place in range(len(strata))
        if columns
    }
