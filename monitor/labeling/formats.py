"""Formats of label files beside CSV and lines of JSON, each by an entry point of its name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import IO, Any, NamedTuple, Protocol, cast

import structlog

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task

log = structlog.get_logger("monitor.labels")

_GROUP = "pr_monitor.label_formats"
_XLSX = "xlsx"


class SheetCell(NamedTuple):
    """What a cell holds; of a formula not what it comes to."""

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
def _named() -> dict[str, EntryPoint]:
    """Find the formats by their names; of two of one name ours counts."""
    entries = entry_points(group=_GROUP)
    ours = (entry for entry in entries if entry.value.startswith("monitor.plugins."))
    return {entry.name: entry for entry in (*entries, *ours)}


@cache
def _format(name: str) -> Any:
    if name not in _named():
        message = f"the format {name} is missing here; install mlflow-pr-monitor again"
        raise LabelsRefused(message)
    return _named()[name].load()


@cache
def _tools() -> list[ToolRows]:
    """Load all formats of tools; what cannot be loaded of other packages is told and left out."""
    tools: list[ToolRows] = []
    for name, entry in _named().items():
        try:
            tools += [tool(name)] if name != _XLSX else []
        except (Exception, SystemExit) as error:  # noqa: BLE001  code of others may fail in any way
            package = "a package" if entry.dist is None else f"package {entry.dist.name}"
            reason = f"{type(error).__name__}: {error}"
            log.warning("label format left out", format=name, of=package, reason=reason)
    return tools


def load_all() -> None:
    """Load all formats: no two threads are to be the first to import one."""
    _tools()
    if _XLSX in _named():
        workbooks()


def workbooks() -> Workbooks:
    """Return what reads and writes workbooks."""
    return cast("Workbooks", _format(_XLSX))


def tool(format: str) -> ToolRows:
    """Return the rows of the tool that a format is named for."""
    return cast("ToolRows", _format(format))


def tool_of(row: Mapping[str, Any]) -> ToolRows | None:
    """Find the tool that wrote a row; None if none did."""
    return next((one for one in _tools() if one.key(row) is not None), None)
