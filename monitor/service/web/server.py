"""Serve an application from a thread of this process, until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from monitor.domain.errors import ConfigRefused, TryLater

if TYPE_CHECKING:
    from monitor.config.pages import Address

    ASGI = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]

REQUEST_SECONDS = 10.0  # How long a connection may take to send the header of a request
MOST = 64  # Connections at a time; watchers need a few, and each takes a file of the process
_START = 30.0  # seconds; uvicorn needs a few milliseconds on an idle machine
_STOP = 5
_STOPPING = (
    {
        "type": "http.response.start",
        "status": HTTPStatus.SERVICE_UNAVAILABLE,
        "headers": [(b"content-type", b"text/plain"), (b"connection", b"close")],
    },
    {"type": "http.response.body", "body": b"It is being stopped; ask again in a moment.\n"},
)
_AMBIGUOUS = (
    {
        "type": "http.response.start",
        "status": HTTPStatus.BAD_REQUEST,
        "headers": [(b"content-type", b"text/plain"), (b"connection", b"close")],
    },
    {
        "type": "http.response.body",
        "body": b"A request has Content-Length or Transfer-Encoding, not both.\n",
    },
)
_QUEUED = 32  # Connections that the system queues until they are accepted


class PatientProtocol(H11Protocol):
    """HTTP with a timeout for clients that connect and send no request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.since = self.loop.time()
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; of too many connections, close the one silent for longest."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            others = [one for one in self.connections if isinstance(one, PatientProtocol)]
            others.remove(self)
            silent = [other for other in others if other.is_waiting]  # the others are answered
            # abort and not close: close waits until the client reads the output, maybe for ever.
            min(silent or others, key=attrgetter("since")).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._stop_waiting()
        self.since = self.loop.time()
        self._patience = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _give_up(self) -> None:
        if self.is_waiting:
            self.transport.close()


class WebServer:
    """A uvicorn server in a thread.

    Raises `TryLater` if another program listens on the address; `ConfigRefused` if this machine has
    no such address, or this user may not listen there.
    """

    def __init__(
        self,
        pages: ASGI,
        address: Address,
        setting: str = "web.listen",
    ) -> None:
        # Bound here, since uvicorn calls sys.exit where an address is taken.
        self._socket = listening(address, setting)
        self._server = uvicorn.Server(
            uvicorn.Config(
                _refusing_two_lengths(_unavailable_when_cut(pages)),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # uvicorn would believe whoever asks from this machine
                http=PatientProtocol,
                ws="none",
                timeout_keep_alive=5,
                timeout_graceful_shutdown=_STOP,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="web", daemon=True
        )

    def start(self) -> None:
        """Start the server; returns once it answers."""
        self._thread.start()
        deadline = time.monotonic() + _START
        while not self._server.started and self._thread.is_alive():
            if time.monotonic() > deadline:
                message = f"web: the server did not start within {_START:.0f} seconds"
                raise TryLater(message)
            time.sleep(0.01)

    def stop(self) -> None:
        """Finish running requests and close the address; takes seconds at most."""
        self._server.should_exit = True
        self._thread.join(2 * _STOP)
        self._socket.close()


def _refusing_two_lengths(pages: ASGI) -> ASGI:
    """Refuse a request with two lengths of its body, and close its connection.

    A proxy that reads the other length would take the rest for the next request, which then carries
    headers that only the proxy may write (RFC 9112, section 6.1).
    """

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            for message in _AMBIGUOUS:
                await send(message)
            return
        await pages(scope, receive, send)

    return answering


def _unavailable_when_cut(pages: ASGI) -> ASGI:
    """Answer requests that a stop interrupts with 503, so that clients try again.

    uvicorn would answer 500, as for a bug, to a request that waits for the store at the stop.
    """

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        has_begun = False

        async def noting(message: Any) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await pages(scope, receive, noting)
        except asyncio.CancelledError:
            if has_begun:
                raise
            for message in _STOPPING:
                await send(message)

    return answering


def listening(address: Address, setting: str) -> socket.socket:
    """Listen on an address."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    both = family is socket.AF_INET6 and socket.has_dualstack_ipv6()
    try:
        return socket.create_server(address, family=family, backlog=_QUEUED, dualstack_ipv6=both)
    except OSError as error:
        where = f"{setting}: {address}"
        if error.errno == errno.EADDRINUSE:
            message = f"{where} is used by another program; stop it, or choose another port"
            raise TryLater(message) from error
        reason = (error.strerror or str(error)).partition(" (while")[0].lower()
        message = f"{where} is not an address of this machine: {reason}"
        if error.errno == errno.EACCES:
            message = f"{where} may not be used by this user; choose a port from 1024 on"
        raise ConfigRefused(message) from error


def is_ours(host_header: str, listen: str) -> bool:
    """Whether a request is for this machine; one without a host comes from no browser.

    A page in somebody's browser may point its own name at this machine (DNS rebinding), but cannot
    make the browser ask for `localhost` or an address.
    """
    name = host_name(host_header)
    if name in {"localhost", listen}:
        return True
    try:
        return not host_header or ipaddress.ip_address(name or "").is_loopback
    except ValueError:
        return False


def host_name(host_header: str) -> str | None:
    """Read the name in a header ``Host``, without its port; None without one.

    >>> host_name("Labels.example.org:8443"), host_name("[::1]:80"), host_name("")
    ('labels.example.org', '::1', None)
    """
    with suppress(ValueError):
        return urlsplit(f"//{host_header}").hostname
    return None
