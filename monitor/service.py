"""One pass over all monitors, and the long-running process that repeats it."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import EXIT_TRY_LATER, MonitorError, gravest
from monitor.rounds import steps
from monitor.rounds.dead import bury_orphans
from monitor.rounds.effects import Delivered, deliver
from monitor.rounds.tell import MLFLOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from monitor.domain.ports import EffectHandler
    from monitor.rounds.parts import Parts
    from monitor.wiring import Plant

log = structlog.get_logger("monitor.service")

TICK = timedelta(seconds=60)
"""How often due slots, new labels and waiting effects are looked for."""


@dataclass(slots=True)
class Pass:
    """What one pass met: errors per monitor, and what was delivered."""

    errors: dict[str, MonitorError] = field(default_factory=dict)
    delivered: Delivered = field(default_factory=Delivered)

    @property
    def exit_code(self) -> int:
        """The gravest error's exit code; 75 where only deliveries wait; 0 for all well."""
        if self.errors:
            return gravest(error.exit_code for error in self.errors.values())
        return EXIT_TRY_LATER if self.delivered.failed else 0


def advance_all(
    monitors: Sequence[Parts], *, stopping: Callable[[], bool] = lambda: False
) -> dict[str, MonitorError]:
    """Take every monitor as far as it gets; what stops one does not stop the others."""
    errors: dict[str, MonitorError] = {}
    for parts in monitors:
        if stopping():
            break
        try:
            steps.run(parts)
        except MonitorError as error:
            errors[parts.settings.name] = error
            log.error("monitor stopped", monitor=parts.settings.name, reason=str(error))  # noqa: TRY400
        except Exception as error:
            errors[parts.settings.name] = _bug(error)
            log.exception("monitor stopped by a bug", monitor=parts.settings.name)
    return errors


def _bug(error: Exception) -> MonitorError:
    return MonitorError(f"stopped by a bug, {type(error).__name__}: {error}; the log says where")


def one_pass(plant: Plant, monitors: Sequence[Parts]) -> Pass:
    """Do once what the service does at every tick."""
    errors = advance_all(monitors)
    bury_orphans(plant.database, plant.handlers, plant.clock)
    return Pass(errors, deliver(plant.database, plant.handlers, plant.clock))


def serve(plant: Plant, *, tick: timedelta = TICK) -> None:
    """Run until SIGTERM or SIGINT; a step in flight is finished first.

    APScheduler only ticks. Rounds and notices run in one job, MLflow in another, so that a slow
    MLflow delays no alert. What is due comes from the store, so a late or lost tick loses nothing.
    """
    from apscheduler.schedulers.background import BackgroundScheduler  # noqa: PLC0415

    asked = _signals()
    stop = threading.Event()
    scheduler = BackgroundScheduler(timezone="UTC")
    jobs = {"rounds": lambda: _rounds(plant, stop), "mlflow": lambda: _mlflow(plant, stop)}
    for name, job in jobs.items():
        scheduler.add_job(
            _guarded(name, job),
            "interval",
            seconds=tick.total_seconds(),
            id=name,
            next_run_time=plant.clock(),
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
        )
    scheduler.start()
    log.info("serving", monitors=[parts.settings.name for parts in plant.monitors])
    number = asked.get()
    stop.set()
    log.info("stopping: finishing the step in flight", signal=signal.Signals(number).name)
    scheduler.shutdown(wait=True)
    plant.database.close()
    log.info("stopped")


def _rounds(plant: Plant, stop: threading.Event) -> None:
    advance_all(plant.monitors, stopping=stop.is_set)
    bury_orphans(plant.database, plant.handlers, plant.clock)
    deliver(plant.database, _sinks(plant, mlflow=False), plant.clock, stopping=stop.is_set)


def _mlflow(plant: Plant, stop: threading.Event) -> None:
    deliver(plant.database, _sinks(plant, mlflow=True), plant.clock, stopping=stop.is_set)


def _sinks(plant: Plant, *, mlflow: bool) -> dict[str, EffectHandler]:
    return {sink: handler for sink, handler in plant.handlers.items() if (sink == MLFLOW) == mlflow}


def _guarded(name: str, job: Callable[[], None]) -> Callable[[], None]:
    """Keep ticking whatever a job meets; the next tick starts from what the store says."""

    def run() -> None:
        try:
            job()
        except MonitorError as error:
            log.warning("tick stopped", job=name, reason=str(error))
        except Exception:
            log.exception("tick failed", job=name)

    return run


def _signals() -> SimpleQueue[int]:
    """Give the signals that ask to stop; a second one ends the process at once.

    A handler runs between any two steps of the main thread, so it must take no lock that the
    thread may hold, be it the log's or an Event's; ``put`` of this queue is made for that.
    """
    asked: SimpleQueue[int] = SimpleQueue()

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.put(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return asked
