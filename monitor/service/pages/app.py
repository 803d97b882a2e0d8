"""The application of the pages: their addresses, and what becomes of a request that is refused."""

from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, cast

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from monitor.config.pages import PagesSettings
from monitor.domain.errors import MonitorError
from monitor.service.pages import link_login, requests, sign_in
from monitor.service.pages.guard import Guard
from monitor.service.pages.labeling import addresses as labeling
from monitor.service.pages.labeling import conflicts, figures, own_answers
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.link_login import LinkLogin
from monitor.service.pages.rendering import message_answer, wants_json
from monitor.service.pages.requests import PageRefused, cookie_name
from monitor.service.pages.sessions import Sessions
from monitor.service.pages.sign_in import SignIn
from monitor.service.pages.status import addresses as status
from monitor.service.pages.status.board import Board

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

log = structlog.get_logger("monitor.pages")

# FastAPI would tell any provider of the process, such as MLflow's, the addresses and so the links.
# Releases without telemetry keep the argument among what they do not know.
_NO_TELEMETRY: "TelemetryConfig" = {
    "auto_configure": False,
    "tracing": False,
    "metrics": False,
    "logs": False,
    "exclude": lambda _: True,
}


def pages_app(
    queue: TaskQueue, way_in: LinkLogin | SignIn, board: Board, settings: PagesSettings
) -> Guard:
    """Make the application that serves the pages."""
    app = FastAPI(
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would lead from https, behind a proxy, to http
        telemetry=_NO_TELEMETRY,
    )
    app.state.desk = queue
    app.state.board = board
    app.state.visits = Sessions(queue.database, queue.clock, way_in)
    app.state.way_in = way_in
    app.state.settings = settings
    app.state.cookie = cookie_name(settings)
    app.add_exception_handler(PageRefused, _refused)
    # A number or a word of an address may be invalid, such as in /monitors/mail/rounds/x.
    for no_page in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, RequestValidationError):
        app.add_exception_handler(no_page, _no_page)
    app.add_exception_handler(MonitorError, _unavailable)
    app.include_router(link_login.router if isinstance(way_in, LinkLogin) else sign_in.router)
    for pages in (requests, labeling, own_answers, conflicts, figures, status):
        app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    return Guard(app, settings)


def _refused(request: Request, error: Exception) -> Response:
    refused = cast("PageRefused", error)
    unauthenticated = refused.status is HTTPStatus.UNAUTHORIZED
    by_password = request.app.state.way_in.login is not None
    if unauthenticated and by_password and request.method == "GET" and not wants_json(request):
        return RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
    return message_answer(request, refused.status, refused.message)


def _no_page(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", HTTPStatus.NOT_FOUND)
    return message_answer(request, HTTPStatus(status), "There is no such page here.")


def _unavailable(request: Request, error: Exception) -> Response:
    log.warning("a page cannot be shown now", reason=str(error))
    message = "The store cannot be used now. Nothing was lost; try again in a moment."
    return message_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, message)
