"""State of a long-running process: its application, its health, and reloads of the config."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from monitor.config.diff import ConfigDiff, changes, written
from monitor.config.load import load_config
from monitor.config.model import Config
from monitor.domain.errors import MonitorError, SchemaNewer, StoppedByBug
from monitor.rounds.opening.removed_monitors import removed_monitors
from monitor.rounds.opening.setting_changes import pending_changes
from monitor.service.imports import import_for_adapters
from monitor.service.web.health import Heartbeat, unready
from monitor.service.web.metrics import Own, exposition
from monitor.storage import schema
from monitor.wiring import Application, build

log = structlog.get_logger("monitor.service.loop")

_NEED_A_RESTART = ("store", "web", "pages")


class Running:
    """The application in use, and the health of the process.

    A reload replaces `application` as a whole; a worker reads it once per step.

    end: Called with an error that makes this process useless; ends the process.
    """

    def __init__(
        self,
        application: Application,
        path: Path | None,
        heartbeat: Heartbeat,
        end: Callable[[MonitorError], None] = lambda _: None,
    ) -> None:
        self.application = application
        self.heartbeat = heartbeat
        self.end = end
        self.is_stopping = False
        self.last_success: datetime | None = None
        self._path = path
        self._read = (application.config, {} if path is None else written(path))
        self._errors: dict[str, MonitorError | None] = {}
        self._reloaded = True
        self._reloaded_at = application.clock()

    def check_store(self) -> None:
        """End the process if a newer program upgraded the store.

        Raises `SchemaMismatch` if it has another schema, such as that one.
        """
        try:
            schema.check(self.application.database)
        except SchemaNewer as error:
            self.end(error)
            raise

    def note(self, monitor: str, error: MonitorError | None) -> None:
        """Record the error of the last check of a monitor; None if there was none."""
        if error is None and self._errors.get(monitor) is not None:
            log.info("monitor goes on", monitor=monitor)
        self._errors[monitor] = error

    def note_quiet(self) -> None:
        """Record that a pass is over; it counts as a success if nothing failed."""
        if not any(self._own_failing().values()):
            self.last_success = self.application.clock()

    def reload(self) -> bool:
        """Reload the config; an invalid one is logged and changes nothing."""
        if self._path is None:
            return False
        try:
            read = (load_config(self._path), written(self._path))
            config = self._with_what_stays(read[0])
            application = build(
                config, clock=self.application.clock, database=self.application.database
            )
        except MonitorError as error:
            self._reloaded = False
            log.error("config not reloaded, the old one stays", reason=str(error))  # noqa: TRY400
            return False
        except Exception:
            self._reloaded = False
            log.exception("config not reloaded, the old one stays")
            return False
        import_for_adapters()  # before a worker thread has one of them
        previous, replaced = self._read, self.application
        self._read, self.application = read, application
        self._reloaded, self._reloaded_at = True, application.clock()
        # Logged once in effect: a reader of these lines may check the metrics next.
        _log_changes(changes(previous, read))
        _log_consequences(replaced, application)
        return True

    def _with_what_stays(self, config: Config) -> Config:
        old = self.application.config
        unchanged: dict[str, Any] = {}
        for name in _NEED_A_RESTART:
            if getattr(config, name) != getattr(old, name):
                unchanged[name] = getattr(old, name)
                log.warning("setting stays as it was until a restart", setting=name)
        return config.model_copy(update=unchanged)

    def health(self) -> str | None:
        """Report problems that a new process may fix; None if there are none."""
        complaints = [self.heartbeat.complaint()]
        errors = [self._errors.get(name) for name in self.application.names]
        if errors and all(isinstance(error, StoppedByBug) for error in errors):
            complaints.append(
                f"no monitor can work: a bug stopped the last look at each of {len(errors)}; the "
                "log has the traceback"
            )
        return "; ".join(filter(None, complaints)) or None

    def ready(self) -> str | None:
        """Report why no work can be done now; None if it can."""
        if self.is_stopping:
            return "stopping"
        return self.health() or unready(self.application.database)

    def metrics(self) -> str:
        """Write the metrics of the store and of this process."""
        application = self.application
        own = Own(
            last_success=self.last_success,
            failing=self._own_failing(),
            reloaded=self._reloaded,
            reloaded_at=self._reloaded_at,
        )
        return exposition(application.database, application.names, own, application.clock())

    def _own_failing(self) -> dict[str, bool]:
        names = [name for name in self.application.names if name in self._errors]
        return {name: self._errors[name] is not None for name in names}


def _log_consequences(before: Application, after: Application) -> None:
    """Log what changed settings mean for the next rounds, and what remains of removed monitors."""
    if unready(after.database) is not None:
        return
    old = {context.settings.name: context.settings for context in before.monitors}
    changed = [one for one in after.monitors if old.get(one.settings.name) != one.settings]
    try:
        with after.database.read() as connection:
            for context in changed:
                for change in pending_changes(connection, context):
                    log.warning("next round", monitor=context.settings.name, change=change)
            for removed in removed_monitors(connection, after.names):
                log.warning(
                    "monitor not in the config", monitor=removed.monitor, left=removed.sentence
                )
    except MonitorError as error:
        log.warning("changes not compared with the store", reason=str(error))


def _log_changes(changes: ConfigDiff) -> None:
    if not changes:
        log.info("config reloaded", changed="nothing")
        return
    if changes.unseen:
        what = "only what it names: a variable, or a file with a secret"
        log.info("config reloaded", changed=what)
        return
    moved = {"added": changes.added, "removed": changes.removed}
    lists = {name: list(names) for name, names in moved.items() if names}
    log.info("config reloaded", **lists)
    for monitor, lines in changes.changed.items():
        about = {"monitor": monitor} if monitor else {}
        log.info("config changed", **about, settings="; ".join(lines))
