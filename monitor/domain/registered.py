"""Registered models: their URIs, versions and aliases."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from monitor.domain.setting_types import Settings

MODEL_URI = re.compile(r"models:/(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[^/@]+))")

NAMES_NONE = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"})
"""MLflow's own words where a model, or an alias of it, is not there."""

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


class AliasRead(Settings):
    """What an alias named when a round was opened; a ``version`` of None: nothing.

    ``problem`` is why it could not be read.
    """

    version: str | None = None
    problem: str | None = None


class NamedVersion(NamedTuple):
    """The version that an alias named when the round of a slot was opened."""

    slot: datetime
    read_at: datetime
    version: str


def spellings(version: str | None) -> tuple[str | None, ...]:
    """Return the texts of a version: files and databases also write a whole number as ``7.0``.

    >>> spellings("7"), spellings("7.0"), spellings("1.10")
    (('7', '7.0'), ('7', '7.0'), ('1.10',))
    """
    match = None if version is None else _WHOLE.fullmatch(version)
    return (version,) if match is None else (match[1], f"{match[1]}.0")
