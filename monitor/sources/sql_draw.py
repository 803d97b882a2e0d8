"""Draw from a table: count a window, bound the md5 in each stratum, then read the few rows below.

So a database sorts nothing. If too few rows are below a bound, it is raised for that stratum.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.domain.model import Candidate, Decisions, Window
from monitor.sources import buckets
from monitor.sources.amounts import rank_of
from monitor.sources.dialects import Reading
from monitor.sources.shared_query import SharedQuery
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_rows import ALL

if TYPE_CHECKING:
    from sqlalchemy import Select

    Groups = list[list[buckets.BucketCount]]
    """The groups of each monitor, by its position."""

_DIGITS = 12
_RAISED = 8  # factor for a bound with too few rows
_AT_ONCE = 10_000  # rows in memory besides the selected ones
_STREAMED = {"stream_results": True, "yield_per": _AT_ONCE}
"""Options if there may be many rows, such as one id that fills a stratum; PostgreSQL then uses one
process instead of several."""
_EVERY = 1e300  # a limit above the rank of every row
ATTEMPTS = 3  # at a table whose rows change while they are read


def groups_of(reading: Reading, scans: Sequence[Scan], window: Window, seed: str) -> Groups:
    """Count the buckets of a window, and draw the first candidates of each stratum by md5.

    Raises `SourceUnavailable` if rows keep changing and the database has no consistent state, such
    as for a view that uses ``random()``.
    """
    shared = SharedQuery(scans)
    table = shared.common.table
    for _ in range(ATTEMPTS):
        counted = tallied(reading, shared, window)
        drawn = drawn_from(reading, shared, window, seed, counted)
        is_whole = all(map(_has_all, drawn, [scan.at_most for scan in scans]))
        if is_whole and (table.is_unchanged() or tallied(reading, shared, window) == counted):
            without_time = _untimed(reading, shared.common)
            return [[*groups, *without_time] for groups in drawn]
    view = ", or name a table where this is a view that computes its rows each time"
    message = (
        f"{table.place}: rows of {window} changed while they were counted and drawn, "
        f"{ATTEMPTS} times; it is tried again{view if table.is_unchanged() else ''}"
    )
    raise SourceUnavailable(message)


def _has_all(drawn: Sequence[buckets.BucketCount], at_most: int) -> bool:
    """Whether each stratum has as many candidates as requested, or as were counted."""
    per_stratum = max(1, at_most)
    return all(
        # Items with individual probabilities are thinned.
        group.chance is not None or len(group.candidates) == min(per_stratum, group.rows)
        for group in _current(drawn)
    )


def tallied(reading: Reading, shared: SharedQuery, window: Window) -> Groups:
    """Count the buckets of a window for each monitor.

    Each group has the newest time of its model version.
    """
    counted: Groups = [[] for _ in shared.scans]
    newest: dict[str | None, int] = {}
    instant = shared.common.times.instant
    for k, bucket, version, count, at, example, *more in reading.connection.execute(
        shared.tally(window)
    ):
        _, query, strata, _ = shared.scans[k]
        challenged = None if query.challenger is None else Decisions(*more[:4])
        # A passed item was certainly let through, regardless of its row.
        has_own = query.has_log_chances or query.has_amounts
        is_certain = bucket >= 0 and not strata[bucket].flagged and not has_own
        has_chance = query.has_chances and not is_certain and more[-1] is not None
        chance = buckets.Chances(*more[-5:]) if has_chance else None
        counted[k].append(
            buckets.BucketCount(
                *(bucket, version, count), example=example, challenged=challenged, chance=chance
            )
        )
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
    """Return the groups of each monitor with candidates and segments."""
    draws = [
        (AmountDraw if scan.query.has_amounts else Draw)(groups, scan.at_most)
        for groups, scan in zip(counted, shared.scans, strict=True)
    ]
    wanting = {index: draw for index, draw in enumerate(draws) if draw.bounds}
    version = next((draw.version for draw in wanting.values()), None)
    options: dict[str, Any] = {}
    together = {k: draw for k, draw in wanting.items() if not isinstance(draw, AmountDraw)}
    alone = [{k: draw} for k, draw in wanting.items() if k not in together]
    parts = [together, *alone] if together else alone
    while parts:
        for part in parts:
            of_part = SharedQuery([shared.scans[index] for index in part])
            [first, *_] = part.values()
            statement = (
                first.statement(of_part, window, seed)
                if isinstance(first, AmountDraw)
                else of_part.draw(window, seed, [draw.bounds for draw in part.values()], version)
            )
            rows = reading.connection.execute(statement, execution_options=options)
            _deal(rows, len(shared.common.segments), [*part.values()])
            for index, draw in part.items():
                draw.settle(seed, shared.scans[index].query)
        # A raised bound may yield many rows.
        options = _STREAMED
        parts = [{index: draw} for index, draw in wanting.items() if draw.bounds]
    values = _values_of(reading, shared, window, version) if wanting else {}
    return [draw.groups(values.get(index, {})) for index, draw in enumerate(draws)]


def _deal(rows: Iterable[Sequence[Any]], segments: int, draws: Sequence[Draw]) -> None:
    """Add each row (`SharedQuery.draw`) to the monitors whose bounds are above its md5."""
    for row in rows:
        md5, item_id, *values = row
        for index, draw in enumerate(draws, segments):
            bucket, score, *own = values[index :: len(draws)]
            if draw.takes(bucket, md5, own[-1]):
                draw.add((bucket, md5, item_id, score, *values[:segments], *own))


def _values_of(
    reading: Reading, shared: SharedQuery, window: Window, version: str | None
) -> Mapping[int, dict[int, tuple[Mapping[str, int], ...]]]:
    """Count each monitor's strata by the values of each segment column."""
    columns: list[defaultdict[tuple[int, int], dict[str, int]]] = []
    for column, _ in enumerate(shared.common.segments):
        counted: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        statement = shared.values_of(column, window, version)
        for k, bucket, value, count in reading.connection.execute(statement):
            counted[k, bucket][value] = round(count)  # of amounts
        columns.append(counted)
    return {
        k: {
            bucket: tuple(counted[k, bucket] for counted in columns)
            for index in range(len(scan.strata))
            for bucket in (index, buckets.withheld(index))
        }
        for k, scan in enumerate(shared.scans)
        if columns
    }


class Draw:
    """Collects the first rows by md5 of each stratum of a counted window.

    counted: The groups of the window.
    at_most: Rows to draw from each stratum.

    bounds: The upper bound of the md5, for each stratum that still has too few rows.
    version: The model version whose rows are drawn.
    """

    def __init__(self, counted: Sequence[buckets.BucketCount], at_most: int) -> None:
        self._counted = counted
        self._current = _current(counted)
        self._sizes = {group.bucket: group.rows for group in self._current}
        self._least = _least_chances(counted)
        self._rows: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        self._wanted = max(1, at_most)
        self._candidates: dict[int, tuple[Candidate, ...]] = {}
        self.version = next((group.version for group in self._current), None)
        self.bounds = {
            bucket: first_bound(self._wanted, rows) for bucket, rows in self._sizes.items()
        }

    def takes(self, bucket: int, md5: str, chance: Any) -> bool:  # noqa: ARG002  amounts go by it
        """Whether a row is below the bound of its stratum."""
        return md5 < self.bounds.get(bucket, "")

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row below the bound of its stratum.

        A row has bucket, md5, id, score, segments, the challenger's decision, group, and
        probability or amount. If rows have individual probabilities, thin them to the smallest
        one, using the last digits of the md5 as the random number.
        """
        least = self._least.get(row[0])
        if least is None or _uniform(row[1]) < least / row[-1]:
            rows = self._rows[row[0]]
            rows.append(row)
            if len(rows) >= 2 * self._wanted + _AT_ONCE:
                rows[:] = sorted(rows, key=_in_order)[: self._wanted]

    def settle(self, seed: str, query: Query) -> None:
        """Keep the candidates of each stratum if they suffice; raise the bounds of the others."""
        short = {}
        for bucket, bound in self.bounds.items():
            rows = sorted(self._rows[bucket], key=_in_order)[: self._wanted]
            if bound != ALL and len(rows) < min(self._wanted, self._sizes[bucket]):
                short[bucket] = _hex(_RAISED * (int(bound, 16) + 1) / 16**_DIGITS)
                continue
            _check_md5(rows, seed, query)
            self._candidates[bucket] = tuple(map(_candidate, rows))
        self.bounds = short
        self._rows.clear()

    def groups(
        self, values: Mapping[int, tuple[Mapping[str, int], ...]]
    ) -> list[buckets.BucketCount]:
        """Return the groups that were counted, with candidates and the counts of segments."""
        return [
            replace(
                group,
                candidates=self._candidates.get(group.bucket, ()),
                segments=values.get(group.bucket, ()),
            )
            if group in self._current or group.bucket <= buckets.WITHHELD
            else group
            for group in self._counted
        ]


class AmountDraw(Draw):
    """Collects the first items of each stratum in a draw in proportion to amounts."""

    def __init__(self, counted: Sequence[buckets.BucketCount], at_most: int) -> None:
        super().__init__(counted, at_most)
        self._chances = {one.bucket: one.chance for one in self._current if one.chance is not None}
        expected = self._wanted + 8 * sqrt(self._wanted) + 20
        self.limits = {
            bucket: self._limit(bucket, expected / chance.total)
            for bucket, chance in self._chances.items()
        }

    def _limit(self, bucket: int, limit: float) -> float:
        return _EVERY if limit * self._chances[bucket].least >= 1 else limit

    def statement(self, of_part: SharedQuery, window: Window, seed: str) -> Select[Any]:
        """Return the statement that selects the rows below the bounds."""
        open_limits = {bucket: self.limits[bucket] for bucket in self.bounds}
        return of_part.draw_by_amount(window, seed, open_limits, self.version)

    def takes(self, bucket: int, md5: str, amount: Any) -> bool:
        """Whether a row is below the bound of its stratum."""
        return bucket in self.bounds and rank_of(md5, amount) < self.limits[bucket]

    def add(self, row: tuple[Any, ...]) -> None:
        """Add a row below the bound of its stratum."""
        self._rows[row[0]].append(row)

    def settle(self, seed: str, query: Query) -> None:
        """Keep the candidates of each stratum if they suffice; raise the bounds of the others."""
        for bucket in list(self.bounds):
            rows = sorted(self._rows[bucket], key=_by_rank)[: self._wanted]
            is_short = len(rows) < min(self._wanted, self._sizes[bucket])
            if is_short and self.limits[bucket] < _EVERY:
                self.limits[bucket] = self._limit(bucket, _RAISED * self.limits[bucket])
                continue
            _check_md5(rows, seed, query)
            self._candidates[bucket] = tuple(map(_candidate, rows))
            del self.bounds[bucket]
        self._rows.clear()


def _by_rank(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (rank_of(row[1], row[-1]), *row[1:3])


def _current(groups: Iterable[buckets.BucketCount]) -> list[buckets.BucketCount]:
    """Return the groups to draw from: strata of the estimated model version."""
    return [group for group in buckets.of_newest_version(groups) if group.bucket >= 0]


def _least_chances(counted: Sequence[buckets.BucketCount]) -> dict[int, float]:
    """Return the smallest probability in each stratum, over released and withheld items."""
    least: dict[int, float] = {}
    for group in buckets.of_newest_version(counted):
        if group.chance is not None:
            bucket = max(group.bucket, buckets.withheld(group.bucket))
            least[bucket] = min(least.get(bucket, 1.0), group.chance.least)
    return least


def _uniform(md5: str) -> float:
    """Return a number in [0, 1) from digits of an md5 that do not affect the order of the draw."""
    return float(int(md5[-_DIGITS:], 16) / 16**_DIGITS)


def first_bound(expected: int, rows: int) -> str:
    """Return the md5 below which enough rows lie, except in one case in 10^14."""
    return _hex((expected + 8 * sqrt(expected) + 20) / rows)


def _hex(share: float) -> str:
    return ALL if share >= 1 / 2 else f"{int(share * 16**_DIGITS):0{_DIGITS}x}"


def _untimed(reading: Reading, query: Query) -> list[buckets.BucketCount]:
    """Count the rows of the whole table that have no usable time."""
    statement = query.untimed()
    if statement is None:
        return []
    rows = reading.connection.execute(statement)
    return [
        buckets.BucketCount(code, None, count, example=text) for code, count, text in rows if count
    ]


def _in_order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a sort key: md5, id, then score from the lowest, with rows without one last."""
    _, drawn, item_id, score, *carried = row
    return (drawn, item_id, score is None, score or 0.0, [(each is None, each) for each in carried])


def _check_md5(rows: Iterable[tuple[Any, ...]], seed: str, query: Query) -> None:
    """Raise `SourceRefused` if the database's md5 differs: the draw could not be reproduced."""
    for _, drawn, item_id, *_ in rows:
        ours = hashlib.md5(f"{seed}|{item_id}".encode(), usedforsecurity=False).hexdigest()
        if drawn != ours:
            message = (
                f"{query.table.place}: its md5 of the id {item_id!r} is not that of its text in "
                "UTF-8, so the sample could not be drawn again; is the column's character set "
                "right? A view that casts the id to text may help"
            )
            raise SourceRefused(message)


def _candidate(row: tuple[Any, ...]) -> Candidate:
    _, _, item_id, score, *segments, challenged, group, _ = row
    decided = None if challenged is None else bool(challenged)
    return Candidate(item_id, score, tuple(segments), decided, group)
