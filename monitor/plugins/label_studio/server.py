"""Asking a Label Studio: one address, no redirect, no proxy, and an end in time and size."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx

from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.visible import visible

if TYPE_CHECKING:
    import ssl

SECONDS = 30.0
"""That the server has to connect, to take a request, or to send the next piece of its answer."""

WHOLE = 120.0  # Seconds for a whole answer, however slowly its pieces come
MOST_BYTES = 100_000_000  # Of one answer: a page of tasks holds two hundred texts
_LIFE = 240.0  # Seconds that an access token is used; the server gives it 300

_MAY_PASS = {408, 425, 429}
_SERVER_ERROR = 500
_LONGEST = 300


class Server:
    """A Label Studio and the token that it is asked with.

    A legacy token goes with each request. A personal access token only gets access tokens, which
    the server lets live for five minutes.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._token = token
        self._access = ""
        self._access_since = 0.0

    def ask(
        self,
        method: str,
        path: str,
        params: Mapping[str, str | int] | None = None,
        body: object = None,
    ) -> Any:
        """Ask, and return what the answer holds; None if it is empty.

        Raises `LabelsUnavailable` if the server did not answer, or says that it cannot now;
        `LabelsRefused` if it refuses, or is no Label Studio.
        """
        status, content = self._sent(method, path, self._authorization(), params, body)
        if status == HTTPStatus.UNAUTHORIZED and self._access:
            self._access = ""  # it was ended before its time, as by a restart with another key
            status, content = self._sent(method, path, self._authorization(), params, body)
        return self._answer(method, path, status, content)

    @property
    def _is_personal(self) -> bool:
        return self._token.count(".") == 2  # noqa: PLR2004  a JWT has three parts

    def _authorization(self) -> str:
        if not self._is_personal:
            return f"Token {self._token}"
        if not self._access or time.monotonic() - self._access_since > _LIFE:
            method, path, since = "POST", "/api/token/refresh/", time.monotonic()
            status, content = self._sent(method, path, None, None, {"refresh": self._token})
            answer = self._answer(method, path, status, content)
            access = answer.get("access") if isinstance(answer, dict) else None
            if not isinstance(access, str) or not access.isascii() or not access.isprintable():
                reason = "its answer holds no access token"
                raise self._unexpected(method, path, reason)
            self._access, self._access_since = access, since
        return f"Bearer {self._access}"

    def _sent(
        self,
        method: str,
        path: str,
        authorization: str | None,
        params: Mapping[str, str | int] | None,
        body: object,
    ) -> tuple[int, bytes]:
        headers = {} if authorization is None else {"authorization": authorization}
        what = self._what(method, path)
        try:
            with (
                outside("label studio"),
                _client() as client,
                client.stream(
                    method, self.url + path, params=params, headers=headers, json=body
                ) as response,
            ):
                return response.status_code, self._content(response, method, path)
        except httpx.TimeoutException as error:
            message = f"{what}: it did not answer within {SECONDS:g} s; {_RETRIED}"
            raise LabelsUnavailable(message) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            reason = self._clean(str(error) or type(error).__name__)
            message = f"{what}: the connection failed ({reason}); {_RETRIED}"
            raise LabelsUnavailable(message) from error

    def _content(self, response: httpx.Response, method: str, path: str) -> bytes:
        end, content = time.monotonic() + WHOLE, bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > MOST_BYTES:
                reason = f"its answer is longer than {MOST_BYTES // 1_000_000} MB"
                raise self._unexpected(method, path, reason)
            if time.monotonic() > end:
                what = self._what(method, path)
                message = f"{what}: its answer took longer than {WHOLE:g} s; {_RETRIED}"
                raise LabelsUnavailable(message)
        return bytes(content)

    def _answer(self, method: str, path: str, status: int, content: bytes) -> Any:
        if status in range(200, 300):
            return self._read(method, path, content)
        what, answer = self._what(method, path), self._answer_text(content)
        if status in _MAY_PASS or status >= _SERVER_ERROR:
            message = f"{what}: it answered {status}{answer}; {_RETRIED}"
            raise LabelsUnavailable(message)
        message = f"{what}: it answered {status}{answer}; {_what_to_do(status)}"
        raise LabelsRefused(message)

    def _read(self, method: str, path: str, content: bytes) -> Any:
        if not content:
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._unexpected(method, path, "its answer is not JSON") from error

    def _answer_text(self, content: bytes) -> str:
        """Repeat what the server says is wrong, where it says it as Label Studio does."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(answer, dict):
            return ""
        answers = [answer[name] for name in ("detail", "validation_errors") if answer.get(name)]
        return f" ({self._clean(', '.join(map(str, answers)))})" if answers else ""

    def _clean(self, text: str) -> str:
        """Cut a text of the server's and take secrets out of it, should it repeat them."""
        for secret in filter(None, (self._token, self._access)):
            text = text.replace(secret, "<token>")
        return visible(" ".join(text.split()))[:_LONGEST]

    def _unexpected(self, method: str, path: str, why: str) -> LabelsRefused:
        message = f"{self._what(method, path)}: {why}; {_IS_IT_ONE}"
        return LabelsRefused(message)

    def _what(self, method: str, path: str) -> str:
        return f"Label Studio at {self.url} was asked {method} {path}"


_RETRIED = "it is tried again; is the server up, and is labeling.url its address?"
_IS_IT_ONE = "is labeling.url the address of a Label Studio?"


def _client() -> httpx.Client:
    return httpx.Client(
        follow_redirects=False,
        trust_env=False,
        timeout=SECONDS,
        verify=_trust(),
        headers={"accept": "application/json", "user-agent": "mlflow-pr-monitor"},
    )


@cache
def _trust() -> ssl.SSLContext:
    """Load the certificates that are trusted, which takes longer than to ask."""
    return httpx.create_ssl_context(trust_env=False)


def _what_to_do(status: int) -> str:
    if status in range(300, 400):
        return "that is a redirect, and none is followed; set labeling.url to the final address"
    if status == HTTPStatus.UNAUTHORIZED:
        return (
            "labeling.token is not valid there; copy it again from Account & Settings, or make a "
            "new one (of legacy tokens see whether the organization allows them)"
        )
    if status == HTTPStatus.FORBIDDEN:
        return "the account of labeling.token may not do this; give it a role that may"
    if status == HTTPStatus.NOT_FOUND:
        return f"nothing is there; {_IS_IT_ONE}"
    return "the log of Label Studio may say more"
