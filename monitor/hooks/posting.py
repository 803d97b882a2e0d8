"""Posting to a hook: one address, no redirect, no proxy, and an end in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpcore
import httpx

from monitor.domain.clock import utc_now
from monitor.domain.retry_after import retry_after
from monitor.hooks.answers import denial_in, is_page
from monitor.hooks.receiver import MAY_PASS, SERVER_ERROR, Receiver
from monitor.hooks.ssrf import AddressRefused, GuardedBackend
from monitor.hooks.texts import clean

if TYPE_CHECKING:
    import ssl

    from monitor.domain.errors import DeliveryFailed

_ANSWER = 2000  # bytes of an answer that are read
_SUCCESS = range(200, 300)
_REDIRECT = range(300, 400)


@dataclass(frozen=True, slots=True)
class _HttpAnswer:
    """The answer of a receiver; ``text`` is its beginning."""

    status: int
    retry_after: timedelta | None
    text: str


def post(receiver: Receiver, headers: Mapping[str, str], body: str) -> int:
    """Post and return the status of the answer, which is a success.

    No redirect is followed and no proxy of the environment is used, so that the peer that is
    checked is the peer that gets the notice.

    Raises `DeliveryFailed` if the receiver did not take it, or may not have taken it.
    """
    try:
        answer = _posted(receiver, headers, body)
    except AddressRefused as error:
        raise receiver.failed(str(error), lasting=True) from None
    except httpcore.TimeoutException as error:
        reason = f"it did not answer within {receiver.timeout.total_seconds():g} s"
        raise receiver.failed(reason) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        reason = f"the connection failed ({clean(str(error), 200)})"
        raise receiver.failed(reason) from error
    if answer.status not in _SUCCESS:
        raise _refused(receiver, answer)
    _check_taken(receiver, answer)
    return answer.status


def _check_taken(receiver: Receiver, answer: _HttpAnswer) -> None:
    """Refuse a success whose text says the contrary (`monitor.hooks.answers`)."""
    if is_page(answer.text):
        reason = (
            f"it answered {answer.status} with a web page, as a proxy does that asks to sign in; "
            "see that url leads to the receiver itself, and that this machine may reach it"
        )
        raise receiver.failed(reason)
    if (denial := denial_in(answer.text)) is not None:
        text = f": {clean(answer.text, 300)}" if receiver.repeats else ""
        reason = f"it answered {answer.status}, but said {denial}{text}"
        raise receiver.failed(reason, sink_down=False)


def _refused(receiver: Receiver, answer: _HttpAnswer) -> DeliveryFailed:
    passes = answer.status in MAY_PASS or answer.status >= SERVER_ERROR
    text = f": {clean(answer.text, 300)}" if receiver.repeats and answer.text.strip() else ""
    return receiver.failed(
        _refusal(answer.status) + text,
        sink_down=passes,
        lasting=not passes,
        retry_after=answer.retry_after if passes else None,
    )


def _posted(receiver: Receiver, headers: Mapping[str, str], body: str) -> _HttpAnswer:
    seconds = receiver.timeout.total_seconds()
    backend = GuardedBackend(allow_private=receiver.allow_private, seconds=seconds)
    with (
        httpcore.ConnectionPool(ssl_context=_trust(), network_backend=backend) as pool,
        pool.stream(
            "POST",
            receiver.url,
            headers=[("host", urlsplit(receiver.url).netloc), *headers.items()],
            content=body.encode(),
            extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds)},
        ) as response,
    ):
        answers = {
            name.lower().decode(): value.decode("latin-1") for name, value in response.headers
        }
        status = int(response.status)
        return _HttpAnswer(
            status=status,
            retry_after=retry_after(answers, utc_now()),
            text=_beginning(response, is_success=status in _SUCCESS),
        )


@cache
def _trust() -> ssl.SSLContext:
    """Load the certificates that are trusted, which takes longer than to post."""
    return httpx.create_ssl_context()


def _beginning(response: httpcore.Response, *, is_success: bool) -> str:
    """Read how an answer begins; of a success that breaks off, what came of it."""
    result = b""
    try:
        for part in response.iter_stream():
            result += part
            if len(result) >= _ANSWER:  # an answer may be endless
                break
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError):
        if not is_success:
            raise
    return result[:_ANSWER].decode(errors="replace")


def _refusal(status: int) -> str:
    if status in _REDIRECT:
        return f"it answered {status}, a redirect, and none is followed; set url to the final place"
    if status in {401, 403}:
        return f"it answered {status}; check that the secret is the receiver's and the url is whole"
    if status in {404, 410}:
        return f"it answered {status}, so nothing listens at that path any more; check url"
    return f"it answered {status}"
