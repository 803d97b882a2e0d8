"""Log lines of commands: on standard error, so that output stays clean."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from monitor.domain.masking import masked

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

COMMAND_OUTPUT = frozenset(
    {"alerts not kept up", "delivered again", "monitor stopped", "not delivered", "round waits"}
)
"""Events that a command which ends reports by itself, in its own words."""


def set_up_logs(*, service: bool = False, json: bool = False) -> None:
    """Send log lines to standard error: short ones on a terminal, else logfmt, or JSON.

    A ``service`` logs everything, since nobody reads what it prints, but an obstacle only when it
    begins, changes or ends.
    """
    # None if the parent process closed it.
    stream = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for_people = stream.isatty() and not json
    processors: list[Processor] = [
        _without_command_output,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(
            fmt="%H:%M:%S" if for_people else "iso", utc=not for_people
        ),
        structlog.processors.format_exc_info,
        _without_secrets,
        _renderer(for_people=for_people, json=json),
    ]
    if service:
        from monitor.service.obstacle_log import ObstacleFilter, take_in_library_logs

        processors[0] = ObstacleFilter()
        take_in_library_logs()
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(stream),
    )


def _renderer(*, for_people: bool, json: bool) -> Processor:
    if for_people:
        return structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    if json:
        return structlog.processors.JSONRenderer()
    return structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"])


def _without_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Take out what looks like a secret: tracebacks and libraries quote what they were given."""
    return {
        name: masked(value) if isinstance(value, str) else value for name, value in event.items()
    }


def _without_command_output(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    if event.get("event") in COMMAND_OUTPUT:
        raise structlog.DropEvent
    return event
