"""Who is let in: requests for a name of this machine, and not more at a time than can be answered.

A page in somebody's browser may point a name of its own at this machine (DNS rebinding) and read
the answers. It cannot make the browser ask for `localhost` or an address instead of that name.
"""

from __future__ import annotations

import ipaddress
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

AT_ONCE = 8
"""Requests that may ask the store; watchers ask one after the other."""

UNASKED = "/health"
"""Asks no store and is always answered: who gets no answer there restarts the service."""

_NOT_OURS = "this service is asked for as localhost or by its address, or needs web.allow_remote\n"
_BUSY = "too many requests at a time; ask again\n"


class Door:
    """Let requests in to an application.

    Parameters
    ----------
    listen
        The address that the config names; None: any name will do, since others may ask.
    """

    def __init__(self, app: ASGIApp, listen: str | None = None) -> None:
        self._app = app
        self._listen = listen
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with the reason."""
        if self._listen is not None and not _is_ours(Headers(scope=scope), self._listen):
            refusal = PlainTextResponse(_NOT_OURS, HTTPStatus.MISDIRECTED_REQUEST)
            await refusal(scope, receive, send)
        elif scope["path"] == UNASKED:
            await self._app(scope, receive, send)
        elif self._inside >= AT_ONCE:
            refusal = PlainTextResponse(
                _BUSY, HTTPStatus.SERVICE_UNAVAILABLE, headers={"retry-after": "1"}
            )
            await refusal(scope, receive, send)
        else:
            self._inside += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._inside -= 1


def _is_ours(headers: Headers, listen: str) -> bool:
    """Whether a request is for this machine; one without a host is of no browser."""
    asked = headers.get("host", "")
    host = None
    with suppress(ValueError):
        host = urlsplit(f"//{asked}").hostname
    if host in {"localhost", listen}:
        return True
    try:
        return not asked or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
