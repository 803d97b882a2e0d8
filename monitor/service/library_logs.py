"""What libraries log, in the program's own format, so that the log has one form."""

from __future__ import annotations

import logging

import structlog


class _Passed(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        trace = {"exc_info": record.exc_info} if record.exc_info else {}
        logger = structlog.get_logger()
        logger.log(record.levelno, record.getMessage(), logger=record.name, **trace)


def take_in_library_logs() -> None:
    """Log from now on what libraries warn of."""
    logging.basicConfig(handlers=[_Passed()], level=logging.WARNING, force=True)
    for name in ("apscheduler", "uvicorn"):  # a tick that finds the last one at work is no news
        logging.getLogger(name).setLevel(logging.ERROR)
