"""What holds for every request and every answer of the page, whatever it is for."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from monitor.service.web.door import is_ours

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    ASGI = Callable[[Any, Any, Any], Awaitable[None]]

MOST_BYTES = 4096
"""Of what a form sends: a key, a number, an answer and a token."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
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
    """Lets in requests for a name of this machine, of its own pages and of a bounded size.

    Parameters
    ----------
    app
        The page.
    listen
        The address that it is on.
    """

    def __init__(self, app: ASGI, listen: str) -> None:
        self._app = app
        self._listen = listen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI), or say why not."""
        asked = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_PAIRS]
            await send(message)

        refused = self._refusal(scope["method"], asked)
        if refused is None:
            await self._app(scope, receive, guarded)
            return
        status, why = refused
        body = f"{why}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),  # a body that was not read must not pass for a request
        ]
        await guarded({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, method: str, asked: Mapping[str, str]) -> tuple[HTTPStatus, str] | None:
        host = asked.get("host", "")
        if not is_ours(host, self._listen):
            why = "the labeling page is asked for as localhost or by its address"
            return HTTPStatus.MISDIRECTED_REQUEST, why
        if method in {"GET", "HEAD"}:
            return None
        # No browser lets a page of another place choose these headers.
        origin, site = asked.get("origin"), asked.get("sec-fetch-site", "same-origin")
        if origin not in {None, f"http://{host}"} or site != "same-origin":
            return HTTPStatus.FORBIDDEN, "this form is of another page"
        size = asked.get("content-length", "")
        if not size.isdecimal():
            return HTTPStatus.LENGTH_REQUIRED, "say how long the request is"
        if int(size) > MOST_BYTES:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a form has up to {MOST_BYTES} bytes"
        return None


_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
