"""Looking at which version of a registered model the alias in `model` names.

Looks are noted at each pass where one costs a request, and else when a round is drawn. No round
waits for one: where MLflow does not answer, what it said last counts, and the round says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import MonitorError, RegistryUnavailable, StoppedByBug
from monitor.domain.registered import alias_of
from monitor.storage.overview import alias_store

if TYPE_CHECKING:
    from monitor.rounds.context import MonitorContext

log = structlog.get_logger("monitor.rounds")


def check_aliases(contexts: Sequence[MonitorContext]) -> dict[str, MonitorError]:
    """Check the aliases of all monitors, each once, where that is cheap.

    Returns the errors that need somebody, by monitor. That MLflow is away is not one of them: the
    rounds that are drawn meanwhile say so.
    """
    named: dict[str, list[MonitorContext]] = {}
    for context in contexts:
        model = context.settings.round.model
        if context.aliases is not None and context.aliases.is_cheap and alias_of(model):
            named.setdefault(str(model), []).append(context)
    result = {model: check_alias(of_model[0], model) for model, of_model in named.items()}
    return {
        context.settings.name: error
        for model, of_model in named.items()
        for context in of_model
        if (error := result[model]) is not None and not isinstance(error, RegistryUnavailable)
    }


def check_alias(context: MonitorContext, model: str) -> MonitorError | None:
    """Note which version an alias names now; returns what kept it from being known."""
    if context.aliases is None:
        return None
    now = context.clock()
    try:
        version = context.aliases.version_of(model)
        with context.database.write() as connection:
            alias_store.note_observation(connection, model, version, now)
    except MonitorError as error:
        log.info("alias not looked up", model=model, reason=str(error))
        return error
    except Exception as error:  # nothing that comes after waits for this look
        log.exception("alias not looked up: stopped by a bug", model=model)
        return StoppedByBug.of(error)
    return None
