"""The three addresses that watchers ask: `/health`, `/ready` and `/metrics`.

Nothing here changes anything, takes parameters or shows what an item holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from monitor.service.web.door import UNASKED, Door
from monitor.service.web.metrics import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True, slots=True)
class Answers:
    """What the addresses answer: two complaints, None for all well, and the metrics as text."""

    health: Callable[[], str | None]
    ready: Callable[[], str | None]
    metrics: Callable[[], str]


def make_app(answers: Answers, *, listen: str | None = None) -> FastAPI:
    """Build the application.

    Parameters
    ----------
    listen
        The address it is on, if only this machine may ask; see `monitor.service.web.door`.
    """
    app = FastAPI(openapi_url=None)
    app.add_middleware(Door, listen=listen)

    @app.get(UNASKED)
    async def health() -> PlainTextResponse:  # in no thread, since those may all wait for a store
        return _page(answers.health())

    # Functions that are not async run in threads, so that a slow store delays no other answer.
    @app.get("/ready")
    def ready() -> PlainTextResponse:
        return _page(answers.ready())

    @app.get("/metrics")
    def metrics() -> PlainTextResponse:
        headers = {**_HEADERS, "content-type": CONTENT_TYPE}
        return PlainTextResponse(answers.metrics(), headers=headers)

    return app


def _page(complaint: str | None) -> PlainTextResponse:
    status = HTTPStatus.OK if complaint is None else HTTPStatus.SERVICE_UNAVAILABLE
    text = "ok" if complaint is None else complaint
    return PlainTextResponse(f"{text}\n", status, headers=_HEADERS)
