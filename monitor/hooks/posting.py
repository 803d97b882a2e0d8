"""HTTP: one address, no redirect, no proxy, and an end in time and size; and posting to a hook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard
from urllib.parse import urlsplit

import httpcore
import httpx

from monitor.domain.ports import utc_now
from monitor.domain.retry_after import retry_after
from monitor.domain.visible import clean
from monitor.hooks.receiver import Receiver, json_object, may_pass
from monitor.hooks.ssrf import AddressRefused, GuardedBackend

if TYPE_CHECKING:
    import ssl

_ANSWER = 2000  # bytes of an answer that are read
_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PAGE = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html|head)\b", re.IGNORECASE)
_TEAMS = re.compile(
    r"\s*\"?webhook (?:message delivery failed|bad request)"
    r"(?:.*?HTTP error (?P<status>[1-5]\d\d))?",
    re.IGNORECASE | re.DOTALL,
)
_FALSE = ("ok", "success")
_FAILED = ("error", "fail", "failed", "failure")
_ERRORS = ("error", "errors", "errorMessage")
_ERROR = 400


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer of a server; ``text`` is its beginning."""

    status: int
    retry_after: timedelta | None
    text: str


class NoAnswer(Exception):
    """No answer came, or no whole one: the text says why, after the name of who was asked."""

    def __init__(self, why: str, *, timed_out: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out


def post(receiver: Receiver, headers: Mapping[str, str], body: str) -> int:
    """Post a notice as JSON and return the status of the answer, which is a success.

    Raises `DeliveryFailed` if the receiver did not take it, or may not have taken it.
    """
    headers = {"content-type": "application/json", "user-agent": "mlflow-pr-monitor", **headers}
    seconds = receiver.timeout.total_seconds()
    try:
        with closing(Connections(allow_private=receiver.allow_private)) as connections:
            answer = connections.ask("POST", receiver.url, headers, body, seconds)
    except AddressRefused as error:
        raise receiver.failed(str(error), lasting=True) from None
    except NoAnswer as error:
        raise receiver.failed(str(error)) from error
    if answer.status not in _SUCCESS:
        passes = may_pass(answer.status)
        raise receiver.failed(
            _refusal(answer.status),
            sink_down=passes,
            lasting=not passes,
            retry_after=answer.retry_after if passes else None,
        )
    if _PAGE.match(_COMMENT.sub("", answer.text)) is not None:
        reason = (
            f"it answered {answer.status} with a web page, as a sign-in proxy does; "
            "check that url points to the receiver itself, and that this machine can reach it"
        )
        raise receiver.failed(reason)
    if (denial := _denial_in(answer.text)) is not None:
        reason = f"it answered {answer.status}, but said {denial}"
        raise receiver.failed(reason, sink_down=False)
    return answer.status


class Connections:
    """Connections that stay open from one request of a thread to its next, and close with this.

    No redirect is followed and no proxy of the environment is used, so that the peer that is
    checked is the peer that gets the request.
    """

    def __init__(self, *, allow_private: bool, trust: ssl.SSLContext | None = None) -> None:
        self._backend = GuardedBackend(allow_private=allow_private)
        self._pool = httpcore.ConnectionPool(trust or _trust(), network_backend=self._backend)

    def close(self) -> None:
        """Close them."""
        self._pool.close()

    __del__ = close

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str | None,
        seconds: float,
        *,
        at_most: int = _ANSWER,
        whole: bool = False,
    ) -> HttpAnswer:
        """Make a request, and return the answer that came within ``seconds``.

        Reads ``at_most`` bytes of it. The beginning of a success that breaks off counts, unless
        the answer has to be ``whole``.

        Raises `AddressRefused`, or `NoAnswer`.
        """
        self._backend.end_in(seconds)
        try:
            with self._pool.stream(
                method,
                url,
                headers=[("host", urlsplit(url).netloc), *headers.items()],
                content=None if body is None else body.encode(),
                extensions={
                    "timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)
                },
            ) as response:
                named = {
                    name.lower().decode(): value.decode("latin-1")
                    for name, value in response.headers
                }
                whole = whole or response.status not in _SUCCESS
                text = _beginning(response, at_most, whole=whole)
                return HttpAnswer(response.status, retry_after(named, utc_now()), text)
        except httpcore.TimeoutException as error:
            why = f"it did not answer within {seconds:g} s"
            raise NoAnswer(why, timed_out=True) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            why = f"the connection failed ({clean(str(error), 200)})"
            raise NoAnswer(why) from error


@cache
def _trust() -> ssl.SSLContext:
    """Load the certificates that are trusted, which takes longer than to ask."""
    return httpx.create_ssl_context()


def _beginning(response: httpcore.Response, at_most: int, *, whole: bool) -> str:
    beginning = bytearray()  # bytes would be copied whole with each part
    try:
        for part in response.iter_stream():
            beginning += part
            if len(beginning) >= at_most:  # an answer may be endless
                break
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError):
        if whole:
            raise
    return beginning[:at_most].decode(errors="replace")


def _refusal(status: int) -> str:
    if status in _REDIRECT:
        return (
            f"it answered {status}, a redirect, which is not followed; set url to the final address"
        )
    if status in {401, 403}:
        return f"it answered {status}; check that the secret is right and the url complete"
    if status in {404, 410}:
        return f"it answered {status}, so nothing listens at that path any more; check url"
    return f"it answered {status}"


def _denial_in(text: str) -> str | None:
    """Return what in an answer says that the notice was not taken; None if nothing does.

    Nothing is repeated that may hold a secret.

    >>> _denial_in('{"ok": false, "error": "channel_not_found"}')
    '"ok": false'
    >>> _denial_in("Webhook message delivery failed with error: endpoint returned HTTP error 429")
    'webhook message delivery failed, HTTP error 429'
    >>> _denial_in("1"), _denial_in('{"ok": true}'), _denial_in('{"errcode": 0}'), _denial_in("")
    (None, None, None, None)
    """
    if (failed := _TEAMS.match(text)) is not None:
        status = failed["status"]
        return "webhook message delivery failed" + (f", HTTP error {status}" if status else "")
    return _denial_in_json(json_object(text) or {})


def _denial_in_json(answer: dict[str, Any]) -> str | None:
    for name in _FALSE:
        if str(answer.get(name)).lower() == "false":
            return f'"{name}": false'
    code = answer.get("errcode")
    if _is_number(code) and code != 0:
        return f'"errcode": {code}'
    if "msg" in answer and _is_number(answer.get("code")) and answer["code"] >= _ERROR:
        return f'"code": {answer["code"]}'
    if str(answer.get("status")).lower() in _FAILED:
        return f'"status": "{str(answer["status"]).lower()}"'
    if any(answer.get(name) is True for name in _FALSE):
        return None
    return next((f'"{name}"' for name in _ERRORS if answer.get(name)), None)


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
