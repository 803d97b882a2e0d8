"""What `pr-monitor check` tries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from monitor.domain.errors import DeliveryFailed, MonitorError, gravest
from monitor.storage import schema
from monitor.wiring import check_labels, check_source, mlflow_handler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from monitor.config import Config
    from monitor.storage.database import Database
    from monitor.wiring import Plant


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried: what was found there, or the problem and its exit code."""

    what: str
    found: str = ""
    problem: str | None = None
    code: int = 0

    def as_json(self) -> dict[str, str | None]:
        """Tell it as JSON."""
        return {"what": self.what, "found": self.found or None, "problem": self.problem}


def checks(plant: Plant, config: Path) -> Iterator[Check]:
    """Try one after the other, so that each is shown when it is known."""
    yield Check("config", str(config))
    yield _tried("store", partial(_store, plant.database))
    for parts in plant.monitors:
        name = parts.settings.name
        yield _tried(f"source of {name}", partial(check_source, parts))
        yield _tried(f"labels of {name}", partial(check_labels, parts))
    yield _tried("MLflow", partial(_mlflow, plant.config))


def exit_code(found: Sequence[Check]) -> int:
    """Return the gravest problem's code, 0 where there is none."""
    return gravest(each.code for each in found)


def _tried(what: str, act: Callable[[], str]) -> Check:
    try:
        return Check(what, act())
    except MonitorError as error:
        return Check(what, problem=str(error), code=error.exit_code)


def _store(database: Database) -> str:
    schema.ready(database)
    return database.shown


def _mlflow(config: Config) -> str:
    handler = mlflow_handler(config)
    problems = handler.check([monitor.name for monitor in config.monitors])
    if problems:
        raise DeliveryFailed(problems[0])
    return handler.shown
