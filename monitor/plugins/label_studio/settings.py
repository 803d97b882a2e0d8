"""Settings of the labeler that asks in Label Studio."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, field_validator

from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling
from monitor.hooks.receiver import HeaderSecret, check_url


class LabelStudioSettings(Labeling):
    """Which Label Studio, and what it asks: ``question`` must be one that yes and no answer.

    ``url`` is the address that people open, ``token`` a legacy token or a personal access token of
    an account that may make projects. A round keeps its question as it was when its tasks went
    out.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["label_studio"] = "label_studio"
    url: str
    token: HeaderSecret
    question: Question

    @field_validator("url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        check_url(value.strip(), allow_private=True)
        return value.strip().rstrip("/")
