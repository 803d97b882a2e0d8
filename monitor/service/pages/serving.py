"""The pages on an address, and the link to them or the login."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, cast

import structlog
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from monitor.config.pages import PagesSettings
from monitor.domain.errors import InputRefused, MonitorError
from monitor.service.imports import import_for_workers
from monitor.service.pages import link_login, requests, sign_in
from monitor.service.pages.guard import Guard
from monitor.service.pages.labeling import addresses as labeling
from monitor.service.pages.labeling import conflicts, overview, own_answers
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.link_login import LinkLogin
from monitor.service.pages.rendering import message_answer, wants_json
from monitor.service.pages.requests import PageRefused, cookie_name
from monitor.service.pages.sessions import Sessions
from monitor.service.pages.sign_in import SignIn, SignInAttempts
from monitor.service.pages.status import addresses as status
from monitor.service.pages.status.addresses import Board
from monitor.service.web.app import bare_app
from monitor.service.web.server import WebServer

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

    from monitor.wiring import Application


log = structlog.get_logger("monitor.pages")


def pages_app(
    queue: TaskQueue, way_in: LinkLogin | SignIn, board: Board, settings: PagesSettings
) -> Guard:
    """Make the application that serves the pages."""
    app = status_app()
    app.state.desk = queue
    app.state.board = board
    app.state.visits = Sessions(queue.database, queue.clock, way_in)
    app.state.way_in = way_in
    app.state.settings = settings
    app.state.cookie = cookie_name(settings)
    app.include_router(link_login.router if isinstance(way_in, LinkLogin) else sign_in.router)
    for pages in (requests, labeling, own_answers, conflicts, overview):
        app.include_router(pages.router)
    return Guard(app, settings)


def status_app() -> FastAPI:
    """Make an application with the status pages; its dependencies decide who sees them."""
    app = bare_app()
    app.add_exception_handler(PageRefused, _refused)
    # A number or a word of an address may be invalid, such as in /monitors/mail/rounds/x.
    for no_page in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, RequestValidationError):
        app.add_exception_handler(no_page, _no_page)
    app.add_exception_handler(InputRefused, _unknown)
    app.add_exception_handler(MonitorError, _unavailable)
    app.include_router(status.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
    return app


def _refused(request: Request, error: Exception) -> Response:
    refused = cast("PageRefused", error)
    unauthenticated = refused.status is HTTPStatus.UNAUTHORIZED
    by_password = unauthenticated and request.app.state.way_in.login is not None
    if by_password and request.method == "GET" and not wants_json(request):
        return RedirectResponse("/sign-in", HTTPStatus.SEE_OTHER)
    return message_answer(request, refused.status, refused.message)


def _no_page(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", HTTPStatus.NOT_FOUND)
    return message_answer(request, HTTPStatus(status), "There is no such page here.")


def _unknown(request: Request, error: Exception) -> Response:
    """Answer that the round of an address, or its version, does not exist."""
    return message_answer(request, HTTPStatus.NOT_FOUND, f"{error}.")


def _unavailable(request: Request, error: Exception) -> Response:
    log.warning("a page cannot be shown now", reason=str(error))
    message = "The store cannot be used now. Nothing was lost; try again in a moment."
    return message_answer(request, HTTPStatus.SERVICE_UNAVAILABLE, message)


def board_of(application: Callable[[], Application]) -> Board:
    """Return the data of the status pages, from the application as of each request."""
    start = application()
    return Board(
        start.database,
        start.clock,
        lambda: [context.settings for context in application().monitors],
        lambda monitor, key: application().mlflow_page(monitor, key),
    )


class PagesServer:
    """Serves the pages from a thread, until it is stopped.

    monitors: Names of the monitors whose items people label here.
    settings: Address and sign-in; ``setting`` names the setting of the address.
    name: The annotator's name that the first page proposes after a link.
    notified: Called with the address of the pages and None at the start. With links, it is called
        with each link that works, and the person who used the last one.

    Raises `ConfigRefused` if this machine does not have the address.
    """

    def __init__(
        self,
        monitors: Callable[[], Sequence[str]],
        board: Board,
        *,
        settings: PagesSettings,
        notified: Callable[[str, str | None], None],
        setting: str = "pages.listen",
        name: str = "",
    ) -> None:
        self._settings = settings
        self._notify = notified
        self._link_login = LinkLogin(name, self._entered)
        way_in: LinkLogin | SignIn = self._link_login
        if settings.login is not None:
            # Its hashing belongs to an extra, which pages without a login do not need.
            from monitor.storage.pages.accounts import StoreUsers  # noqa: PLC0415

            attempts = SignInAttempts(board.database, board.clock)
            way_in = SignIn(StoreUsers(board.database), attempts)
        queue = TaskQueue(board.database, board.clock, monitors)
        page = pages_app(queue, way_in, board, settings)
        self._server = WebServer(page, settings.address, setting)

    def start(self) -> None:
        """Start the server, and report its address."""
        import_for_workers()  # pages are made in threads, too
        self._server.start()
        self._notify(self._link if self._settings.login is None else self._address, None)

    def stop(self) -> None:
        """Finish running requests, and close the address."""
        self._server.stop()

    @property
    def _link(self) -> str:
        return f"{self._address}/enter?key={self._link_login.key}"

    @property
    def _address(self) -> str:
        settings = self._settings
        if settings.behind_proxy:
            return f"https://{settings.names[0]}"  # at the port of the proxy
        address = settings.address
        if settings.names:
            return f"http://{address._replace(host=settings.names[0])}"
        # A browser may look for localhost at [::1] first, where another program may listen.
        host = "127.0.0.1" if address.host == "localhost" else address.host
        return f"http://{address._replace(host=host)}"

    def _entered(self, annotator: str) -> None:
        # The person is signed in even if nobody reads the output of this process any more.
        with suppress(OSError):
            self._notify(self._link, annotator)
