"""What holds for every request and every answer of the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from monitor.service.web.server import REQUEST_SECONDS, host_name, is_ours

if TYPE_CHECKING:
    from monitor.config.pages import PagesSettings

    ASGI = Callable[[Any, Any, Any], Awaitable[None]]
    Refusal = tuple[HTTPStatus, str]

MOST_BYTES = 4096  # Of what a form sends: a key, a number, an answer and a token

_TOO_LONG = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has up to {MOST_BYTES} bytes"
# Not 408: the script of the page sends again what met a fault of the server.
_TOO_SLOW = HTTPStatus.SERVICE_UNAVAILABLE, f"no form came within {REQUEST_SECONDS:g} seconds"
_NOT_ENCRYPTED = "the proxy in front of the pages has to say X-Forwarded-Proto: https"

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "frame-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",  # with none at all a form would not say where it is from
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Lets in requests for a name of the pages, from their forms and of a bounded size."""

    def __init__(self, app: ASGI, settings: PagesSettings) -> None:
        self._app = app
        self._settings = settings
        self._names = {name.lower() for name in settings.names}
        self._scheme = "https" if settings.is_encrypted else "http"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI), or say why not."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", [])
                named = {name for name, _ in headers}  # an answer that needs others has its own
                message["headers"] = [*headers, *(pair for pair in _PAIRS if pair[0] not in named)]
            await send(message)

        if (refused := self._refusal(scope["method"], headers)) is not None:
            await _refuse(guarded, *refused)
            return
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                body = await _body(receive)
        except TimeoutError:
            await _refuse(guarded, *_TOO_SLOW)
            return
        if body is None:
            return  # who asked has gone, in the middle of a form
        if len(body) > MOST_BYTES:
            await _refuse(guarded, *_TOO_LONG)
            return
        await self._app(scope, _replayed(body, receive), guarded)

    def _refusal(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        host, is_reachable = headers.get("host", ""), self._settings.is_reachable
        is_local = not is_reachable and is_ours(host, self._settings.address.host)
        if host_name(host) not in self._names and not is_local:
            how = "as localhost or by their address"
            if is_reachable:
                how = "by one of pages.names in the config"
            return HTTPStatus.MISDIRECTED_REQUEST, f"the pages are asked for {how}"
        if self._settings.behind_proxy and headers.get("x-forwarded-proto") != "https":
            return HTTPStatus.MISDIRECTED_REQUEST, _NOT_ENCRYPTED
        if method in {"GET", "HEAD"}:
            return None
        # No browser lets a page of another place choose these headers.
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if origin not in {None, f"{self._scheme}://{host}"} or site != "same-origin":
            return HTTPStatus.FORBIDDEN, "this form is of another page"
        return None


async def _body(receive: Any) -> bytes | None:
    """Read what is sent, but no more than shows that it is too long; None if its end never came."""
    body, more = b"", True
    while more and len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Any) -> Callable[[], Awaitable[Any]]:
    """Give the body that was read, and then what comes after it."""
    coming = [{"type": "http.request", "body": body}]

    async def receive_body() -> Any:
        return coming.pop() if coming else await receive()

    return receive_body


async def _refuse(send: Callable[[Any], Awaitable[None]], status: HTTPStatus, why: str) -> None:
    body = f"{why}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # a body that was not read must not pass for a request
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
