"""Further formats of label files, beside CSV and JSON lines; entry points of their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import IO, Any, NamedTuple, Protocol, cast

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

_XLSX = "xlsx"


class SheetCell(NamedTuple):
    """Content of a cell; for a formula, its text instead of its value."""

    value: Any = None
    is_formula: bool = False

    def is_empty(self) -> bool:
        """Whether the cell has no text but blanks."""
        return self.value is None or not str(self.value).strip()


SheetRow = tuple[SheetCell, ...]


class Workbooks(Protocol):
    """Label files as workbooks; ``LONGEST_TEXT`` is the most characters of a cell."""

    LONGEST_TEXT: int

    def check_installed(self) -> None:
        """Raise an error if the library for the format is not installed."""

    def workbook_bytes(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
        """Return a workbook with one sheet."""

    def sheet_rows(self, name: str, stream: IO[bytes], most: int) -> list[SheetRow]:
        """Return all rows of the only sheet; raises `LabelsRefused` if it is not a workbook."""

    def is_whole(self, stream: IO[bytes], most: int) -> bool:
        """Whether a workbook is complete."""


class ToolRows(Protocol):
    """JSON lines of a labeling tool, recognized by their fields."""

    def row(self, task: Task, text: str, question: str | None) -> dict[str, Any]:
        """Return the row of a task."""

    def key(self, row: Mapping[str, Any]) -> object:
        """Return the task key of a row; None if the row is not from this tool."""

    def answers(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the answers of a row as our rows; raises `LabelsRefused` for other content."""

    def blanked(self, row: Mapping[str, Any], retained: Collection[str]) -> dict[str, Any]:
        """Return a row with only its key, answers and annotators."""


@cache
def formats() -> dict[str, Any]:
    """Load all formats of this package by name; other packages cannot add formats."""
    entries = entry_points(group="pr_monitor.label_formats")
    return {each.name: each.load() for each in entries if each.value.startswith("monitor.plugins.")}


def _format(name: str) -> Any:
    if name not in formats():
        message = f"the format {name} is missing here; install mlflow-pr-monitor again"
        raise LabelsRefused(message)
    return formats()[name]


def workbooks() -> Workbooks:
    """Return the reader and writer of workbooks."""
    return cast("Workbooks", _format(_XLSX))


def tool(format: str) -> ToolRows:
    """Return the tool of a format."""
    return cast("ToolRows", _format(format))


def tool_of(row: Mapping[str, Any]) -> ToolRows | None:
    """Return the tool that wrote a row; None if it is from no known tool."""
    tools = (tool(name) for name in formats() if name != _XLSX)
    return next((one for one in tools if one.key(row) is not None), None)
