"""What all payloads of effects are made of."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Report(BaseModel):
    """Base of all payloads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def taken_from(cls, source: object, **others: Any) -> Self:
        """Take the fields that an object has under the same names; ``others`` are given."""
        names = [name for name in cls.model_fields if name not in others and hasattr(source, name)]
        return cls(**{name: getattr(source, name) for name in names}, **others)
