"""What the config says of labels given in Label Studio."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, SecretStr, field_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling


class LabelStudioSettings(Labeling):
    """Which Label Studio, and what it asks: ``question`` must be one that yes and no answer.

    ``url`` is the address that people open, ``token`` a legacy token or a personal access token of
    an account that may make projects. A round keeps its question as it was when its tasks went
    out.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["label_studio"] = "label_studio"
    url: str
    token: SecretStr
    question: Question

    @field_validator("url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        hint = "write the address that people open, such as https://labels.example.org"
        try:
            parts = urlsplit(value.strip())
            is_whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            is_whole = False
        if not is_whole or not value.isascii() or len(value.split()) != 1:
            message = f"this is not an address of a web server; {hint}"
            raise SettingRefused(setting="url", why=message)
        if parts.username or parts.password or parts.query or parts.fragment:
            message = f"it holds more than an address (a user, a query or a fragment); {hint}"
            raise SettingRefused(setting="url", why=message)
        return value.strip().rstrip("/")

    @field_validator("token")
    @classmethod
    def _fits_in_a_header(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if not text or not text.isascii() or not text.isprintable() or " " in text:
            message = (
                "this is no token of Label Studio, which has no blanks and only ASCII characters; "
                "copy it again from Account & Settings"
            )
            raise SettingRefused(setting="token", why=message)
        return value
