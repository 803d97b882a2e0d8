"""The SQL that counts and draws for the monitors of one table, each row of which is read once.

To be counted, a row is there once for each monitor, whose position is ``k``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Join,
    Select,
    Subquery,
    case,
    func,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.ext.compiler import compiles

from monitor.domain.model import Window
from monitor.sources import buckets
from monitor.sources.amounts import is_drawn, limit_leaf
from monitor.sources.sql_query import Query, Scan
from monitor.sources.sql_rows import (
    ALL,
    bound_leaf,
    bound_of,
    chances_of,
    code_of,
    decisions_of,
    halved,
    of_version,
)

if TYPE_CHECKING:
    from monitor.sources.sql_rows import Leaf

_SCORE, _DECISION, _GROUP, _CHANCE = "score", "challenged", "group_name", "chance"
_OWN = (
    *(_SCORE, "predicted", "score_text", "judged", _DECISION, "challenger_score"),
    *("released", _GROUP, _CHANCE, "weight"),
)
"""Parts of a row that each monitor has of its own; all others are the same for all."""

MOST_MONITORS = 100  # Of one reading: SQLite compares no more than 127 bounds
MOST_VALUES = 10_000  # Of a statement, in which every database takes that many

MOST_CANDIDATES = 250_000
"""Of one reading, about 100 bytes each: those of 30 monitors whose strata are known are fewer."""


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """Builds statements for one monitor or more, whose queries differ in what decides the class."""

    scans: Sequence[Scan]

    @property
    def common(self) -> Query:
        """What they have in common can be asked by the query of any of them."""
        return self.scans[0].query

    def tally(self, window: Window) -> Select[Any]:
        """Count each bucket and model version for each monitor, with the newest times of the first.

        Columns: monitor, bucket, version, rows, newest time, an unreadable score; then, where any
        monitor has them, what challengers decided, least and sums of a row's probabilities.
        """
        rows = self._counted(window)
        time = rows.c.t if len(self.scans) == 1 else case((rows.c.k == code_of(0), rows.c.t))
        unreadable: ColumnElement[Any] = null()
        if "score_text" in rows.c:
            is_so = rows.c.bucket == code_of(buckets.SCORE_UNREADABLE)
            unreadable = func.min(case((is_so, rows.c.score_text)))
        chance = rows.c.get(_CHANCE)
        groups = (rows.c.k, rows.c.bucket, rows.c.version)
        return select(
            *(*groups, func.count(), self.common.newest(time), unreadable),
            *(decisions_of(rows.c) if _DECISION in rows.c else []),
            *([] if chance is None else chances_of(chance)),
        ).group_by(*groups)

    def values_of(self, index: int, window: Window, version: str | None) -> Select[Any]:
        """Count the rows of each monitor's strata by the values of a segment column."""
        rows = self._counted(window)
        groups = (rows.c.k, rows.c.bucket, rows.c[f"segment_{index}"])
        is_in = rows.c.bucket >= code_of(0)
        if any(scan.query.settings.columns.released is not None for scan in self.scans):
            is_in |= rows.c.bucket <= code_of(buckets.WITHHELD)
        in_strata = [is_in, *of_version(rows, version)]
        by_amount = [code_of(k) for k in self.indexes if self.scans[k].query.has_amounts]
        counted: ColumnElement[Any] = func.count()
        if by_amount:
            counted = case((rows.c.k.in_(by_amount), func.sum(rows.c[_CHANCE])), else_=counted)
        return select(*groups, counted).where(*in_strata).group_by(*groups)

    def draw(
        self,
        window: Window,
        seed: str,
        bounds: Sequence[Mapping[int, str]],
        version: str | None,
    ) -> Select[Any]:
        """Take the rows whose md5 is below the bound of their stratum for any of the monitors.

        A row has md5 and id, its segments, then its bucket for each of them, its score for each,
        and so what challengers decided, its group and the probability of release. Most rows are
        above all bounds, which is seen before they are put into strata.
        """
        rows = self.rows(window)
        drawn = self.common.hashed(seed, rows.c.id)
        of_each = [self.placed(rows, index, bound_leaf(of)) for index, of in enumerate(bounds)]
        greatest_of: Any = getattr(func, self.common.table.dialect.greatest or "greatest")
        greatest = of_each[0] if len(of_each) == 1 else greatest_of(*of_each)
        highest = max(bound for of in bounds for bound in of.values())
        below = [] if highest == ALL else [drawn < bound_of(highest)]
        names = (_SCORE, _DECISION, _GROUP, _CHANCE)
        return select(
            *(drawn.label("h"), rows.c.id, *(rows.c[name] for name in self.common.segments)),
            *(self.placed(rows, index, code_of).label(f"bucket_{index}") for index in self.indexes),
            *(
                self.own(rows, name, index).label(f"{name}_{index}")
                for name in names
                for index in self.indexes
            ),
        ).where(*below, drawn < greatest, *of_version(rows, version))

    def draw_by_amount(
        self, window: Window, seed: str, limits: Mapping[int, float], version: str | None
    ) -> Select[Any]:
        """Take the rows of one monitor in proportion to their amounts; columns are as of `draw`."""
        rows = self.rows(window)
        drawn, amount = self.common.hashed(seed, rows.c.id), self.own(rows, _CHANCE, 0)
        limit = self.placed(rows, 0, limit_leaf(limits))
        return select(
            *(drawn.label("h"), rows.c.id, *(rows.c[name] for name in self.common.segments)),
            self.placed(rows, 0, code_of).label("bucket_0"),
            *(
                self.own(rows, name, 0).label(f"{name}_0")
                for name in (_SCORE, _DECISION, _GROUP, _CHANCE)
            ),
        ).where(is_drawn(drawn, amount, limit), *of_version(rows, version))

    def rows(self, window: Window) -> Subquery:
        """Rows of a window with the columns of each monitor, under names with its position."""
        parts = {name: part for name, part in self.common.parts().items() if name not in _OWN}
        for index, scan in enumerate(self.scans):
            of_one = scan.query.parts()
            parts |= {f"{name}_{index}": of_one[name] for name in _OWN if name in of_one}
        return self.common.rows_of(parts, window)

    def _counted(self, window: Window) -> Subquery:
        rows = self.for_each(self.rows(window))
        bucket = self.chosen(rows, [self.placed(rows, index, code_of) for index in self.indexes])
        segments = [rows.c[name] for name in self.common.segments]
        names = ("score_text", _DECISION, "challenger_score", _CHANCE)
        own = (
            self.chosen(rows, [self.own(rows, name, index) for index in self.indexes]).label(name)
            for name in names
            if any(f"{name}_{index}" in rows.c for index in self.indexes)
        )
        return select(
            *(rows.c.k, rows.c.t, rows.c.version, *segments, bucket.label("bucket"), *own)
        ).subquery()

    @staticmethod
    def own(rows: Subquery, name: str, index: int) -> ColumnElement[Any]:
        """Write what its own monitor has; null where it has none."""
        return rows.c[f"{name}_{index}"] if f"{name}_{index}" in rows.c else null()

    def for_each(self, rows: Subquery) -> Subquery:
        """Repeat each row once for every monitor, whose position it has as ``k``."""
        if len(self.scans) == 1:
            return select(*rows.c, code_of(0).label("k")).subquery()
        monitors = union_all(
            *(select(code_of(index).label("k")) for index in self.indexes)
        ).subquery()
        return select(*rows.c, monitors.c.k).select_from(Crossed(rows, monitors)).subquery()

    def chosen(self, rows: Subquery, of_each: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
        """Choose what the monitor of a row has, of what each has."""
        return halved(rows.c.k, [code_of(index) for index in self.indexes[1:]], of_each)

    @property
    def indexes(self) -> range:
        """The positions of the monitors."""
        return range(len(self.scans))

    def placed(self, rows: Subquery, index: int, leaf: Leaf) -> ColumnElement[Any]:
        """Place a row into its stratum for one of the monitors."""
        names = {name: f"{name}_{index}" for name in _OWN}
        own = {name: rows.c.get(named) for name, named in names.items()}
        c = SimpleNamespace(id=rows.c.id, version=rows.c.version, **own)
        scan = self.scans[index]
        return scan.query.placed(c, scan.strata, leaf)


class Crossed(Join):
    """Every row of the left with every one of the right; SQLite reads the left one but once."""

    inherit_cache = False

    def __init__(self, from_clause: FromClause, right: FromClause) -> None:
        super().__init__(from_clause, right, true())


@compiles(Crossed)
def _crossed(join: Crossed, compiler: Any, **options: Any) -> str:
    options["from_linter"] = None  # which looks for products that nobody meant
    left, right = (compiler.process(one, **options) for one in (join.left, join.right))
    return f"{left} CROSS JOIN {right}"


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
    """Whether these monitors and values fit into a statement, and the candidates into memory."""
    return (
        len(scans) <= MOST_MONITORS
        and sum(scan.values for scan in scans) <= MOST_VALUES
        and sum(scan.candidates for scan in scans) <= MOST_CANDIDATES
    )
