"""Drawing from one open table: counts of a window, and the first items of each stratum by md5."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from monitor.domain.model import BadRow, Candidate, Decisions
from monitor.sources import frames
from monitor.sources.bounds import CANDIDATES, WORTH, guessed, too_low
from monitor.sources.cuts import Cuts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from monitor.domain.model import Frame, Stratum, Window
    from monitor.sources.duckdb_query import Bound, Query

_MOST_UNKNOWN = 20  # values
_MOST_CANDIDATES = 999_999  # min(x, n) takes fewer than a million


def draw(
    query: Query, window: Window, strata: Sequence[Stratum], at_most: int, seed: str
) -> list[frames.BucketCount]:
    """Count the buckets and take their first candidates; again where a bound was too low."""
    expected = _wanted(at_most)
    bounds = _bounds(query, window, strata, expected)
    return _drawn(query, window, strata, expected, seed, bounds)


def _drawn(
    query: Query,
    window: Window,
    strata: Sequence[Stratum],
    expected: int,
    seed: str,
    bounds: dict[int, str],
    only: Collection[int] = (),
) -> list[frames.BucketCount]:
    while True:
        groups = _groups(query, query.scan(window, strata, expected, seed, bounds, only))
        short = too_low(bounds, frames.of_newest_version(groups), expected)
        if not short:
            return groups
        bounds = {bucket: bound for bucket, bound in bounds.items() if bucket not in short}


def draw_again(
    query: Query, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str
) -> list[frames.BucketCount]:
    """Draw as ``draw`` does from a window whose classes were drawn from with the same seed.

    The first items of a class hold the first ones of each of its bands, if they are enough; md5 is
    taken only of the rows of bands for which they are not.
    """
    counted = _groups(query, query.tally(before.window, strata))
    if not _can_be_cut(before, counted):
        return draw(query, before.window, strata, at_most, seed)
    expected = _wanted(at_most)
    existing = _cut(before, strata)
    sizes = {g.bucket: g.rows for g in frames.of_newest_version(counted) if g.bucket >= 0}
    lacking = {
        location
        for location, rows in sizes.items()
        if len(existing[location]) < min(expected, rows)
    }
    drawn = {}
    if lacking:
        bounds = guessed(sizes, before.size, expected)
        bounds = {location: bound for location, bound in bounds.items() if location in lacking}
        result = _drawn(query, before.window, strata, expected, seed, bounds, lacking)
        drawn = {(group.bucket, group.version): group for group in result}
    return [
        drawn.get((group.bucket, group.version))
        or replace(group, candidates=tuple(existing[group.bucket][:expected]))
        for group in counted
    ]


def unknown_values(
    query: Query, window: Window, groups: Sequence[frames.BucketCount]
) -> dict[str, int]:
    """Read the values that the config does not name; a query that few windows need."""
    if not frames.rows_in(groups, frames.PREDICTED_UNKNOWN):
        return {}
    sql, parameters = query.unknown(window, _MOST_UNKNOWN)
    return {text: int(rows) for text, rows in query.table.rows(sql, parameters)}


def _can_be_cut(before: Frame, counted: Sequence[frames.BucketCount]) -> bool:
    """Whether the candidates of a frame are those of its rows, one each, and all rows are there.

    An id that comes twice is dropped from a frame, and small segments are put together in it.
    """
    current = frames.of_newest_version(counted)
    rows = sum(group.rows for group in current if group.bucket >= 0)
    is_whole = rows == before.size and not before.segment_columns
    return is_whole and BadRow.DUPLICATE not in before.bad_rows


def _cut(before: Frame, strata: Sequence[Stratum]) -> dict[int, list[Candidate]]:
    """Give each stratum the candidates of its class that it holds, in their order."""
    existing = defaultdict[int, list[Candidate]](list)
    for part in before.strata:
        cuts = Cuts.of(strata, flagged=part.stratum.flagged)
        for candidate in part.candidates:
            existing[cuts.place(candidate.score)].append(candidate)
    return existing


def _bounds(
    query: Query, window: Window, strata: Sequence[Stratum], expected: int
) -> dict[int, str]:
    """Guess bounds from the first rows of a large window; texts would all be read for that."""
    if query.table.is_text or query.time_is_text:
        return {}
    sql, parameters = query.count(window)
    [(rows,)] = query.table.rows(sql, parameters)
    if rows < WORTH:
        return {}
    sql, parameters = query.buckets(window, strata, CANDIDATES)
    seen = {int(bucket): int(count) for bucket, count in query.table.rows(sql, parameters)}
    return guessed(seen, int(rows), expected)


def _wanted(at_most: int) -> int:
    return max(1, min(at_most, _MOST_CANDIDATES))


def _groups(query: Query, scan: Bound) -> list[frames.BucketCount]:
    return [_group(row) for row in query.table.rows(*scan)]


def _group(row: tuple[Any, ...]) -> frames.BucketCount:
    bucket, version, rows, newest, drawn, example, challenged, *values = row
    candidates = tuple(_candidates(**drawn)) if drawn and drawn["id"] else ()
    return frames.BucketCount(
        bucket,
        version,
        rows,
        newest,
        candidates,
        example,
        tuple(value or {} for value in values),
        challenged and Decisions(**challenged),
    )


def _candidates(
    *,
    id: list[str],
    score: list[float | None],
    challenged: Iterable[bool | None] = repeat(None),
    **segments: list[str],
) -> Iterator[Candidate]:
    values = zip(*segments.values(), strict=True) if segments else repeat(())
    return map(Candidate, id, score, values, challenged)
