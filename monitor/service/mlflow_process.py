"""Deliver to MLflow in a separate process, which ends when nothing is left to deliver.

MLflow's library takes 150 MB and never frees them, and most ticks have nothing for it. For the
store, the process is one more worker: however it ends, its claims are free afterwards, and the
process of the next tick continues.

The first line of standard input names the store and MLflow, as JSON. When standard input ends, the
process ends after the delivery in flight, or after `GRACE`. Standard output has one JSON object per
line: a line to log, or an empty object as a sign of life.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import structlog

from monitor.domain.errors import MonitorError
from monitor.domain.model import MLFLOW
from monitor.domain.ports import utc_now
from monitor.rounds.delivery import deliver
from monitor.service.obstacle_log import take_in_library_logs
from monitor.storage.database import Database
from monitor.storage.outbox import effect_store
from monitor.tracking.mlflow import MlflowHandler, MlflowSettings

if TYPE_CHECKING:
    from monitor.wiring import Application

COMMAND = (sys.executable, "-P", "-m", "monitor.service.mlflow_process")

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals to the service's process group, ignored here: the service says when to stop."""

GRACE = timedelta(seconds=60)
"""Longest time for the delivery in flight once the service is stopping, or gone."""

log = structlog.get_logger("monitor.service.loop")


class MlflowProcess:
    """Starts the process when something is due; at most one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopping = False
        self._task: IO[str] | None = None
        self._was_stopped = False

    def deliver(self, application: Application, beat: Callable[[], None]) -> None:
        """Deliver all due effects of MLflow in a process, and wait for it.

        beat: Called at every sign of life.
        """
        with application.database.read() as connection:
            heads = effect_store.heads(connection, application.clock())
        if not any(head.sink == MLFLOW for head in heads) or (process := self._started()) is None:
            return
        answer = process.stdout
        assert answer is not None  # noqa: S101  it is a pipe
        is_stopped = False
        with suppress(BrokenPipeError), process:  # it may have ended at once
            self._ask(application)
            for line in answer:
                beat()
                if line.endswith("\n"):  # else the process was killed while it wrote
                    is_stopped = _log(line) == "tick stopped" or is_stopped
        if process.returncode:
            log.warning("the process that delivers to MLflow ended", code=process.returncode)
        elif self._was_stopped and not is_stopped:
            log.info("tick goes on", job="mlflow")
        self._was_stopped = is_stopped

    def stop(self) -> None:
        """Begin no further delivery; the one in flight ends first."""
        with self._lock:
            self._stopping = True
            if self._task is not None:  # the end of its input stops the process
                with suppress(BrokenPipeError):
                    self._task.close()
                self._task = None

    def _started(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._stopping:
                return None
            process = subprocess.Popen(  # noqa: S603  nothing of it comes from outside
                COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                # Else `python -m monitor` beside the code would start that of another place.
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            self._task = process.stdin
        return process

    def _ask(self, application: Application) -> None:
        config = application.config
        task = {
            "store": config.store_url,
            "folder": str(config.folder),
            "mlflow": config.mlflow.model_dump_json(),
        }
        with self._lock:
            if self._task is not None:
                print(json.dumps(task), file=self._task, flush=True)


def _log(line: str) -> str | None:
    answer: dict[str, Any] = json.loads(line)
    if not answer:
        return None
    level = logging.getLevelNamesMapping()[answer.pop("level").upper()]
    event: str = answer.pop("event")
    log.log(level, event, **answer)
    return event


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
        self._input = os.fdopen(os.dup(0), "rb", buffering=0)
        self._output = os.dup(1)
        os.dup2(2, 1)  # what libraries print goes to standard error

    def task(self) -> dict[str, str] | None:
        """Read the task; None if the input has ended."""
        line = self._input.readline()
        return dict(json.loads(line)) if line else None

    def over(self) -> threading.Event:
        """Return an event that is set once the service stops; `GRACE` later the process ends."""
        over = threading.Event()

        def wait() -> None:
            self._input.read(1)  # nothing more comes, until it ends
            over.set()
            time.sleep(GRACE.total_seconds())
            os._exit(0)

        threading.Thread(target=wait, name="service", daemon=True).start()
        return over

    def msg(self, line: str) -> None:
        """Write a line to the service, if it is still there."""
        with suppress(BrokenPipeError):
            os.write(self._output, f"{line}\n".encode())

    debug = info = warning = error = critical = exception = msg


if __name__ == "__main__":
    main()
