"""Asking a Label Studio: one address, no redirect, no proxy, and an end in time and size."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.visible import visible
from monitor.hooks.posting import Connections, HttpAnswer, NoAnswer
from monitor.hooks.receiver import json_object, may_pass

SECONDS = 60.0  # For a request and its whole answer
MOST_BYTES = 100_000_000  # Of one answer: a page of tasks holds two hundred texts
_LIFE = 240.0  # Seconds that an access token is used; the server gives it 300
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
        answer = self._sent(method, path, self._authorization(), params, body)
        if answer.status == HTTPStatus.UNAUTHORIZED and self._access:
            self._access = ""  # it was ended before its time, as by a restart with another key
            answer = self._sent(method, path, self._authorization(), params, body)
        return self._read(method, path, answer)

    @property
    def _is_personal(self) -> bool:
        return self._token.count(".") == 2  # noqa: PLR2004  a JWT has three parts

    def _authorization(self) -> str:
        if not self._is_personal:
            return f"Token {self._token}"
        if not self._access or time.monotonic() - self._access_since > _LIFE:
            method, path, since = "POST", "/api/token/refresh/", time.monotonic()
            sent = self._sent(method, path, None, None, {"refresh": self._token})
            answer = self._read(method, path, sent)
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
    ) -> HttpAnswer:
        headers = {"accept": "application/json", "user-agent": "mlflow-pr-monitor"}
        headers |= {} if authorization is None else {"authorization": authorization}
        headers |= {} if body is None else {"content-type": "application/json"}
        url = f"{self.url}{path}?{urlencode(params)}" if params else self.url + path
        try:
            with (
                outside("label studio"),
                closing(Connections(allow_private=True)) as connections,
            ):
                return connections.ask(
                    method,
                    url,
                    headers,
                    None if body is None else json.dumps(body),
                    SECONDS,
                    at_most=MOST_BYTES,
                    whole=True,
                )
        except NoAnswer as error:
            message = f"{self._what(method, path)}: {self._clean(str(error))}; {_RETRIED}"
            raise LabelsUnavailable(message) from error

    def _read(self, method: str, path: str, answer: HttpAnswer) -> Any:
        status, what = answer.status, self._what(method, path)
        if status in range(200, 300):
            if len(answer.text.encode()) >= MOST_BYTES:
                reason = f"its answer is longer than {MOST_BYTES // 1_000_000} MB"
                raise self._unexpected(method, path, reason)
            try:
                return json.loads(answer.text) if answer.text else None
            except (ValueError, RecursionError) as error:
                raise self._unexpected(method, path, "its answer is not JSON") from error
        reason = f"it answered {status}{self._answer_text(answer.text)}"
        if may_pass(status):
            message = f"{what}: {reason}; {_RETRIED}"
            raise LabelsUnavailable(message)
        message = f"{what}: {reason}; {_what_to_do(status)}"
        raise LabelsRefused(message)

    def _answer_text(self, text: str) -> str:
        """Repeat what the server says is wrong, where it says it as Label Studio does."""
        answer = json_object(text) or {}
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
