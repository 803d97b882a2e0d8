"""What all payloads of effects are made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Report(BaseModel):
    """Base of all payloads."""

    model_config = ConfigDict(extra="forbid", frozen=True)
