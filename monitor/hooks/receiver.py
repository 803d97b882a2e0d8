"""Where notices are posted, by the config: known without what posts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from monitor.domain.errors import DeliveryFailed, SettingRefused
from monitor.domain.setting_types import Duration


def _fits_in_a_header(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    # With a blank at an end it could not be sent, and the error of that would quote it.
    if not text or not text.isascii() or not text.isprintable() or text != text.strip():
        message = (
            "it must be one line of ASCII characters, without blanks at its ends; copy it again"
        )
        raise ValueError(message)
    return value


HeaderSecret = Annotated[SecretStr, AfterValidator(_fits_in_a_header)]
Timeout = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(seconds=60))]

_MAY_PASS = {408, 425, 429}  # too slow, too early, too many: what a later try may not meet
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where to post, and how to name it to people."""

    hook: str
    url: str
    allow_private: bool
    timeout: timedelta

    def failed(
        self,
        reason: str,
        *,
        sink_down: bool = True,
        lasting: bool = False,
        retry_after: timedelta | None = None,
    ) -> DeliveryFailed:
        """Make the error of a notice that the receiver did not take."""
        message = f"hook {self.hook}: {address(self.url)} did not take the notice: {reason}"
        return DeliveryFailed(
            message, sink_down=sink_down, lasting=lasting, retry_after=retry_after
        )


def json_object(text: str) -> dict[str, Any] | None:
    """Read an answer that is a JSON object; None if it is anything else."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def may_pass(status: int) -> bool:
    """Whether a later try may not meet this status of an answer."""
    return status in _MAY_PASS or status >= _SERVER_ERROR


def address(url: str) -> str:
    """Return a URL without path, query or user: safe to show."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def check_url(
    url: str, *, allow_private: bool, what: str = "the notice", query: bool = False
) -> None:
    """Refuse a URL that cannot be asked, without repeating it; ``what`` is what is posted.

    Its path is added to unless it may have a ``query``.
    """
    try:
        parts = urlsplit(url)
        has_port_0 = parts.port == 0
    except ValueError:  # its text quotes the URL
        message = "this is not a URL; write https://host/path"
        raise SettingRefused(setting="url", why=message) from None
    flaws = {
        "it must start with https://": parts.scheme not in {"http", "https"},
        "it names no host": not parts.hostname or has_port_0,
        "it contains a user or password, which is not allowed": parts.username or parts.password,
        "it contains ? or #; only scheme, host, port and path are allowed": (
            not query and ("?" in url or "#" in url)
        ),
        "it contains blanks or characters that must be percent-encoded": (
            not url.isascii() or any(character.isspace() for character in url)
        ),
    }
    for flaw, is_there in flaws.items():
        if is_there:
            message = f"{flaw}; write https://host/path"
            raise SettingRefused(setting="url", why=message)
    if parts.scheme == "http" and not allow_private:
        message = (
            f"plain http would show {what} to everyone on the network path; use https, or set "
            "allow_private: true if the receiver is in your own network"
        )
        raise SettingRefused(setting="url", why=message)
