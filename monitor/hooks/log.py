"""A hook that needs nobody: one line per notice on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import structlog

from monitor.domain.adapters import HookSettings
from monitor.domain.model import Effect
from monitor.domain.visible import clean
from monitor.hooks.context import HookContext, read_notice

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


_CALM = ("alert.resolved", "delivery.recovered", "notice.", "test")  # Begin events that need nobody


class LogSettings(HookSettings):
    """A hook that writes to the log; nothing to set."""

    kind: Literal["log"] = "log"


class LogHandler:
    """Write each notice as one line of logfmt on standard error: the sentence, then its keys."""

    def __init__(self, _: LogSettings, context: HookContext) -> None:
        self._link = context.link

    def deliver(self, effect: Effect) -> str:
        """Write the notice and return its id; a repeat writes the line again."""
        notice = read_notice(effect.payload, self._link)
        logger = _stderr_logger()
        write = logger.info if notice.event.startswith(_CALM) else logger.warning
        # What a log search wants to filter by; figures that are not there are left out.
        keys = notice.model_dump(mode="json", exclude={"sentence", "event"}, exclude_none=True)
        write(clean(notice.sentence), notice=notice.event, **keys)
        return notice.id


def _stderr_logger() -> FilteringBoundLogger:
    """Make a logger that works regardless of the host's setup."""
    logger: FilteringBoundLogger = structlog.wrap_logger(
        structlog.PrintLogger(file=sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(0),
    )
    return logger
