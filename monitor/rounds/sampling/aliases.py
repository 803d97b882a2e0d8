"""The version that the alias in `model` named when a round was opened, and for its window.

MLflow does not record when an alias moved: a move lies between the openings of two rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from monitor.domain.errors import DeliveryFailed, StoppedByBug
from monitor.domain.registered import Alias, AliasRead, NamedVersion, alias_of
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.presentation import windows
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.plausibility import Concern
from monitor.storage.rounds import round_store

MOVED, UNKNOWN, REMOVED = "alias_moved", "alias_unknown", "alias_gone"

log = structlog.get_logger("monitor.rounds")


def with_alias(context: MonitorContext, settings: RoundSettings) -> RoundSettings:
    """Freeze the version that the alias in `model` names now; no round waits for MLflow."""
    if context.aliases is None or settings.model is None or alias_of(settings.model) is None:
        return settings
    try:
        result = AliasRead(version=context.aliases.version_of(settings.model))
    except DeliveryFailed as error:
        result = AliasRead(problem=str(error))
    except Exception as error:
        log.exception("alias not read: stopped by a bug", model=settings.model)
        result = AliasRead(problem=str(StoppedByBug.of(error)))
    return settings.model_copy(update={"alias": result})


@dataclass(frozen=True, slots=True)
class WindowAlias:
    """The alias of a round, its reading at the opening, and the versions around the window.

    ``known`` are all versions that rounds of the monitor read.
    """

    alias: Alias
    number: int
    read: AliasRead | None
    named: Sequence[NamedVersion]
    known: frozenset[str]

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that the window may be of, in order."""
        return tuple(dict.fromkeys(each.version for each in self.named))

    def registered(self, row_version: str | None) -> str | None:
        """Return the URI of the registered version that a round is of; None if it is not known.

        ``row_version`` is the version in the rows; it counts if the alias ever named it.
        """
        if row_version is not None and row_version in self.known:
            return self.alias.version(row_version)
        return self.alias.version(self.versions[0]) if len(self.versions) == 1 else None

    @property
    def version(self) -> str | None:
        """Version of the round's history; a history of several versions has only this round."""
        if len(self.versions) > 1:
            return f"{' and '.join(self.versions)} in round {self.number}"
        return self.versions[0] if self.versions else None

    def concerns(self) -> list[Concern]:
        """Return reasons why the window may not be of one known version."""
        name, results = self.alias.alias, []
        if len(self.versions) > 1:
            results.append(Concern(MOVED, windows.alias_moved_sentence(name, *self.named)))
        last = self.named[-1] if self.named else None
        if self.read is None or self.read.problem is not None:
            problem = None if self.read is None else self.read.problem
            results.append(Concern(UNKNOWN, windows.alias_unknown_sentence(name, last, problem)))
        elif self.read.version is None:
            results.append(Concern(REMOVED, windows.alias_removed_sentence(name, last)))
        return results


def window_alias(context: MonitorContext, round_: Round) -> WindowAlias | None:
    """Return what the alias of a round named for its window; None if it has none.

    The version before the window is the one that the last earlier round read. The version after it
    is the first that a round of this slot or a later one read, by time of reading, since a backfill
    reads far too late.
    """
    alias = alias_of(round_.settings.model)
    if alias is None:
        return None
    with context.database.read() as connection:
        named = round_store.named_versions(connection, round_.monitor_id, round_.settings.model)
    before = [each for each in named if each.slot < round_.slot][-1:]
    after = [each for each in named if each.slot >= round_.slot]
    first = sorted(after, key=lambda each: each.read_at)[:1]
    versions = frozenset(each.version for each in named)
    return WindowAlias(alias, round_.number, round_.settings.alias, (*before, *first), versions)
