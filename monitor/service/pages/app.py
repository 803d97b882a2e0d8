"""The application of the pages: their addresses, and what becomes of a request that is refused."""

from http import HTTPStatus
from pathlib import Path
from typing import cast

import structlog
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig

from monitor.domain.errors import MonitorError
from monitor.service.pages import entrance
from monitor.service.pages.entrance import Entrance
from monitor.service.pages.guard import Guard
from monitor.service.pages.labeling import addresses as labeling
from monitor.service.pages.labeling.desk import Desk
from monitor.service.pages.rendering import message_answer
from monitor.service.pages.requests import PageRefused
from monitor.service.pages.visits import Visits

log = structlog.get_logger("monitor.pages")

# FastAPI would tell any provider of the process, such as MLflow's, the addresses and so the links.
_NO_TELEMETRY: TelemetryConfig = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
    "exclude": lambda _: True,
}


def pages_app(desk: Desk, way_in: Entrance, *, host: str, port: int) -> Guard:
    """Make the application that serves the pages on an address of this machine."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, telemetry=_NO_TELEMETRY)
    app.state.desk = desk
    app.state.visits = Visits(desk.database, desk.clock)
    app.state.entrance = way_in
    app.state.cookie = f"pr_monitor_{port}"  # its ports share a machine's cookies
    app.add_exception_handler(PageRefused, _refused)
    for status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        app.add_exception_handler(status, _no_page)
    app.add_exception_handler(MonitorError, _unavailable)
    app.get("/")(first_page)
    app.include_router(entrance.router)
    app.include_router(labeling.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    return Guard(app, host)


def first_page() -> Response:
    """Lead to the labeling page."""
    return RedirectResponse("/label")


def _refused(request: Request, error: Exception) -> Response:
    refused = cast("PageRefused", error)
    return message_answer(request, refused.status, refused.message)


def _no_page(request: Request, error: Exception) -> Response:
    status = cast("HTTPException", error).status_code
    return message_answer(request, HTTPStatus(status), "There is no such page here.")


def _unavailable(request: Request, error: Exception) -> Response:
    log.warning("a page cannot be shown now", reason=str(error))
    message = "The store cannot be used now. Nothing was lost; try again in a moment."
    return message_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, message)
