"""A hook that posts each notice to a URL, signed by the Standard Webhooks specification.

https://www.standardwebhooks.com. The receiver gets ``{"type", "timestamp", "data"}``; the header
``webhook-id`` is the notice's id and the same in every retry, so a receiver drops repeats by it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from datetime import UTC, timedelta
from typing import Literal

from pydantic import ConfigDict, SecretStr, field_validator, model_validator

from monitor.domain.adapters import HookSettings
from monitor.domain.errors import SettingRefused
from monitor.domain.model import Effect
from monitor.domain.notice import Notice
from monitor.hooks.context import HookContext, read_notice
from monitor.hooks.receiver import Receiver, Timeout, check_url

_PREFIX = "whsec_"
_SHORTEST_SECRET = 24  # bytes, as the specification asks


class WebhookSettings(HookSettings):
    """Where notices go, and the secret that signs them.

    ``url`` is kept as a secret, since many receivers put their token into the path.
    ``allow_private`` lets it point into private networks and use plain http.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["webhook"] = "webhook"
    url: SecretStr
    secret: SecretStr
    allow_private: bool = False
    timeout: Timeout = timedelta(seconds=10)  # for the whole delivery: a receiver only queues

    @field_validator("secret")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        signing_key(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _a_url_that_can_be_posted_to(self) -> WebhookSettings:
        check_url(self.url.get_secret_value(), allow_private=self.allow_private, query=True)
        return self


def signing_key(secret: str) -> bytes:
    """Return the key bytes of ``whsec_<base64>``, or the UTF-8 bytes of any other secret."""
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            message = "what follows whsec_ is not base64; copy it again from the receiver"
            raise SettingRefused(setting="secret", why=message) from None
    else:
        key = secret.encode()
    if len(key) < _SHORTEST_SECRET:
        message = (
            f"{len(key)} bytes are too few; at least {_SHORTEST_SECRET} are needed. "
            "Make one with: openssl rand -base64 32"
        )
        raise SettingRefused(setting="secret", why=message)
    return key


def signature(key: bytes, content: str) -> str:
    """Sign ``id.timestamp.body`` as version 1 of the specification does: HMAC-SHA256 in base64."""
    digest = hmac.new(key, content.encode(), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


class WebhookHandler:
    """Post notices to one receiver; a 2xx answer is the receipt."""

    def __init__(self, settings: WebhookSettings, context: HookContext) -> None:
        self._settings = settings
        self._context = context
        self._receiver = Receiver(
            hook=context.name,
            url=settings.url.get_secret_value(),
            allow_private=settings.allow_private,
            timeout=settings.timeout,
        )

    def deliver(self, effect: Effect) -> str:
        """Post the notice; safe to repeat, since the receiver gets the same ``webhook-id``."""
        from monitor.hooks.posting import post  # noqa: PLC0415  only needed when something happens

        notice = read_notice(effect.payload, self._context.link)
        body = notice_body(notice)
        return f"HTTP {post(self._receiver, self._signed_headers(notice.id, body), body)}"

    def _signed_headers(self, notice_id: str, body: str) -> dict[str, str]:
        timestamp = str(int(self._context.clock().timestamp()))
        key = signing_key(self._settings.secret.get_secret_value())
        return {
            "webhook-id": notice_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": signature(key, f"{notice_id}.{timestamp}.{body}"),
        }


def notice_body(notice: Notice) -> str:
    """Write the body; the same notice always gives the same text."""
    at = notice.at or notice.slot
    content = {
        "type": notice.event,
        "timestamp": at.astimezone(UTC).isoformat(),
        "data": notice.model_dump(mode="json"),
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
