"""The three addresses that watchers ask: `/health`, `/ready` and `/metrics`.

Nothing here changes anything, takes parameters or shows what an item holds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, Response

from monitor.service.web.server import is_ours

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"  # of the metrics
AT_ONCE = 8  # Requests that may ask the store; watchers ask one after the other

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_NOT_OURS = "open this service as localhost or by its address, or set web.allow_remote\n"
_BUSY = "too many requests at a time; try again\n"

# FastAPI would send addresses, and so links, to any provider of the process, such as MLflow's.
# Releases without telemetry ignore the argument.
_NO_TELEMETRY: TelemetryConfig = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
    "exclude": lambda _: True,
}


def bare_app() -> FastAPI:
    """Make an application without addresses, whose requests go to no telemetry."""
    return FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would lead from https, behind a proxy, to http
        telemetry=_NO_TELEMETRY,
    )


def watchers_app(
    health: Callable[[], str | None],
    ready: Callable[[], str | None],
    metrics: Callable[[], str],
    *,
    listen: str | None = None,
) -> FastAPI:
    """Make the application that watchers ask.

    health, ready: Return a problem, or None.
    metrics: Returns the metrics as text.
    listen: The address it is on if only this machine may ask (`is_ours`).
        None accepts any name, since others may ask.
    """
    app, room = bare_app(), BoundedSemaphore(AT_ONCE)

    @app.middleware("http")
    async def guarded(
        request: Request, answered: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response: Response = PlainTextResponse(_NOT_OURS, HTTPStatus.MISDIRECTED_REQUEST)
        if listen is None or is_ours(request.headers.get("host", ""), listen):
            response = await answered(request)
        response.headers.update(_HEADERS)
        return response

    async def in_thread(make: Callable[[], Response]) -> Response:
        if not room.acquire(blocking=False):
            retry = {"retry-after": "1"}
            return PlainTextResponse(_BUSY, HTTPStatus.SERVICE_UNAVAILABLE, retry)
        try:
            return await run_in_threadpool(make)
        finally:
            room.release()

    @app.get("/health")
    async def show_health() -> Response:
        # Asks no store, so it needs no thread and is always answered: all threads may be waiting
        # for a store, and a watcher without an answer restarts the service.
        return _answer(health())

    @app.get("/ready")
    async def show_ready() -> Response:
        return await in_thread(lambda: _answer(ready()))

    @app.get("/metrics")
    async def show_metrics() -> Response:
        return await in_thread(lambda: Response(metrics(), media_type=CONTENT_TYPE))

    return app


def _answer(complaint: str | None) -> Response:
    if complaint is None:
        return PlainTextResponse("ok\n")
    return PlainTextResponse(f"{complaint}\n", HTTPStatus.SERVICE_UNAVAILABLE)
