"""What a long-running process works with now, how it goes, and what a reload changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from monitor.config.block_requests import BLOCKS
from monitor.config.blocks import written_out
from monitor.config.load import load_config, shown
from monitor.config.yaml_tree import Scalar, Tree, Way, read_yaml
from monitor.domain.errors import MonitorError, SchemaNewer, StoppedByBug
from monitor.presentation.health import unable_text
from monitor.rounds.opening.removed_monitors import removed_monitors
from monitor.rounds.opening.setting_changes import pending_changes
from monitor.service.imports import import_for_adapters
from monitor.service.web.health import Heartbeat, unready
from monitor.service.web.metrics import Own, exposition
from monitor.storage import schema
from monitor.wiring import Application, build

if TYPE_CHECKING:
    from monitor.config.model import Config
    from monitor.service.web.app import Answers


_UNTOLD = ("hooks",)
"""Sections whose values are not shown: addresses and arguments that may be worth hiding."""

Written = dict[str, dict[str, "Scalar"]]
"""Settings as the file has them, by monitor name; under an empty name those of the whole."""


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    """How a config differs from the one before; ``changed`` has each setting, old and new."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unseen: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.unseen)


def written(path: Path) -> Written:
    """Read the settings as they are in the file, nothing put in for `${NAME}`."""
    tree = written_out(read_yaml(path)).tree
    result: Written = {"": {}}
    for way in tree.lines:
        value = tree.at(way)
        if isinstance(value, dict | list):
            continue
        monitor = _monitor_of(tree, way)
        key_path = way if monitor is None else way[2:]
        if monitor is not None and key_path[0] in BLOCKS:
            continue  # its values are monitors, which are added and removed
        result.setdefault(monitor or "", {})[_joined(key_path)] = value
    return result


def changes(before: tuple[Config, Written], after: tuple[Config, Written]) -> ConfigDiff:
    """Compare two readings, in words that may be logged.

    The file as it was written is compared, with `${NAME}` for what the environment holds, so that
    no secret is ever at hand here. ``unseen`` says that the files are the same but what they name
    (a variable, a secret's file) is not.
    """
    names_before, names_after = _names(before[0]), _names(after[0])
    changes = ConfigDiff(
        added=_without(names_after, names_before),
        removed=_without(names_before, names_after),
        changed=_changed(before[1], after[1]),
    )
    return changes if changes or before[0] == after[0] else ConfigDiff(unseen=True)


def _without(names: list[str], others: list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _changed(old: Written, new: Written) -> dict[str, tuple[str, ...]]:
    """Compare what both readings have, the whole first, then monitors as the new one has them."""
    both = [name for name in new if name in old]
    lines = {name: _lines(old[name], new[name]) for name in both}
    return {name: changed for name, changed in lines.items() if changed}


def _names(config: Config) -> list[str]:
    return [monitor.name for monitor in config.monitors]


def _monitor_of(tree: Tree, way: Way) -> str | None:
    if len(way) < 3 or way[0] != "monitors":  # noqa: PLR2004  monitors, place, setting
        return None
    name_way = (*way[:2], "name")
    return str(tree.at(name_way)) if name_way in tree.lines else None


def _joined(way: Way) -> str:
    return ".".join(str(part) for part in way)


def _lines(old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> tuple[str, ...]:
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(_line(key, old, new) for key in keys if _differ(old, new, key))


def _differ(old: Mapping[str, Scalar], new: Mapping[str, Scalar], key: str) -> bool:
    return (key in old) != (key in new) or old.get(key) != new.get(key)


def _line(key: str, old: Mapping[str, Scalar], new: Mapping[str, Scalar]) -> str:
    if key.startswith(_UNTOLD):
        return f"{key} changed"
    before, after = (shown(each[key]) if key in each else "not set" for each in (old, new))
    return f"{key}: {before} -> {after}"


log = structlog.get_logger("monitor.service.loop")

_NEED_A_RESTART = ("store", "web", "pages")


class Running:
    """The application in use, which a reload replaces as a whole, and how the process fares.

    A worker takes `application` once and stays with it to the end of the step, so a reload
    disturbs nothing that is under way.

    end: Called with what makes this process useless, and ends it.
    """

    def __init__(
        self,
        application: Application,
        path: Path | None,
        heartbeat: Heartbeat,
        end: Callable[[MonitorError], None] = lambda _: None,
    ) -> None:
        self.application = application
        self.pulse = heartbeat
        self.end = end
        self.is_stopping = False
        self.last_success: datetime | None = None
        self._path = path
        self._read = (application.config, {} if path is None else written(path))
        self._errors: dict[str, MonitorError | None] = {}
        self._reloaded = True
        self._reloaded_at = application.clock()

    def check_store(self) -> None:
        """Refuse a store of another schema; one that a newer program upgraded ends the process.

        Raises `SchemaMismatch` if somebody upgraded it, or put another one in its place, while the
        process runs.
        """
        try:
            schema.check(self.application.database)
        except SchemaNewer as error:
            self.end(error)
            raise

    def note(self, monitor: str, error: MonitorError | None) -> None:
        """Note what stopped the last look at a monitor; None: nothing did."""
        if error is None and self._errors.get(monitor) is not None:
            log.info("monitor goes on", monitor=monitor)
        self._errors[monitor] = error

    def note_quiet(self) -> None:
        """Note that nothing is under way: a pass is over, and it was good if nothing failed."""
        if not any(self._own_failing().values()):
            self.last_success = self.application.clock()

    def answers(self) -> Answers:
        """Give what the web addresses answer."""
        from monitor.service.web.app import Answers  # noqa: PLC0415  few configs have pages

        return Answers(self._unhealthy, self._unready, self._metrics)

    def reload(self) -> bool:
        """Read the config again and go on with it; a bad one is logged and changes nothing."""
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
        # Logged once they are in effect: who waits for these lines looks at the metrics next.
        _log_changes(changes(previous, read))
        _log_consequences(replaced, application)
        return True

    def _with_what_stays(self, config: Config) -> Config:
        """Keep the settings that the process cannot change while it runs."""
        old = self.application.config
        unchanged: dict[str, Any] = {}
        login = None if old.pages is None else old.pages.login
        # People's passwords go to the MLflow that the pages began with, so the runs go there, too.
        also = ("mlflow",) if login is not None and login.kind == "mlflow" else ()
        for name in (*_NEED_A_RESTART, *also):
            if getattr(config, name) != getattr(old, name):
                unchanged[name] = getattr(old, name)
                log.warning("setting stays as it was until a restart", setting=name)
        return config.model_copy(update=unchanged)

    def _unhealthy(self) -> str | None:
        """Report what a new process may mend; None for all well."""
        return "; ".join(filter(None, (self.pulse.complaint(), self._unable()))) or None

    def _unable(self) -> str | None:
        errors = [self._errors.get(name) for name in self.application.names]
        if errors and all(isinstance(error, StoppedByBug) for error in errors):
            return unable_text(len(errors))
        return None

    def _unready(self) -> str | None:
        if self.is_stopping:
            return "stopping"
        return self._unhealthy() or unready(self.application.database)

    def _metrics(self) -> str:
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
