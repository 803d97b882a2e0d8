"""Delivering to MLflow outside of the service's own process.

MLflow's library takes 150 MB and never returns them, and most ticks have nothing for it. So
whenever something is due, a process is started that delivers it and ends
(`monitor.service.mlflow_child`). If that one is killed, or MLflow's library ends it, the service
goes on, and the next tick starts another.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import structlog

from monitor.domain.model import MLFLOW
from monitor.storage.outbox import effect_store

if TYPE_CHECKING:
    from monitor.wiring import Application

COMMAND = (sys.executable, "-P", "-m", "monitor.service.mlflow_child")

log = structlog.get_logger("monitor.service.loop")


class MlflowProcess:
    """Starts the process when something is due; at most one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopping = False
        self._task: IO[str] | None = None
        self._was_stopped = False

    def deliver(self, application: Application, beat: Callable[[], None]) -> None:
        """Have all that is due for MLflow delivered, and wait until it is.

        beat: Called at every sign of life.
        """
        if not _is_due(application) or (process := self._started()) is None:
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
            if self._task is not None:  # by the end of its input the process knows of it
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


def _is_due(application: Application) -> bool:
    with application.database.read() as connection:
        heads = effect_store.heads(connection, application.clock())
    return any(head.sink == MLFLOW for head in heads)


def _log(line: str) -> str | None:
    """Log what the process has to say as the service's own line; return the event, if any."""
    answer: dict[str, Any] = json.loads(line)
    if not answer:
        return None
    level = logging.getLevelNamesMapping()[answer.pop("level").upper()]
    event: str = answer.pop("event")
    log.log(level, event, **answer)
    return event
