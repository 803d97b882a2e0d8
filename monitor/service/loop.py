"""One pass over all monitors, and the long-running process that repeats it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import EXIT_INPUT, EXIT_TRY_LATER, MonitorError, StoppedByBug, gravest
from monitor.domain.model import MLFLOW, WaitingSink
from monitor.domain.ports import EffectHandler
from monitor.rounds.claims import let_claims_run_out
from monitor.rounds.context import MonitorContext
from monitor.rounds.delivery import Delivered, deliver, retire_orphans
from monitor.rounds.opening.removed_monitors import end_removed_monitors, forget_removed_monitors
from monitor.service import signals
from monitor.service.change_detection import ChangeDetector, MonitorScan, last_ones
from monitor.service.imports import broken_import, end_for, import_for_workers
from monitor.service.mlflow_process import MlflowProcess
from monitor.service.runtime import Running
from monitor.service.shared_reads import SharedScans
from monitor.service.web.health import Heartbeat
from monitor.service.worker_pool import MonitorPool
from monitor.storage.outbox import effect_store
from monitor.wiring import Application

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

    from monitor.service.pages.serving import PagesServer
    from monitor.service.shared_reads import Around
    from monitor.service.web.server import WebServer

log = structlog.get_logger("monitor.service.loop")

TICK = timedelta(seconds=60)  # Between checks for due slots, new labels and waiting effects
CLOCK_CHECK = timedelta(seconds=20)  # Between checks that no clock set back stopped the ticks
CHANGES = timedelta(seconds=5)  # Longest wait of a notice during a pass over many monitors
GRACE = timedelta(seconds=60)  # For steps in flight at a stop; systemd kills after twice that


@dataclass(slots=True)
class Pass:
    """Result of one pass: errors by monitor, deliveries, and dead queues."""

    errors: dict[str, MonitorError] = field(default_factory=dict)
    delivered: Delivered = field(default_factory=Delivered)
    dead: list[WaitingSink] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The gravest error's exit code; 75 if only deliveries wait; else 0."""
        if self.errors:
            return gravest(error.exit_code for error in self.errors.values())
        return EXIT_TRY_LATER if self.delivered.failed or self.dead else 0


def advance(context: MonitorContext, around: Around = nullcontext) -> MonitorError | None:
    """Run all due steps of a monitor; logs and returns the error that stops it.

    around: Context manager of the run; its error stops the monitor too.
    """
    name = context.settings.name
    try:
        from monitor.rounds import run  # noqa: PLC0415  scipy takes half a second

        with around(context):
            run.run(context)
    except MonitorError as error:
        passes = error.exit_code in {EXIT_INPUT, EXIT_TRY_LATER}  # what it waits for may come
        write = log.warning if passes else log.error
        write("monitor stopped", monitor=name, reason=str(error))
        return error
    except Exception as error:
        log.exception("monitor stopped by a bug", monitor=name)
        return StoppedByBug.of(error)
    return None


def tidy(application: Application) -> None:
    """Clean up after hooks and monitors that the config no longer has."""
    retire_orphans(application.database, application.handlers, application.clock)
    end_removed_monitors(application.database, application.names, application.clock)
    forget_removed_monitors(application.database, application.names, application.clock)


def deliver_all(application: Application) -> Delivered:
    """Deliver all that is due, to MLflow and to every hook."""
    return deliver(
        application.database, application.handlers, application.clock, link=application.link
    )


def one_pass(
    application: Application,
    monitors: Sequence[MonitorContext],
    *,
    idle: ChangeDetector | None = None,
    before_check: Callable[[MonitorContext], None] = lambda _: None,
) -> Pass:
    """Run one pass, as the service does at every tick.

    Rounds that ended another worker are tried last, when all else is done and delivered.

    idle: Knows which monitors need no check; without it all are checked.
    before_check: Called with each monitor before its check.
    """
    idle = idle or ChangeDetector(application.database, application.clock)
    others, interrupted = last_ones(idle.needed(monitors))
    errors = _check(idle, others, before_check)
    tidy(application)
    delivered = deliver_all(application)
    if interrupted:
        errors |= _check(idle, interrupted, before_check)
        delivered.add(deliver_all(application))
    idle.keep()
    names = {context.settings.name for context in monitors}
    with application.database.read() as connection:
        waiting = effect_store.find_waiting(connection)
    dead = [effect for effect in waiting if effect.dead and effect.monitor in names]
    return Pass(errors, delivered, dead)


def _check(
    idle: ChangeDetector,
    checks: Sequence[MonitorScan],
    before_check: Callable[[MonitorContext], None],
) -> dict[str, MonitorError]:
    """Check monitors, and record the results; returns the errors by monitor.

    An error of one monitor does not stop the others.
    """
    around = SharedScans([scan.context for scan in checks]).shared
    errors: dict[str, MonitorError] = {}
    for scan in checks:
        before_check(scan.context)
        error = advance(scan.context, around)
        if error is not None:
            errors[scan.context.settings.name] = error
        idle.record_check(scan, well=error is None)
    return errors


def serve(
    application: Application,
    *,
    path: Path | None = None,
    tick: timedelta = TICK,
    grace: timedelta = GRACE,
) -> None:
    """Run until SIGTERM or SIGINT; SIGHUP reads the config again.

    Rounds, notices and MLflow have a loop each, so that neither many monitors nor a slow MLflow
    delay an alert. APScheduler only ticks: what is due comes from the store.

    grace: How long to wait for steps in flight when asked to stop. What is still going on then is
        abandoned, as by a power cut: another pass resumes it.

    Raises `TryLater` or `ConfigRefused` if an address of the config cannot be listened on;
    `SchemaNewer` if a newer program upgraded the store; `StoppedByBug` if an import failed.
    """
    requests = signals.listen()
    import_for_workers()
    work = MonitorWork(application, path, tick, end=requests.put)
    servers = [one for one in (_web(work.running), _pages(work.running)) if one]
    scheduler = _ticking(work, tick)
    web = application.config.web
    log.info("serving", monitors=len(application.monitors), web=web and str(web.address))
    while (reason := _next_request(requests, scheduler, application)) == signals.RELOAD:
        work.running.reload()
    if isinstance(reason, MonitorError):
        log.error("stopping: finishing the step in flight", reason=str(reason))
    else:
        log.info("stopping: finishing the step in flight", signal=signal.Signals(reason).name)
    unfinished = _abandoned_after(grace, work, scheduler)
    for server in servers:
        server.stop()
    if unfinished:
        _abandon(unfinished, reason)
    application.database.close()
    log.info("stopped")
    if isinstance(reason, MonitorError):
        raise reason


class MonitorWork:
    """The three loops, each a function that a tick calls.

    end: Called with an error that makes this process useless; ends the process.
    """

    def __init__(
        self,
        application: Application,
        path: Path | None,
        tick: timedelta,
        end: Callable[[MonitorError], None] = lambda _: None,
    ) -> None:
        heartbeat = Heartbeat("rounds", "notices", "mlflow")
        self.running = Running(application, path, heartbeat, end)
        self._stop, self._changed = threading.Event(), threading.Event()
        self._monitor_pool = MonitorPool(
            self.running, advance, stop=self._stop, changes=self._changed
        )
        self._mlflow = MlflowProcess()
        self._tick, self._notices_due = tick.total_seconds(), 0.0

    def rounds(self) -> None:
        """Start to check the monitors that may have work."""
        self.running.check_store()
        self._monitor_pool.tick()
        tidy(self.running.application)

    def notices(self) -> None:
        """Deliver all but MLflow's effects, at each tick and soon after a change."""
        now = time.monotonic()
        if not self._changed.is_set() and now < self._notices_due:
            return
        self._notices_due = now + self._tick
        self._changed.clear()
        self.running.check_store()
        application = self.running.application
        sinks: dict[str, EffectHandler] = {
            sink: handler for sink, handler in application.handlers.items() if sink != MLFLOW
        }

        def stopping() -> bool:
            self.running.heartbeat.beat("notices")  # asked before each delivery
            return self._stop.is_set()

        deliver(
            application.database, sinks, application.clock, link=application.link, stopping=stopping
        )

    def mlflow(self) -> None:
        """Deliver effects to MLflow."""
        heartbeat = self.running.heartbeat
        self.running.check_store()
        self._mlflow.deliver(self.running.application, lambda: heartbeat.beat("mlflow"))

    def stop(self) -> None:
        """Start nothing new."""
        self.running.is_stopping = True
        let_claims_run_out()
        self._stop.set()
        self._mlflow.stop()

    def wait(self) -> None:
        """Wait for the running checks."""
        self._monitor_pool.close()


def _ticking(work: MonitorWork, tick: timedelta) -> BackgroundScheduler:
    from apscheduler.schedulers.background import BackgroundScheduler  # noqa: PLC0415

    scheduler = BackgroundScheduler(timezone="UTC")
    loops = {
        "rounds": (work.rounds, tick),
        "notices": (work.notices, min(CHANGES, tick)),
        "mlflow": (work.mlflow, tick),
    }
    for name, (loop, every) in loops.items():
        scheduler.add_job(
            _guarded(name, loop, work.running),
            "interval",
            seconds=every.total_seconds(),
            id=name,
            next_run_time=work.running.application.clock(),
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
        )
    scheduler.start()
    return scheduler


def _next_request(
    requests: SimpleQueue[int | MonitorError],
    scheduler: BackgroundScheduler,
    application: Application,
) -> int | MonitorError:
    """Wait for a signal or an error that ends the process; keeps the ticks going meanwhile."""
    while True:
        try:
            return requests.get(timeout=CLOCK_CHECK.total_seconds())
        except Empty:
            tick_on(scheduler, application.clock())


def tick_on(scheduler: BackgroundScheduler, now: datetime) -> None:
    """Make loops tick now if their next tick is too far away, as after a clock was set back.

    APScheduler sleeps until a time of day, which may then be days away.
    """
    for job in scheduler.get_jobs():
        if job.next_run_time is not None and job.next_run_time > now + job.trigger.interval:
            job.modify(next_run_time=now)


def _guarded(name: str, loop: Callable[[], None], running: Running) -> Callable[[], None]:
    """Keep ticking after any error of a loop; the next tick starts from the store."""
    stopped = False

    def run() -> None:
        nonlocal stopped
        running.heartbeat.beat(name)
        bug: Exception | None = None
        try:
            loop()
            if stopped:
                log.info("tick goes on", job=name)
            stopped = False
        except MonitorError as error:
            log.warning("tick stopped", job=name, reason=str(error))
            stopped = True
        except Exception as error:
            log.exception("tick failed", job=name)
            bug = error
        running.heartbeat.note_bug(name, bug)
        if what := broken_import(bug):
            running.end(end_for(what))

    return run


def _web(running: Running) -> WebServer | None:
    if (settings := running.application.config.web) is None:
        return None
    from monitor.service.web.app import watchers_app  # noqa: PLC0415  few configs have pages
    from monitor.service.web.server import WebServer  # noqa: PLC0415

    listen = None if settings.allow_remote else settings.address.host
    pages = watchers_app(running.health, running.ready, running.metrics, listen=listen)
    server = WebServer(pages, settings.address)
    server.start()
    return server


def _pages(running: Running) -> PagesServer | None:
    if (settings := running.application.config.pages) is None:
        return None
    from monitor.service.pages.serving import PagesServer, board_of  # noqa: PLC0415

    def report_page(link: str, entered: str | None) -> None:
        if settings.login is None:
            log.info("labeling page: this link works once", link=link, used_by=entered)
        else:
            log.info("labeling page: people sign in", at=link)

    server = PagesServer(
        lambda: running.application.names,
        board_of(lambda: running.application),
        settings=settings,
        notified=report_page,
    )
    server.start()
    return server


def _abandoned_after(
    grace: timedelta, work: MonitorWork, scheduler: BackgroundScheduler
) -> list[str]:
    """Wait for running steps to finish; returns the steps that take too long."""

    def wait() -> None:
        work.stop()
        scheduler.shutdown(wait=True)  # before the pool, which no tick may use then
        work.wait()

    waiting = threading.Thread(target=wait, name="stopping", daemon=True)
    waiting.start()
    waiting.join(grace.total_seconds())
    if not waiting.is_alive():
        return []
    return work.running.heartbeat.steps() or ["a delivery"]


def _abandon(steps: list[str], reason: int | MonitorError) -> None:
    """End the process although threads still run: their steps are safe to interrupt anywhere.

    Never with code 0, which means that every step was finished.
    """
    code = reason.exit_code if isinstance(reason, MonitorError) else EXIT_TRY_LATER
    log.warning("stopped; abandoned what took too long", steps=steps, exit_code=code)
    sys.stderr.flush()
    os._exit(code)
