"""Formats of label files beside CSV and lines of JSON, each by an entry point of its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import IO, Any, NamedTuple, Protocol, cast

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

_XLSX = "xlsx"


class SheetCell(NamedTuple):
    """What a cell holds; of a formula its text, not its value."""

    value: Any = None
    is_formula: bool = False

    def is_empty(self) -> bool:
        """Whether nobody wrote anything in it."""
        return self.value is None or not str(self.value).strip()


SheetRow = tuple[SheetCell, ...]


class Workbooks(Protocol):
    """Label files as a spreadsheet stores them; ``LONGEST_TEXT`` is what a cell may hold."""

    LONGEST_TEXT: int

    def check_installed(self) -> None:
        """Refuse the format if nothing here can write it."""

    def workbook_bytes(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
        """Write a workbook of one sheet."""

    def sheet_rows(self, name: str, stream: IO[bytes], most: int) -> list[SheetRow]:
        """Rows of the only sheet, empty ones too. Raises `LabelsRefused` if it is no workbook."""

    def is_whole(self, stream: IO[bytes], most: int) -> bool:
        """Whether a workbook has its end and all between."""


class ToolRows(Protocol):
    """Lines of JSON as a labeling tool reads and writes them, known by their fields."""

    def row(self, task: Task, text: str, question: str | None) -> dict[str, Any]:
        """Make the row of a task."""

    def key(self, row: Mapping[str, Any]) -> object:
        """Key of the task that a row is about; None if it is no row of this tool."""

    def answers(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Answers in a row as our rows. Raises `LabelsRefused` if it holds something else."""

    def blanked(self, row: Mapping[str, Any], retained: Collection[str]) -> dict[str, Any]:
        """Leave of a row its key, answers and people."""


@cache
def formats() -> dict[str, Any]:
    """Load the formats of this package by their names, all at once; no other package adds one."""
    entries = entry_points(group="pr_monitor.label_formats")
    return {each.name: each.load() for each in entries if each.value.startswith("monitor.plugins.")}


def _format(name: str) -> Any:
    if name not in formats():
        message = f"the format {name} is missing here; install mlflow-pr-monitor again"
        raise LabelsRefused(message)
    return formats()[name]


def workbooks() -> Workbooks:
    """Return what reads and writes workbooks."""
    return cast("Workbooks", _format(_XLSX))


def tool(format: str) -> ToolRows:
    """Return the rows of the tool that a format is named for."""
    return cast("ToolRows", _format(format))


def tool_of(row: Mapping[str, Any]) -> ToolRows | None:
    """Find the tool that wrote a row; None if none did."""
    tools = (tool(name) for name in formats() if name != _XLSX)
    return next((one for one in tools if one.key(row) is not None), None)
