"""Delivering to MLflow in its own process, which ends when nothing is left to deliver.

    python -m monitor.service.mlflow_child

The service starts it (`monitor.service.mlflow_process`). The first line of standard input says
which store and which MLflow, as JSON; when standard input ends, so does the process, after the
delivery in flight if that comes to an end. Standard output is one JSON object a line: what is to
be logged, or an empty one as a sign of life. To the store this is one more worker: however it
ends, its claims are free then, and the next one goes on with what remains.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import structlog

from monitor.domain.errors import MonitorError
from monitor.domain.model import MLFLOW
from monitor.domain.ports import utc_now
from monitor.rounds.delivery.deliver import deliver
from monitor.service.obstacle_log import take_in_library_logs
from monitor.storage.database import Database
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
"""Those to the service, which all of its group may get; it says itself when to stop."""

GRACE = timedelta(seconds=60)
"""How long the delivery in flight may go on once the service is stopping, or gone. What hangs for
longer is abandoned, as the service does with its own steps: nobody would end it otherwise."""

log = structlog.get_logger("monitor.service.loop")


def main() -> None:
    """Deliver what is due, then end."""
    for name in _SIGNALS:
        if (signal_number := getattr(signal, name, None)) is not None:
            signal.signal(signal_number, signal.SIG_IGN)
    service = Service()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        logger_factory=lambda *_: service,
    )
    take_in_library_logs()
    if (task := service.task()) is None:  # it was asked to stop just now
        return
    try:
        _deliver(task, service)
    except MonitorError as error:
        log.warning("tick stopped", job="mlflow", reason=str(error))
    except Exception:
        log.exception("tick failed", job="mlflow")


def _deliver(task: dict[str, str], service: Service) -> None:
    settings = MlflowSettings.model_validate_json(task["mlflow"])
    handler = MlflowHandler(settings, Path(task["folder"]))
    over = service.over()

    def stopping() -> bool:
        service.msg("{}")  # asked before each delivery: it goes on
        return over.is_set()

    database = Database(task["store"])
    deliver(database, {MLFLOW: handler}, utc_now, stopping=stopping)
    database.close()


class Service:
    """The service on the other side of standard input and output, which may be gone any time."""

    def __init__(self) -> None:
        self._given = os.fdopen(os.dup(0), "rb", buffering=0)
        self._told = os.dup(1)
        os.dup2(2, 1)  # what libraries print goes to standard error

    def task(self) -> dict[str, str] | None:
        """Read what is to be done; None if there is nothing any more."""
        line = self._given.readline()
        return dict(json.loads(line)) if line else None

    def over(self) -> threading.Event:
        """Give what is set once the service is stopping, or gone; some time later, end."""
        over = threading.Event()

        def wait() -> None:
            self._given.read(1)  # nothing more comes, until it ends
            over.set()
            time.sleep(GRACE.total_seconds())
            os._exit(0)

        threading.Thread(target=wait, name="service", daemon=True).start()
        return over

    def msg(self, line: str) -> None:
        """Report it a line, if it is there to hear it."""
        with suppress(BrokenPipeError):
            os.write(self._told, f"{line}\n".encode())

    debug = info = warning = error = critical = exception = msg


if __name__ == "__main__":
    main()
