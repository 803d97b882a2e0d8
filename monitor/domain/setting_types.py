"""Base classes and value types of settings and payloads, such as durations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    model_validator,
)

if TYPE_CHECKING:
    from pydantic import ModelWrapValidatorHandler

    from monitor.stats.core.counts import Interval

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = 100 * 365 * 86_400  # seconds; keeps every date that is made from a duration possible


def parse_duration(value: object) -> object:
    """Convert ``90d``, ``6h``, ``30m``, ``45s`` or ``2w`` to a timedelta."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", value.strip())
    if match is None:
        message = f"{value!r} is not a duration; write a number and s, m, h, d or w, such as 6h"
        raise ValueError(message)
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds > _LONGEST:
        message = f"{value!r} is longer than 100 years"
        raise ValueError(message)
    return timedelta(seconds=round(seconds))


def _refuse_bare_number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        message = f"{value} has no unit; write a number and s, m, h, d or w, such as {value}d"
        raise ValueError(message)  # noqa: TRY004  pydantic turns only ValueError into its own
    return parse_duration(value)


Duration = Annotated[
    timedelta,
    BeforeValidator(_refuse_bare_number),
    PlainSerializer(lambda value: f"{value.total_seconds():.0f}s", return_type=str),
]


def _valid_zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"there is no time zone {value!r}; names look like Europe/Prague or UTC"
        raise ValueError(message) from error
    return value


TimeZone = Annotated[str, AfterValidator(_valid_zone)]


def _share(value: float) -> float:
    if not 0 < value < 1:
        hint = f"; did you mean {value / 100:.2f}?" if 1 < value < 100 else ""  # noqa: PLR2004
        message = f"{value:g} is not a share. It must lie between 0 and 1{hint}"
        raise ValueError(message)
    return value


Share = Annotated[float, AfterValidator(_share)]


class Settings(BaseModel):
    """Base class of all settings: unknown keys are refused, instances are immutable."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    @model_validator(mode="wrap")
    @classmethod
    def _filled(
        cls, value: object, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        """Let the config loader fill in values that the file only refers to, such as secrets."""
        return handler(info.context(cls, value) if info.context else value)


def _says_something(value: str) -> str:
    if not value.strip():
        message = "it asks nothing; write the question that people answer, with its question mark"
        raise ValueError(message)
    return value.strip()


Question = Annotated[str, Field(max_length=300), AfterValidator(_says_something)]
"""A yes-or-no question."""


class Report(BaseModel):
    """Base class of payloads; fields that only an earlier version wrote are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def taken_from(cls, source: object, **others: Any) -> Self:
        """Create an instance from equally named attributes of an object, and ``others``."""
        names = [name for name in cls.model_fields if name not in others and hasattr(source, name)]
        return cls(**{name: getattr(source, name) for name in names}, **others)


Ends: TypeAlias = tuple[float, float, float]  # Point, low and high


def ends_of(interval: Interval) -> Ends:
    """Return an interval rounded to six significant digits, for a report."""
    point, low, high = (
        float(f"{value:.6g}") for value in (interval.point, interval.low, interval.high)
    )
    return point, low, high
