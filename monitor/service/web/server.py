"""Serving an application from a thread of this process, until it is stopped."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from monitor.domain.errors import ConfigRefused, TryLater
from monitor.service.web.idle_timeout import PatientProtocol

if TYPE_CHECKING:
    from monitor.config.web import Address

    ASGI = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]

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
_QUEUED = 32  # Connections that the system keeps until they are taken in


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
        key_files: tuple[Path, Path] | None = None,
    ) -> None:
        certificate, key = key_files or (None, None)
        # Bound here, since uvicorn calls sys.exit where an address is taken.
        self._socket = listening(address, setting)
        self._server = uvicorn.Server(
            uvicorn.Config(
                _unavailable_when_cut(pages),
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # uvicorn would believe whoever asks from this machine
                ssl_certfile=certificate,
                ssl_keyfile=key,
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
        """Begin to answer; returns when it does."""
        self._thread.start()
        deadline = time.monotonic() + _START
        while not self._server.started and self._thread.is_alive():
            if time.monotonic() > deadline:
                message = f"web: the server did not start within {_START:.0f} seconds"
                raise TryLater(message)
            time.sleep(0.01)

    def stop(self) -> None:
        """Answer what is being asked and close the address; takes seconds at most."""
        self._server.should_exit = True
        self._thread.join(2 * _STOP)
        self._socket.close()


def _unavailable_when_cut(pages: ASGI) -> ASGI:
    """Let what a stop cuts off be answered with 503, so that anyone who asked asks again.

    uvicorn would say 500, as for a bug, to a request that waits for the store as the server stops.
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
    try:
        return _bound(address)
    except OSError as error:
        where = f"{setting}: {address}"
        raise _refusal(where, error) from error


def _bound(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    socket_ = socket.socket(family, socket.SOCK_STREAM)
    try:
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # after a restart
        socket_.bind((address.host, address.port))
        socket_.listen(_QUEUED)
    except OSError:
        socket_.close()
        raise
    return socket_


def _refusal(where: str, error: OSError) -> ConfigRefused | TryLater:
    if error.errno == errno.EADDRINUSE:
        message = f"{where} is taken by another program; end that one, or choose another port"
        return TryLater(message)
    if error.errno == errno.EACCES:
        message = f"{where} may not be used by this user; choose a port from 1024 on"
    else:
        message = f"{where} is no address of this machine: {(error.strerror or str(error)).lower()}"
    return ConfigRefused(message)
