"""What commands share: options, opening the config and the store, and printing."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monitor.wiring import Plant

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", help="The config file.", envvar="PR_MONITOR_CONFIG")
]
CONFIG = Path("config.yaml")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
MonitorOption = Annotated[
    str | None, typer.Option("--monitor", "-m", help="Only this monitor.", metavar="NAME")
]


def open_plant(config: Path, *, make_store: bool = True) -> Plant:
    """Read the config and open its store, making the tables of a new one.

    Raises
    ------
    ConfigRefused
        If the config, or the store's schema, is not right.
    """
    from monitor.config import load_config
    from monitor.storage import schema
    from monitor.wiring import build

    set_up_logs()
    plant = build(load_config(config))
    if make_store:
        schema.ready(plant.database)
    else:
        schema.check(plant.database)
    return plant


def set_up_logs() -> None:
    """Send log lines to standard error, so that output stays clean."""
    import structlog

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
            if sys.stderr.isatty()
            else structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )


def say(text: str) -> None:
    """Print a line to standard output."""
    print(text)  # noqa: T201


def say_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, default=_plain, indent=2, ensure_ascii=False))  # noqa: T201


def say_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: str = "") -> None:
    """Print a table; columns named in ``right`` (by position, ``"023"``) are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if str(place) in right else "left")
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table, markup=False) if console.is_terminal else Console(width=160).print(table)


def parse_time(text: str) -> datetime:
    """Read a date or a time from the command line; without a zone it is UTC.

    Raises
    ------
    typer.BadParameter
        If it is neither.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not a date or time; write 2025-03-31 or 2025-03-31T06:00+02:00"
        raise typer.BadParameter(message) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def minute(at: datetime | None) -> str:
    """Say a time to the minute, in UTC."""
    return "-" if at is None else f"{at:%Y-%m-%d %H:%M}"


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    message = f"{type(value).__name__} cannot be printed as JSON"
    raise TypeError(message)
