"""Looking at which version of a registered model the alias in `model` names.

Looks are noted at each pass where one costs a request, and else when a round is drawn. No round
waits for one: where MLflow does not answer, what it said last counts, and the round says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import MonitorError
from monitor.domain.registered import alias_of
from monitor.storage import alias_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.rounds.context import MonitorContext

log = structlog.get_logger("monitor.rounds")


def look_at_aliases(contexts: Sequence[MonitorContext]) -> None:
    """Look at the aliases of all monitors, each once, where that is cheap."""
    named = {
        context.settings.round.model: context
        for context in contexts
        if context.aliases is not None and context.aliases.is_cheap
    }
    for model, context in named.items():
        if model is not None and alias_of(model) is not None:
            look_at_alias(context, model)


def look_at_alias(context: MonitorContext, model: str) -> str | None:
    """Note which version an alias names now; returns why that is not known."""
    if context.aliases is None:
        return None
    asked = context.clock()
    try:
        version = context.aliases.version_of(model)
    except MonitorError as error:
        log.info("alias not looked up", model=model, reason=str(error))
        return str(error)
    with context.database.write() as connection:
        alias_store.note_look(connection, model, version, asked)
    return None
