"""A hook that posts each notice to a URL, signed by the Standard Webhooks specification.

https://www.standardwebhooks.com. The receiver gets ``{"type", "timestamp", "data"}``; the header
``webhook-id`` is the notice's id and the same in every retry, so a receiver drops repeats by it.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import SplitResult, urlsplit

import httpcore
import httpx
from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator

from monitor.domain.errors import DeliveryFailed
from monitor.domain.report import Notice
from monitor.domain.settings import Duration, Settings
from monitor.hooks.guard import AddressRefused, GuardedBackend

if TYPE_CHECKING:
    from monitor.domain.model import Effect
    from monitor.domain.ports import Clock

_Timeout = Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(seconds=60))]
_PREFIX = "whsec_"
_SHORTEST_SECRET = 24  # bytes, as the specification asks
_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)
_TOO_MANY = 429
_SERVER_ERROR = 500


class WebhookSettings(Settings):
    """Where notices go, and the secret that signs them.

    ``url`` is kept as a secret, since many receivers put their token into the path.
    ``allow_private`` lets it point into private networks and use plain http.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    kind: Literal["webhook"] = "webhook"
    url: SecretStr
    secret: SecretStr
    allow_private: bool = False
    timeout: _Timeout = timedelta(seconds=10)  # for each of connecting, sending and answering

    @field_validator("url")
    @classmethod
    def _a_url_that_can_be_posted_to(cls, value: SecretStr) -> SecretStr:
        _check_url(value.get_secret_value())
        return value

    @field_validator("secret")
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        signing_key(value.get_secret_value())
        return value

    @model_validator(mode="after")
    def _encrypted_unless_private(self) -> WebhookSettings:
        if urlsplit(self.url.get_secret_value()).scheme == "http" and not self.allow_private:
            message = (
                "url: plain http would show the notice to everyone on the way; use https, or set "
                "allow_private: true if the receiver stands in your own network"
            )
            raise ValueError(message)
        return self

    @property
    def address(self) -> str:
        """The receiver without path, query or user: safe to show."""
        parts = urlsplit(self.url.get_secret_value())
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}"


def _check_url(url: str) -> SplitResult:
    wrong = None
    try:
        parts = urlsplit(url)
        port_is_fine = parts.port is None or parts.port > 0
    except ValueError:  # its text quotes the URL
        message = "url: this is not a URL; write https://host/path"
        raise ValueError(message) from None
    if parts.scheme not in {"http", "https"}:
        wrong = "it must start with https://"
    elif not parts.hostname or not port_is_fine:
        wrong = "it names no host"
    elif parts.username or parts.password:
        wrong = "it holds a user or password; the signature identifies the sender instead"
    elif not url.isascii() or any(character.isspace() for character in url):
        wrong = "it holds blanks or characters that must be percent-encoded"
    if wrong:
        message = f"url: {wrong}; write https://host/path"
        raise ValueError(message)
    return parts


def signing_key(secret: str) -> bytes:
    """Return the key bytes of ``whsec_<base64>``, or the UTF-8 bytes of any other secret."""
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            message = "secret: what follows whsec_ is not base64; copy it again from the receiver"
            raise ValueError(message) from None
    else:
        key = secret.encode()
    if len(key) < _SHORTEST_SECRET:
        message = (
            f"secret: {len(key)} bytes are too short; at least {_SHORTEST_SECRET} are wanted. "
            "Make one with: openssl rand -base64 32"
        )
        raise ValueError(message)
    return key


def _now() -> datetime:
    return datetime.now(UTC)


class WebhookHandler:
    """Post notices to one receiver; a 2xx answer is the receipt.

    No redirect is followed and no proxy from the environment is used, so that the peer that is
    checked is the peer that gets the notice.
    """

    def __init__(
        self, settings: WebhookSettings, name: str = "webhook", clock: Clock = _now
    ) -> None:
        self._settings = settings
        self._name = name
        self._clock = clock

    def deliver(self, effect: Effect) -> str:
        """Post the notice; safe to repeat, since the receiver gets the same ``webhook-id``."""
        notice = Notice.model_validate(dict(effect.payload))
        body = notice_body(notice)
        status = self._post(body, self._signed_headers(notice.id, body))
        if status not in _SUCCESS:
            down = status == _TOO_MANY or status >= _SERVER_ERROR
            raise DeliveryFailed(self._sentence(_refusal(status)), sink_down=down)
        return f"HTTP {status}"

    def _signed_headers(self, notice_id: str, body: str) -> dict[str, str]:
        from standardwebhooks import Webhook  # noqa: PLC0415  only needed when something happens

        at = self._clock().astimezone(UTC)
        key = signing_key(self._settings.secret.get_secret_value())
        return {
            "content-type": "application/json",
            "user-agent": "mlflow-pr-monitor",
            "webhook-id": notice_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": Webhook(key).sign(notice_id, at, body),
        }

    def _post(self, body: str, headers: dict[str, str]) -> int:
        seconds = self._settings.timeout.total_seconds()
        limits = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
        backend = GuardedBackend(allow_private=self._settings.allow_private)
        url = self._settings.url.get_secret_value()
        try:
            with (
                httpcore.ConnectionPool(
                    ssl_context=httpx.create_ssl_context(), network_backend=backend
                ) as pool,
                pool.stream(
                    "POST",
                    url,
                    headers=[("host", urlsplit(url).netloc), *headers.items()],
                    content=body.encode(),
                    extensions={"timeout": limits},
                ) as response,
            ):
                return int(response.status)
        except AddressRefused as error:
            raise DeliveryFailed(self._sentence(str(error))) from None
        except httpcore.TimeoutException as error:
            reason = f"it did not answer within {seconds:g} s"
            raise DeliveryFailed(self._sentence(reason)) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            reason = f"the connection failed ({error})"
            raise DeliveryFailed(self._sentence(reason)) from error

    def _sentence(self, reason: str) -> str:
        return f"hook {self._name}: {self._settings.address} did not take the notice: {reason}"


def notice_body(notice: Notice) -> str:
    """Write the body; the same notice always gives the same text."""
    content = {
        "type": notice.event,
        "timestamp": notice.slot.astimezone(UTC).isoformat(),
        "data": notice.model_dump(mode="json"),
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _refusal(status: int) -> str:
    if status in _REDIRECT:
        return f"it answered {status}, a redirect, and none is followed; set url to the final place"
    if status in {401, 403}:
        return f"it answered {status}; check that the secret is the receiver's and the url is whole"
    if status in {404, 410}:
        return f"it answered {status}, so nothing listens at that path any more; check url"
    return f"it answered {status}"
