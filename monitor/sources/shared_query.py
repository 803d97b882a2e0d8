"""SQL that counts and draws for several monitors of one table, and reads each row once.

For counts, each row is repeated for every monitor; ``k`` is the monitor's position.
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
"""Parts of a row that differ between monitors; all others are common to them."""

MOST_MONITORS = 100  # of one reading, since SQLite compares at most 127 bounds
MOST_VALUES = 10_000  # of a statement; every database accepts this number

MOST_CANDIDATES = 250_000
"""Most candidates of one reading, about 100 bytes each; 30 monitors need fewer once their strata
are known."""


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """Builds statements for monitors whose queries differ only in how they decide the class."""

    scans: Sequence[Scan]

    @property
    def common(self) -> Query:
        """Query for the common parts: any monitor's will do."""
        return self.scans[0].query

    def tally(self, window: Window) -> Select[Any]:
        """Count rows by monitor, bucket and model version, with newest times for the first monitor.

        Columns: monitor, bucket, version, rows, newest time, an unreadable score; then, if any
        monitor has them, the challenger's decisions, and `buckets.Chances`.
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
        """Select the rows whose md5 is below the bound of their stratum for any monitor.

        Columns: md5, id and segments; then, each once per monitor, bucket, score, the challenger's
        decision, group and probability or amount. Most rows are above all bounds, and are excluded
        before their strata are computed.
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
        """Select rows of one monitor in proportion to their amounts; columns as in `draw`."""
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
        """Select the rows of a window; names of each monitor's columns end with its position."""
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
        """Return the column of a monitor; null if it has none."""
        return rows.c[f"{name}_{index}"] if f"{name}_{index}" in rows.c else null()

    def for_each(self, rows: Subquery) -> Subquery:
        """Repeat each row for every monitor, with its position as ``k``."""
        if len(self.scans) == 1:
            return select(*rows.c, code_of(0).label("k")).subquery()
        monitors = union_all(
            *(select(code_of(index).label("k")) for index in self.indexes)
        ).subquery()
        return select(*rows.c, monitors.c.k).select_from(Crossed(rows, monitors)).subquery()

    def chosen(self, rows: Subquery, of_each: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
        """Choose, among expressions by monitor, the one of a row's monitor."""
        return halved(rows.c.k, [code_of(index) for index in self.indexes[1:]], of_each)

    @property
    def indexes(self) -> range:
        """The positions of the monitors."""
        return range(len(self.scans))

    def placed(self, rows: Subquery, index: int, leaf: Leaf) -> ColumnElement[Any]:
        """Write the leaf of a row's bucket for one of the monitors."""
        names = {name: f"{name}_{index}" for name in _OWN}
        own = {name: rows.c.get(named) for name, named in names.items()}
        c = SimpleNamespace(id=rows.c.id, version=rows.c.version, **own)
        scan = self.scans[index]
        return scan.query.placed(c, scan.strata, leaf)


class Crossed(Join):
    """A cross join; SQLite reads the left side only once."""

    inherit_cache = False

    def __init__(self, from_clause: FromClause, right: FromClause) -> None:
        super().__init__(from_clause, right, true())


@compiles(Crossed)
def _crossed(join: Crossed, compiler: Any, **options: Any) -> str:
    options["from_linter"] = None  # it warns of cartesian products, but this one is intended
    left, right = (compiler.process(one, **options) for one in (join.left, join.right))
    return f"{left} CROSS JOIN {right}"


def readings_of(scans: Iterable[Scan]) -> Iterator[list[Scan]]:
    """Group the scans of a table into readings.

    Only monitors with the same segments can share one.
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
    """Whether the monitors and values fit in a statement, and the candidates in memory."""
    return (
        len(scans) <= MOST_MONITORS
        and sum(scan.values for scan in scans) <= MOST_VALUES
        and sum(scan.candidates for scan in scans) <= MOST_CANDIDATES
    )
