"""The three addresses that watchers ask: `/health`, `/ready` and `/metrics`.

Nothing here changes anything, takes parameters or shows what an item holds. uvicorn reads the
requests and writes the answers; three pages need no framework between it and them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Thread
from typing import Any

from monitor.service.web.metrics import CONTENT_TYPE
from monitor.service.web.server import is_ours

AT_ONCE = 8  # Requests that may ask the store; watchers ask one after the other

_HEADERS = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
}
_NOT_OURS = "this service is asked for as localhost or by its address, or needs web.allow_remote\n"
_NOT_HERE = "there are /health, /ready and /metrics\n"
_BUSY = "too many requests at a time; ask again\n"


@dataclass(frozen=True, slots=True)
class _WebAnswer:
    text: str
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


class Pages:
    """The application that uvicorn calls for each request.

    health, ready: Return a complaint; None for all well.
    metrics: Returns them as text.
    listen: The address it is on if only this machine may ask (`is_ours`).
        None accepts any name, since others may ask.
    """

    def __init__(
        self,
        health: Callable[[], str | None],
        ready: Callable[[], str | None],
        metrics: Callable[[], str],
        *,
        listen: str | None = None,
    ) -> None:
        self._health, self._listen = health, listen
        self._in_threads = {
            "/ready": lambda: _answer_text(ready()),
            "/metrics": lambda: _WebAnswer(metrics(), headers={"content-type": CONTENT_TYPE}),
        }
        self._inside = 0

    async def __call__(
        self, scope: Mapping[str, Any], _: object, send: Callable[[Any], Awaitable[None]]
    ) -> None:
        """Answer a request (ASGI), or say why not."""
        hosts = (value.decode("latin-1") for name, value in scope["headers"] if name == b"host")
        answer = await self._answer(scope["method"], scope["path"], next(hosts, ""))
        body = answer.text.encode()
        headers = {**_HEADERS, **answer.headers, "content-length": str(len(body))}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, method: str, path: str, host: str) -> _WebAnswer:
        if self._listen is not None and not is_ours(host, self._listen):
            return _WebAnswer(_NOT_OURS, HTTPStatus.MISDIRECTED_REQUEST)
        if path not in {"/health", *self._in_threads}:
            return _WebAnswer(_NOT_HERE, HTTPStatus.NOT_FOUND)
        if method != "GET":
            return _WebAnswer("GET only\n", HTTPStatus.METHOD_NOT_ALLOWED, {"allow": "GET"})
        if path == "/health":
            # Asks no store, so it needs no thread and is always answered: all threads may be
            # waiting for a store, and who gets no answer here restarts the service.
            return _answer_text(self._health())
        return await self._in_thread(self._in_threads[path])

    async def _in_thread(self, page: Callable[[], _WebAnswer]) -> _WebAnswer:
        if self._inside >= AT_ONCE:
            return _WebAnswer(_BUSY, HTTPStatus.SERVICE_UNAVAILABLE, {"retry-after": "1"})
        self._inside += 1
        try:
            return await asyncio.wrap_future(_begun(page))
        finally:
            self._inside -= 1


def _begun(page: Callable[[], _WebAnswer]) -> Future[_WebAnswer]:
    """Begin to make a page in its own thread.

    A daemon outside any pool, since Python waits for pools at its end: a page may wait for a store
    that never answers, and the service has to end nevertheless.
    """
    answer: Future[_WebAnswer] = Future()
    answer.set_running_or_notify_cancel()

    def make() -> None:
        try:
            answer.set_result(page())
        except BaseException as error:  # noqa: BLE001  it is raised where somebody waits for it
            answer.set_exception(error)

    Thread(target=make, name="page", daemon=True).start()
    return answer


def _answer_text(complaint: str | None) -> _WebAnswer:
    if complaint is None:
        return _WebAnswer("ok\n")
    return _WebAnswer(f"{complaint}\n", HTTPStatus.SERVICE_UNAVAILABLE)
