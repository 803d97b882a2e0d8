"""Joins predictions with a truth beside them, in two statements for all items of a window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import FromClause, Select, Subquery, func, or_, select

from monitor.domain.census import JoinedItems
from monitor.domain.truth import TruthRow
from monitor.domain.values import BLANKS
from monitor.sources import frames
from monitor.sources.dialects import written
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_draw import tallied
from monitor.sources.sql_rows import code_of, of_version

if TYPE_CHECKING:
    from monitor.domain.model import Stratum, Window
    from monitor.sources.sql_query import Query, Scan
    from monitor.sources.sql_reading import Reading

Row = tuple[str, int | None, str | None]
"""A value, when it became known, and how a text says so."""


def joined_items(
    reading: Reading,
    scan: Scan,
    window: Window,
    truth: FromClause,
    missing: Collection[str],
    rows_of: Callable[[Iterable[Row]], list[TruthRow]],
) -> Iterator[JoinedItems]:
    """Yield the items of a window by what the truth has of them.

    truth: Its rows: id, as items are joined by it without the blanks around theirs, value, known,
        style; each value of an item once for each style.
    missing: Values that are none.
    rows_of: Makes rows of the truth of what was read of one item.

    Those of an item with one value are counted by the engine, and read if it has several.
    """
    version = _newest_version(reading, scan, window)
    singles, several = joins(scan.query, window, scan.strata, version, truth, missing)
    has_several = False
    for bucket, count, value, values, *segments in reading.connection.execute(singles):
        if (values or 0) > 1:
            has_several = True
            continue
        label = (value or "").strip(BLANKS)
        truths = [TruthRow(label, 0)] if label else []
        yield JoinedItems(bucket, tuple(segments), truths, int(count))
    if has_several:
        yield from _of_each(reading.connection.execute(several), rows_of)


def joins(
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    version: str | None,
    truth: FromClause,
    missing: Collection[str],
) -> tuple[Select[Any], Select[Any]]:
    """Count items with one value or none and mark those with several; and list the latter."""
    items, of_item = _items(query, window, strata, version), _values(truth, missing)
    return _singles(query, items, of_item), _several(query, items, of_item, truth)


def padded(query: Query, window: Window) -> Select[Any]:
    """Count the rows of a window whose id has blanks around it."""
    item_id = query.rows_of({"id": query.parts()["id"]}, window).c.id
    ends = (written(end, item_id).in_([*BLANKS]) for end in query.table.dialect.ends)
    return select(func.count()).where(or_(*ends))


def _newest_version(reading: Reading, scan: Scan, window: Window) -> str | None:
    """Find the model version that made the newest prediction; None if no column has it."""
    if scan.query.settings.columns.model_version is None:
        return None
    [groups] = tallied(reading, SharedQuery([scan]), window)
    return next((one.version for one in frames.of_newest_version(groups)), None)


def _items(
    query: Query, window: Window, strata: Sequence[Stratum], version: str | None
) -> Subquery:
    """Select each item once, in its first stratum."""
    rows = query.classed(window, strata)
    chosen = [rows.c.bucket >= code_of(0), *of_version(rows, version)]
    first = (func.min(rows.c[name]).label(name) for name in ("bucket", *query.segments))
    once = select(rows.c.id, *first).where(*chosen).group_by(rows.c.id).subquery()
    bare = query.table.dialect.bare
    key = written(bare, once.c.id) if bare else once.c.id
    return select(*once.c, key.label("key")).subquery()


def _values(truth: FromClause, missing: Collection[str]) -> Subquery:
    """Count the values of each item in the truth, and choose the first."""
    value = truth.c.value
    count = func.count(value.distinct()).label("values_of")
    values = select(truth.c.id.label("key"), count, func.min(value).label("value"))
    return values.where(value.not_in(sorted(missing))).group_by(truth.c.id).subquery()


def _singles(query: Query, items: Subquery, of_item: Subquery) -> Select[Any]:
    segments = [items.c[name] for name in query.segments]
    groups = [items.c.bucket, of_item.c.value, of_item.c.values_of, *segments]
    bucket, *others = groups
    joined = items.outerjoin(of_item, of_item.c.key == items.c.key)
    return select(bucket, func.count(), *others).select_from(joined).group_by(*groups)


def _several(query: Query, items: Subquery, of_item: Subquery, truth: FromClause) -> Select[Any]:
    of_several = items.join(of_item, of_item.c.key == items.c.key)
    joined = of_several.join(truth, truth.c.id == items.c.key)
    columns = [items.c["id", "bucket"], truth.c["value", "known", "style"]]
    segments = [items.c[name] for name in query.segments]
    chosen = select(*(column for some in columns for column in some), *segments)
    return chosen.select_from(joined).where(of_item.c.values_of > code_of(1))


def _of_each(
    rows: Iterable[Sequence[Any]], rows_of: Callable[[Iterable[Row]], list[TruthRow]]
) -> Iterator[JoinedItems]:
    by_item = defaultdict[tuple[Any, ...], list[Row]](list)
    for item, bucket, value, at, style, *segments in rows:
        of_item = by_item[item, bucket, *segments]
        if label := value.strip(BLANKS):
            of_item.append((label, at, style))
    for (_, bucket, *segments), of_item in by_item.items():
        truths = rows_of(sorted(of_item, key=str))
        yield JoinedItems(bucket, tuple(segments), truths, 1)
