"""Log lines of commands: on standard error, so that output stays clean."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

SAID_BY_COMMANDS = frozenset(
    {"alerts not kept up", "monitor stopped", "not delivered", "round waits"}
)
"""Events that a command which ends reports by itself, in its own words."""


def set_up_logs(*, service: bool = False, json: bool = False) -> None:
    """Send log lines to standard error.

    Parameters
    ----------
    service
        Log everything: nobody reads what a service prints.
    json
        Write each line as JSON; else for people on a terminal and as logfmt elsewhere.
    """
    processors: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        *_renderers(json=json),
    ]
    structlog.configure(
        processors=processors if service else [_without_what_commands_say, *processors],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
    if service:
        _take_in_other_logs()


class _Passed(logging.Handler):
    """Write what libraries log as our lines, so that a reader of the log meets one form."""

    def emit(self, record: logging.LogRecord) -> None:
        trace = {"exc_info": record.exc_info} if record.exc_info else {}
        logger = structlog.get_logger()
        logger.log(record.levelno, record.getMessage(), logger=record.name, **trace)


def _take_in_other_logs() -> None:
    logging.basicConfig(handlers=[_Passed()], level=logging.WARNING, force=True)
    for name in ("apscheduler", "uvicorn"):  # a tick that finds the last one at work is no news
        logging.getLogger(name).setLevel(logging.ERROR)


def _renderers(*, json: bool) -> list[Processor]:
    if sys.stderr.isatty() and not json:
        return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    if json:
        last: Processor = structlog.processors.JSONRenderer()
    else:
        last = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"])
    return [structlog.processors.format_exc_info, last]


def _without_what_commands_say(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    if event.get("event") in SAID_BY_COMMANDS:
        raise structlog.DropEvent
    return event
