"""Connections that ask nothing: closed after some seconds, or at once where others need room."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

REQUEST_SECONDS = 10.0
"""How long a connection may take to ask: to send the header of a request, whole."""

MOST = 64  # Connections at a time; watchers need a few, and each takes a file of the process


class PatientProtocol(H11Protocol):
    """HTTP, with an end to the patience for anyone who connects and asks nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.since = self.loop.time()
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; of too many connections the one silent for longest goes."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            _make_room(connection for connection in self.connections if connection is not self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
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


def _make_room(connections: Iterable[object]) -> None:
    """Cut off who has been silent for longest; who is being answered only if nobody is silent."""
    patient = [other for other in connections if isinstance(other, PatientProtocol)]
    silent = [protocol for protocol in patient if protocol.is_waiting]
    # abort and not close: close waits until what was written is read, which may be never.
    min(silent or patient, key=attrgetter("since")).transport.abort()
