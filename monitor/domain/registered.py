"""Registered models: their URIs, and which version an alias named for a window.

MLflow does not keep when an alias was moved: a move lies between the last look that found the old
version and the first that found the new one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.domain.model import Window

MODEL_URI = re.compile(r"models:/(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[^/@]+))")

NAMES_NONE = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"})
"""MLflow's own words where a model, or an alias of it, is not there."""

SHORT = 0.01
"""Share of a window up to which predictions of another version are left out of account: no look
finds the very moment, and many move an alias just when a window ends."""

_WHOLE = re.compile(r"(-?\d+)([.]0)?")


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for the version of a model that is in use."""

    model: str
    alias: str

    def version(self, version: str) -> str:
        """Write the URI of a version of the model."""
        return f"models:/{self.model}/{version}"


def alias_of(uri: str | None) -> Alias | None:
    """Read the alias from a model's URI; None if it names a version, or nothing.

    >>> alias_of("models:/mail-travel@champion")
    Alias(model='mail-travel', alias='champion')
    >>> alias_of("models:/mail-travel/7") is None
    True
    """
    parts = MODEL_URI.fullmatch(uri or "")
    return Alias(parts["name"], parts["alias"]) if parts and parts["alias"] else None


@dataclass(frozen=True, slots=True)
class AliasObservation:
    """Consecutive looks at an alias that found the same version; None if it named none."""

    version: str | None
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class AliasMove:
    """An alias that began to name another version between two looks."""

    before: str
    now: str
    after: datetime
    by: datetime


@dataclass(frozen=True, slots=True)
class NamedVersions:
    """What an alias named for a window, as far as the looks at it tell.

    ``versions``: more than one, in order, where it did or may have moved inside the window; none if
    it never named any. ``is_removed``: the last look found that it names none any more. ``ever``:
    all that it was found to name, at any time.
    """

    versions: tuple[str, ...] = ()
    moves: tuple[AliasMove, ...] = ()
    last_check: datetime | None = None
    is_removed: bool = False
    ever: frozenset[str] = frozenset()


def named_in(window: Window, observations: Sequence[AliasObservation]) -> NamedVersions:
    """Find which versions an alias named for a window.

    What is before the first look counts as the version that it found, after the alias was deleted
    as the last.
    """
    if not observations:
        return NamedVersions()
    moves = _moves(observations)
    slack = SHORT * (window.end - window.start)
    over = [move for move in moves if move.by <= window.start + slack]
    inside = [move for move in moves[len(over) :] if move.after < window.end - slack]
    names = [*(move.before for move in moves), *_last_name(observations)]
    return NamedVersions(
        versions=tuple(names[len(over) : len(over) + len(inside) + 1]),
        moves=tuple(inside),
        last_check=observations[-1].last_at,
        is_removed=observations[-1].version is None,
        ever=frozenset(names),
    )


def _moves(observations: Sequence[AliasObservation]) -> list[AliasMove]:
    moves: list[AliasMove] = []
    before: AliasObservation | None = None
    for scan in observations:
        if scan.version is None:
            continue
        if before is not None and before.version is not None and before.version != scan.version:
            moves.append(AliasMove(before.version, scan.version, before.last_at, scan.first_at))
        before = scan
    return moves


def _last_name(observations: Sequence[AliasObservation]) -> list[str]:
    return [scan.version for scan in observations if scan.version is not None][-1:]


def spellings(version: str | None) -> tuple[str | None, ...]:
    """Return the texts of a version: files and databases also write a whole number as ``7.0``.

    >>> spellings("7"), spellings("7.0"), spellings("1.10")
    (('7', '7.0'), ('7', '7.0'), ('1.10',))
    """
    match = None if version is None else _WHOLE.fullmatch(version)
    return (version,) if match is None else (match[1], f"{match[1]}.0")
