"""What documents are made of: titled sections of tables and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from monitor.presentation.table import Table


class SectionKind(StrEnum):
    """What a section is about; code asks for this, not for the title.

    A section of a part has the name of the part as its kind (`monitor.presentation.parts`).
    """

    ATTENTION = "attention"
    CAUSES = "causes"
    EVIDENCE = "evidence"
    ESTIMATES = "estimates"
    COUNTS = "counts"
    CLASSES = "classes"
    NEXT_ROUND = "next_round"
    ALERTS = "alerts"
    CHANGES = "changes"


class Section(NamedTuple):
    """Tables under a title, then lines that explain them."""

    kind: str
    title: str
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()


def section_parts(sections: Iterable[Section]) -> Iterator[str | Table]:
    """Return sections as parts of a document, each after an empty line; counts go to the right."""
    for section in sections:
        yield ""
        yield section.title
        for index, table in enumerate(section.tables):
            if index:
                yield ""
            if table.title:
                yield f"  {table.title}"
            yield table._replace(right=table.numbers)
            yield from table.lines
        yield from section.lines
