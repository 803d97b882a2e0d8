"""Segments of a round: sizes and labels per stratum and value, and what each version says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection, select

from monitor.domain.model import Frame
from monitor.domain.report import SegmentRow
from monitor.storage.database import in_chunks, insert_all, put_all
from monitor.storage.labels.round_labels import RoundLabels, count_labels
from monitor.storage.queries import of_version, picked, version_rows
from monitor.storage.tables import (
    segment_counts,
    segment_estimates,
    segment_evidence,
    segment_sizes,
    strata,
)

Name: TypeAlias = "tuple[tuple[str, str], ...]"
"""A segment as column and value, or a pair of such."""


class SegmentEvidence(NamedTuple):
    """Of the flagged and the passed labels of a segment in a round: (labels, errors, expected).

    ``ratios`` are its likelihood ratios (`monitor.stats.detection.worse_segments`), by class too.
    """

    sums: Sequence[Sequence[float]]
    ratios: Sequence[Sequence[float]]


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
        {"stratum": part.stratum.name, "segment": segment, "value": value, "size": size}
        | {"round_id": round_id}
        for part in frame.strata
        for segment, sizes in zip(frame.segment_columns, part.segments, strict=True)
        for value, size in sizes.items()
    ]
    insert_all(connection, segment_sizes, rows)


def current_cells(connection: Connection, round_id: int, labels: RoundLabels) -> list[SegmentCell]:
    """Count the labels of a round as they stand by cell."""
    counts = count_labels(_answers(labels))
    counts |= {cell: of[:2] for cell, of in labels.census.items() if cell.segment}
    return _cells(connection, round_id, counts)


def _answers(labels: RoundLabels) -> Iterator[tuple[tuple[str, str, str], bool]]:
    for item, positive in labels.usable():
        for segment, value in item.segments.items():
            yield (item.stratum, segment, value), positive


def _cells(
    connection: Connection, round_id: int, counts: Mapping[tuple[str, str, str], tuple[int, int]]
) -> list[SegmentCell]:
    """Read the cells of a round with these counts, labeled and positive; the rest have none."""
    query = (
        select(*strata.c["stratum", "flagged"], *segment_sizes.c["segment", "value", "size"])
        .join_from(segment_sizes, strata)
        .where(segment_sizes.c.round_id == round_id)
    )
    cells: list[SegmentCell] = []
    for stratum, flagged, segment, value, size in connection.execute(query):
        labeled, positive = counts.get((stratum, segment, value), (0, 0))
        cells.append(SegmentCell(stratum, flagged, segment, value, size, labeled, positive))
    # Not in SQL, where texts are in the order of each database's locale.
    return sorted(cells, key=lambda cell: (cell.stratum, cell.flagged, cell.segment, cell.value))


def write_counts(
    connection: Connection, round_id: int, version: int, cells: Iterable[SegmentCell]
) -> None:
    """Store the labels of a version, of the cells that have any."""
    names = ("stratum", "segment", "value", "labeled", "positive")
    rows = [picked(cell, names) for cell in cells if cell.labeled]
    insert_all(connection, segment_counts, version_rows({(round_id, version): rows}))


def read_counts(connection: Connection, round_id: int, version: int) -> list[SegmentCell]:
    """Read the cells of a version as `current_cells` gave them."""
    counts = {
        (row.stratum, row.segment, row.value): (row.labeled, row.positive)
        for row in connection.execute(of_version(segment_counts, round_id, version))
    }
    return _cells(connection, round_id, counts)


def put_evidence(
    connection: Connection, round_id: int, evidence: Mapping[Name, SegmentEvidence]
) -> None:
    """Store the evidence of a round on its segments, in place of what was stored before."""
    row = {"round_id": round_id, "evidence": [[name, *both] for name, both in evidence.items()]}
    put_all(connection, segment_evidence, [row])


def read_evidence(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, Mapping[Name, SegmentEvidence]]:
    """Read the same of some rounds, by round; one that closed before it was kept has none."""
    return in_chunks(connection, round_ids, _evidence)


def _evidence(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, Mapping[Name, SegmentEvidence]]:
    query = select(segment_evidence).where(segment_evidence.c.round_id.in_(round_ids))
    return {
        round_id: {
            tuple((column, value) for column, value in name): SegmentEvidence(*both)
            for name, *both in evidence
        }
        for round_id, evidence in connection.execute(query)
    }


def write_estimates(
    connection: Connection, round_id: int, version: int, rows: Iterable[SegmentRow]
) -> None:
    """Store what a version says of the segments."""
    stored = {(round_id, version): [row.model_dump() for row in rows]}
    insert_all(connection, segment_estimates, version_rows(stored))


def read_estimates(connection: Connection, round_id: int, version: int) -> list[SegmentRow]:
    """Read what a version says of the segments, by column, then the largest segment first."""
    rows = connection.execute(of_version(segment_estimates, round_id, version))
    return in_order(SegmentRow(**picked(row, SegmentRow.model_fields)) for row in rows)


def in_order(rows: Iterable[SegmentRow]) -> list[SegmentRow]:
    """Sort rows of segments by column, then the largest segment first."""
    return sorted(rows, key=lambda row: (row.segment, -row.size, row.value, row.metric))
