"""Which version of a registered model the alias in `model` names, and named for a window.

Looks are noted at each pass where one costs a request, and else when a round is drawn. No round
waits for one: where MLflow does not answer, what it said last counts, and the round says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from monitor.domain.errors import MonitorError, RegistryUnavailable, StoppedByBug
from monitor.domain.registered import Alias, NamedVersions, alias_of, named_in
from monitor.presentation import windows
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.plausibility import Concern
from monitor.storage.overview import alias_store
from monitor.storage.rounds.round_store import Round

MOVED, UNKNOWN, REMOVED = "alias_moved", "alias_unknown", "alias_gone"


@dataclass(frozen=True, slots=True)
class WatchedAlias:
    """The alias of a round and what it named for its window."""

    alias: Alias
    round: Round
    named: NamedVersions

    def registered(self, row_version: str | None) -> str | None:
        """Write the URI of the registered version that a round is of; None if it is not known.

        ``row_version``, what the rows say made them, counts where the alias ever named that.
        """
        named = self.named
        if row_version is not None and row_version in named.ever:
            return self.alias.version(row_version)
        return self.alias.version(named.versions[0]) if len(named.versions) == 1 else None

    @property
    def version(self) -> str | None:
        """What the history of the round is known by.

        A window of several versions has an alias that no other window shares.
        """
        versions = self.named.versions
        if len(versions) > 1:
            return f"{' and '.join(versions)} in round {self.round.number}"
        return versions[0] if versions else None

    def concerns(self, why_not: str | None) -> list[Concern]:
        """Return what keeps the window from being known to be of one version."""
        name, named, window = self.alias.alias, self.named, self.round.window
        results = []
        if named.moves:
            results.append(Concern(MOVED, windows.alias_moved_sentence(name, named)))
        if named.last_check is None or named.last_check < window.end:
            results.append(Concern(UNKNOWN, windows.alias_unknown_sentence(name, named, why_not)))
        elif named.is_removed:
            results.append(Concern(REMOVED, windows.alias_removed_sentence(name, named)))
        return results


def watched_alias(context: MonitorContext, round_: Round) -> WatchedAlias | None:
    """Read what the alias of a round named for its window; None if it has none."""
    model = round_.settings.model
    alias = alias_of(model)
    if model is None or alias is None or context.aliases is None:
        return None
    with context.database.read() as connection:
        observations = alias_store.read_observations(connection, model)
    return WatchedAlias(alias, round_, named_in(round_.window, observations))


def find_versions(context: MonitorContext, round_: Round) -> str | None:
    """Check the alias of a round if nobody did since its window ended.

    Returns why it is not known; None if it is.
    """
    watched = watched_alias(context, round_)
    if watched is None or round_.settings.model is None:
        return None
    last = watched.named.last_check
    if last is not None and last >= round_.window.end:
        return None
    error = check_alias(context, round_.settings.model)
    return None if error is None else str(error)


log = structlog.get_logger("monitor.rounds")


def check_aliases(contexts: Sequence[MonitorContext]) -> dict[str, MonitorError]:
    """Check the aliases of all monitors, each once, where that is cheap.

    Returns the errors that need somebody, by monitor; not that MLflow is away.
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
