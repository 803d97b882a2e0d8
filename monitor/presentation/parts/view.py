"""What is shown and logged of one part of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter

from monitor.domain.report import RoundReport
from monitor.domain.setting_types import Ends
from monitor.presentation.section import Section

RowT = TypeVar("RowT")


class LoggedTable(NamedTuple):
    """A table in the form that MLflow's table view reads."""

    columns: list[str]
    data: list[list[Any]]


class PartView(Generic[RowT]):
    """A part of a report, for its readers; `monitor.rounds.parts` computes it under the same name.

    name: Its key in the JSON of a report.
    kind: The type of its value.
    empty: Its value in a report that does not have the part.
    """

    name: ClassVar[str]
    kind: ClassVar[Any]
    empty: ClassVar[Any] = None

    def of(self, report: RoundReport) -> RowT:
        """Read its value from a report, whether just computed or stored as JSON."""
        value = report.parts.get(self.name)
        row: RowT = self.empty if value is None else _reader(self.kind).validate_python(value)
        return row

    def section(self, report: RoundReport) -> Section | None:  # noqa: ARG002
        """Lay out its own section; None if it has none."""
        return None

    def lines(self, report: RoundReport) -> Iterable[str]:  # noqa: ARG002
        """Return its lines under the counts."""
        return ()

    def figures(self, report: RoundReport) -> Mapping[str, float]:  # noqa: ARG002
        """Return the numbers that MLflow logs as metrics, by name."""
        return {}

    def tables(self, report: RoundReport) -> Mapping[str, LoggedTable]:  # noqa: ARG002
        """Return the tables that MLflow shows, by file name."""
        return {}


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def with_ends(name: str, ends: Ends | None) -> dict[str, float]:
    """Name a point and its ends as MLflow's metrics; empty without a value."""
    names = (name, f"{name}_low", f"{name}_high")
    return {} if ends is None else dict(zip(names, ends, strict=True))
