"""Registered models: their URIs, versions and aliases."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from monitor.domain.setting_types import Settings

MODEL_URI = re.compile(r"models:/(?P<name>[^/@]+)(?:/(?P<version>\d+)|@(?P<alias>[^/@]+))")

NAMES_NONE = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"})
"""MLflow's error codes if a model or one of its aliases does not exist."""

_WHOLE = re.compile(r"(-?\d+)([.]0)?")


@dataclass(frozen=True, slots=True)
class Alias:
    """An alias of a registered model, which names one of its versions."""

    model: str
    alias: str

    def version(self, version: str) -> str:
        """Return the URI of a version of the model."""
        return f"models:/{self.model}/{version}"


def alias_of(uri: str | None) -> Alias | None:
    """Parse the alias from a model's URI; None if the URI has no alias.

    >>> alias_of("models:/mail-travel@champion")
    Alias(model='mail-travel', alias='champion')
    >>> alias_of("models:/mail-travel/7") is None
    True
    """
    parts = MODEL_URI.fullmatch(uri or "")
    return Alias(parts["name"], parts["alias"]) if parts and parts["alias"] else None


class AliasRead(Settings):
    """The version that an alias named when a round was opened; None if it named none.

    ``problem`` says why the alias could not be read.
    """

    version: str | None = None
    problem: str | None = None


class NamedVersion(NamedTuple):
    """The version that an alias named when the round of a slot was opened."""

    slot: datetime
    read_at: datetime
    version: str


def spellings(version: str | None) -> tuple[str | None, ...]:
    """Return the spellings of a version; files and databases may write a whole number as ``7.0``.

    >>> spellings("7"), spellings("7.0"), spellings("1.10")
    (('7', '7.0'), ('7', '7.0'), ('1.10',))
    """
    match = None if version is None else _WHOLE.fullmatch(version)
    return (version,) if match is None else (match[1], f"{match[1]}.0")
