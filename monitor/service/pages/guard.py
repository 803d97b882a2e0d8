"""Checks of every request, and headers of every response of the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import HTTPException
from fastapi.responses import PlainTextResponse

from monitor.service.web.server import REQUEST_SECONDS, host_name, is_ours

if TYPE_CHECKING:
    from monitor.config.pages import PagesSettings

    ASGI = Callable[[Any, Any, Any], Awaitable[None]]

MOST_BYTES = 4096  # Of what a form sends: a key, a number, an answer and a token

_TOO_LONG = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has up to {MOST_BYTES} bytes"
# Not 408: the script of the page sends again what met a fault of the server.
_TOO_SLOW = HTTPStatus.SERVICE_UNAVAILABLE, f"no form came within {REQUEST_SECONDS:g} seconds"
_NOT_ENCRYPTED = "the proxy in front of the pages must send X-Forwarded-Proto: https"

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
    "referrer-policy": "same-origin",  # with no-referrer, a form would hide its origin
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Lets in requests for a name of the pages, from their forms and of a bounded size."""

    def __init__(self, app: ASGI, settings: PagesSettings) -> None:
        self._app = app
        self._settings = settings
        self._names = {name.lower() for name in settings.names}
        self._scheme = "https" if settings.behind_proxy else "http"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI), or refuse it with a reason."""

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = message.get("headers", [])
                named = {name for name, _ in headers}  # an answer that needs others has its own
                message["headers"] = [*headers, *(pair for pair in _PAIRS if pair[0] not in named)]
            await send(message)

        try:
            body = await self._body_of(scope, receive)
        except ConnectionAbortedError:
            return  # in the middle of a form
        except HTTPException as refused:
            closing = {"connection": "close"}  # a body that was not read is no request
            answer = PlainTextResponse(f"{refused.detail}\n", refused.status_code, closing)
            await answer(scope, receive, guarded)
        else:
            await self._app(scope, _replayed(body, receive), guarded)

    async def _body_of(self, scope: Any, receive: Any) -> bytes:
        """Read the body of a request that is let in. Raises `HTTPException` for any other."""
        # Of a header that comes twice the last counts: a proxy writes its own behind the client's.
        headers = {key.decode("latin-1"): of.decode("latin-1") for key, of in scope["headers"]}
        self._check(scope["method"], headers)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                body = await _body(receive)
        except TimeoutError:
            raise HTTPException(*_TOO_SLOW) from None
        if len(body) > MOST_BYTES:
            raise HTTPException(*_TOO_LONG)
        return body

    def _check(self, method: str, headers: Mapping[str, str]) -> None:
        host, is_reachable = headers.get("host", ""), self._settings.is_reachable
        is_local = not is_reachable and is_ours(host, self._settings.address.host)
        if host_name(host) not in self._names and not is_local:
            how = "as localhost or by their address"
            if is_reachable:
                how = "by one of pages.names in the config"
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, f"open the pages {how}")
        if self._settings.behind_proxy and headers.get("x-forwarded-proto") != "https":
            raise HTTPException(HTTPStatus.MISDIRECTED_REQUEST, _NOT_ENCRYPTED)
        if method in {"GET", "HEAD"}:
            return
        # No browser lets a page of another place choose these headers.
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if origin not in {None, f"{self._scheme}://{host}"} or site != "same-origin":
            raise HTTPException(HTTPStatus.FORBIDDEN, "this form belongs to another page")


async def _body(receive: Any) -> bytes:
    """Read the body, but stop once it is too long."""
    body, more = b"", True
    while more and len(body) <= MOST_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionAbortedError
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _replayed(body: bytes, receive: Any) -> Callable[[], Awaitable[Any]]:
    """Return a ``receive`` that repeats the body, and then what comes after it."""
    coming = [{"type": "http.request", "body": body}]

    async def receive_body() -> Any:
        return coming.pop() if coming else await receive()

    return receive_body
