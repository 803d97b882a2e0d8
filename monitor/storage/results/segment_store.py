"""Segments of a round: sizes and labels per stratum and value, and what each version says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Table, insert, select

from monitor.domain.model import Answer, Frame
from monitor.domain.report import SegmentRow
from monitor.storage.tables import segment_counts, segment_estimates, segment_sizes, strata

if TYPE_CHECKING:
    from monitor.storage.labels.round_labels import RoundLabels


@dataclass(frozen=True, slots=True)
class SegmentCell:
    """The items of one stratum that have one value of a segment column, and their labels."""

    stratum: str
    flagged: bool
    segment: str
    value: str
    size: int
    labeled: int
    positive: int


def write_sizes(connection: Connection, round_id: int, frame: Frame) -> None:
    """Write how many items of each stratum have each value of the segment columns."""
    rows = [
        {
            "round_id": round_id,
            "stratum": part.stratum.name,
            "segment": segment,
            "value": value,
            "size": size,
        }
        for part in frame.strata
        for segment, sizes in zip(frame.segment_columns, part.segments, strict=True)
        for value, size in sizes.items()
    ]
    _insert(connection, segment_sizes, rows)


def current_cells(connection: Connection, round_id: int, labels: RoundLabels) -> list[SegmentCell]:
    """Count the labels of a round as they stand, cell by cell; none without segment columns."""
    sizes = _sizes(connection, round_id)
    if not sizes:
        return []
    labeled: dict[tuple[str, str, str], list[Answer]] = {}
    for item in labels.items:
        answer = labels.current.get(item.id, Answer.CANNOT_TELL)
        if answer is not Answer.CANNOT_TELL:
            for segment, value in item.segments.items():
                labeled.setdefault((item.stratum, segment, value), []).append(answer)
    return [_cell(size, labeled.get((size[0], size[2], size[3]), [])) for size in sizes]


def _sizes(connection: Connection, round_id: int) -> list[tuple[str, bool, str, str, int]]:
    """Read stratum, class, segment, value and size, in an order that never changes."""
    query = (
        select(strata.c.stratum, strata.c.flagged, *segment_sizes.c["segment", "value", "size"])
        .join(
            strata,
            (strata.c.round_id == segment_sizes.c.round_id)
            & (strata.c.stratum == segment_sizes.c.stratum),
        )
        .where(segment_sizes.c.round_id == round_id)
    )
    results = [
        (str(a), bool(b), str(c), str(d), int(n)) for a, b, c, d, n in connection.execute(query)
    ]
    return sorted(results)  # not in SQL, where texts are in the order of each database's locale


def _cell(of: tuple[str, bool, str, str, int], answers: Sequence[Answer]) -> SegmentCell:
    return SegmentCell(*of, labeled=len(answers), positive=answers.count(Answer.POSITIVE))


def write_counts(
    connection: Connection, round_id: int, version: int, cells: Iterable[SegmentCell]
) -> None:
    """Store the labels of a version, of the cells that have any."""
    retained = ("stratum", "segment", "value", "labeled", "positive")
    rows = [
        {
            "round_id": round_id,
            "version": version,
            **{name: getattr(cell, name) for name in retained},
        }
        for cell in cells
        if cell.labeled
    ]
    _insert(connection, segment_counts, rows)


def read_counts(connection: Connection, round_id: int, version: int) -> list[SegmentCell]:
    """Read the cells of a version as `current_cells` gave them."""
    query = select(segment_counts).where(
        segment_counts.c.round_id == round_id, segment_counts.c.version == version
    )
    labels = {
        (row.stratum, row.segment, row.value): (row.labeled, row.positive)
        for row in connection.execute(query)
    }
    return [
        SegmentCell(*size, *labels.get((size[0], size[2], size[3]), (0, 0)))
        for size in _sizes(connection, round_id)
    ]


def write_estimates(
    connection: Connection, round_id: int, version: int, rows: Iterable[SegmentRow]
) -> None:
    """Store what a version says of the segments."""
    _insert(
        connection,
        segment_estimates,
        [{"round_id": round_id, "version": version, **row.model_dump()} for row in rows],
    )


def read_estimates(connection: Connection, round_id: int, version: int) -> list[SegmentRow]:
    """Read what a version says of the segments, by column, then the largest segment first."""
    query = select(segment_estimates).where(
        segment_estimates.c.round_id == round_id, segment_estimates.c.version == version
    )
    rows = [
        SegmentRow.model_validate({name: row._mapping[name] for name in SegmentRow.model_fields})
        for row in connection.execute(query)
    ]
    return in_order(rows)


def in_order(rows: Iterable[SegmentRow]) -> list[SegmentRow]:
    """Sort rows of segments by column, then the largest segment first."""
    return sorted(rows, key=lambda row: (row.segment, -row.size, row.value, row.metric))


def _insert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
