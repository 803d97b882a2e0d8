"""MLflow's server over plain HTTP: each request once, with MLflow's own credentials, and an end.

MLflow's client is not used: importing it costs 100 MB in a process that otherwise does without
(`monitor.service.mlflow_process`), and its retries have no end that suits a pass.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from monitor.domain.crashpoint import outside
from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.masking import masked, secrets_of
from monitor.domain.mlflow_login import http_client, secrets
from monitor.domain.visible import visible
from monitor.hooks.receiver import json_object, may_pass

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64_000_000  # Of one answer; that of 300 traces has less than one of it

NOT_THERE, THERE_ALREADY = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS"

_DENIED = frozenset({401, 403})
_REDIRECT = 300
_SLOW = "it sends too slowly"
_LONGEST = 300  # characters of what the server said


class MlflowRefused(LabelsRefused):
    """MLflow answered that it does not do it; ``code`` is MLflow's own word for why."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class MlflowRest:
    """Makes requests to one server, over one connection while it is open."""

    uri: str
    timeout: timedelta  # Of one request: of connecting and sending, and of all of its answer.
    client: httpx.Client | None = None

    @property
    def shown(self) -> str:
        """The address without user and password."""
        parts = urlsplit(self.uri)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path.rstrip('/')}"

    @contextmanager
    def open(self) -> Iterator[MlflowRest]:
        """Keep one connection for several requests."""
        try:
            client = http_client(self.timeout.total_seconds())
        except UnicodeError:
            raise self._unsendable() from None
        with client:
            yield replace(self, client=client)

    def get(self, path: str, **params: str | int) -> dict[str, Any]:
        """Ask for something; raises as `post` does."""
        return self._ask("GET", path, params=params)

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Post a body as JSON, and return the answer, which is an empty one where it is not JSON.

        Raises `MlflowRefused` if MLflow does not do it, however often it is asked;
        `LabelsUnavailable` if it does not answer, or not now.
        """
        return self._ask("POST", path, json=body, headers=headers)

    def find(self, path: str, **params: str | int) -> dict[str, Any] | None:
        """Ask for something that may not be there."""
        try:
            return self.get(path, **params)
        except MlflowRefused as error:
            if error.code == NOT_THERE:
                return None
            raise

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        import httpx  # noqa: PLC0415

        assert self.client is not None  # noqa: S101  it is open
        address = f"{self.uri.rstrip('/')}{path}"
        try:
            with outside(f"mlflow {path}"), self.client.stream(method, address, **more) as response:
                status, text = response.status_code, self._text(response)
        except (httpx.LocalProtocolError, UnicodeError):
            raise self._unsendable() from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._no_answer(str(error) or type(error).__name__) from None
        return self._read(path, status, text)

    def _text(self, response: httpx.Response) -> str:
        """Read an answer that may be endless, or come byte by byte."""
        end = time.monotonic() + self.timeout.total_seconds()
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                message = f"MLflow at {self.shown} answers more than {MOST_BYTES:,} bytes"
                raise MlflowRefused(message)
            if time.monotonic() > end:
                raise self._no_answer(_SLOW)
        return b"".join(parts).decode(errors="replace")

    def _read(self, path: str, status: int, text: str) -> dict[str, Any]:
        answer = json_object(text)
        if status < _REDIRECT:
            return answer or {}
        if may_pass(status):
            why = f"it answers {status}"
            raise self._no_answer(why)
        where = f"MLflow at {self.shown}"
        if status in _DENIED:
            message = (
                f"{where} refuses {path} ({status}): set MLFLOW_TRACKING_USERNAME and "
                "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, for a user who may edit there"
            )
            raise MlflowRefused(message)
        if answer is None:
            hint = "is mlflow.tracking_uri right, and is it MLflow 3.17.2 or later?"
            message = f"{where} does not know {path} (it answers {status}); {hint}"
            raise MlflowRefused(message)
        reason = self._cleaned(str(answer.get("message", "")))
        message = f"{where} does not do {path}: {reason or status}"
        raise MlflowRefused(message, str(answer.get("error_code", "")))

    def _no_answer(self, why: str) -> LabelsUnavailable:
        message = (
            f"MLflow at {self.shown} does not answer ({self._cleaned(why)}); labeling "
            "there waits and is tried again"
        )
        return LabelsUnavailable(message)

    def _unsendable(self) -> MlflowRefused:
        """Refuse credentials that cannot be sent; what the library says of them holds them."""
        return MlflowRefused(
            f"MLflow at {self.shown} cannot be asked: MLFLOW_TRACKING_TOKEN or another credential "
            "contains what no header may have, such as a line break or a letter with an accent"
        )

    def _cleaned(self, text: str) -> str:
        """Shorten a message of another program to one line, without our credentials."""
        credentials = {*secrets(), *secrets_of({"uri": self.uri})}
        return visible(masked(text, credentials))[:_LONGEST]
