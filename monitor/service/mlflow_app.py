"""The status pages inside MLflow's server, at `/pr-monitor/`: what `mlflow server --app-name` runs.

The pages wrap MLflow's application, which stays as it is. MLflow itself decides who sees a monitor:
its REST API is asked for the monitor's experiment, in the same process, with the headers of the
request. So every login of MLflow counts, and so do the host names that it refuses. The pages only
read: every method but GET is refused.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import httpx
import structlog
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from monitor.config.load import load_config
from monitor.domain.errors import ConfigRefused, MonitorError
from monitor.domain.people import Role
from monitor.domain.settings import MonitorSettings
from monitor.service.imports import import_for_workers
from monitor.service.pages.guard import HEADERS
from monitor.service.pages.requests import session_of
from monitor.service.pages.serving import board_of, status_app
from monitor.service.pages.sessions import WebSession
from monitor.service.pages.status import addresses
from monitor.service.pages.status.addresses import Board
from monitor.storage import schema
from monitor.wiring import Application, build

ASGI = Callable[[Any, Any, Any], Awaitable[None]]

log = structlog.get_logger("monitor.mlflow_app")

_EXPERIMENT = "/api/2.0/mlflow/experiments/get-by-name"
_OF_A_BODY = {b"accept-encoding", b"content-length", b"content-type", b"transfer-encoding"}
_OF_A_LOGIN = {"content-type", "location", "www-authenticate"}
_LINKS = ('href="/', 'src="/')  # of the pages, which know no prefix; text has its quotes escaped
_READABLE = "monitor.readable"  # where a request keeps the monitors that its user may read
_NO_CONFIG = "pr-monitor cannot read its config or its store; the log of this server says why.\n"
_NOTHING = (
    "you may read no experiment of a monitor here; a monitor's experiment needs permission READ, "
    "and is made when its first round is delivered\n"
)
_READ_ONLY = "these pages only read; pr-monitor's own pages and commands change things\n"


def create_app() -> ASGI:
    """Make MLflow's application with the status pages: `mlflow server --app-name pr_monitor`."""
    _check_server()
    from mlflow.server.fastapi_app import app  # noqa: PLC0415  it begins a server

    return _with_pages(app)


def create_app_with_login() -> ASGI:
    """Make the application with MLflow's accounts: `mlflow server --app-name pr_monitor_auth`."""
    _check_server()
    login, *_ = entry_points(group="mlflow.app", name="basic-auth")  # MLflow has two packages
    return _with_pages(login.load()())


def _check_server() -> None:
    if {"gunicorn", "waitress"} & {*sys.modules}:
        message = (
            "the pages of pr-monitor need MLflow's usual server, uvicorn; start mlflow server "
            "without --gunicorn-opts and --waitress-opts"
        )
        raise ConfigRefused(message)


def _with_pages(mlflow: ASGI) -> ASGI:
    prefix = os.environ.get("MLFLOW_STATIC_PREFIX", "").rstrip("/")
    config = Path(os.environ.get("PR_MONITOR_CONFIG", "config.yaml"))
    import_for_workers()
    return PagesInMlflow(mlflow, config, prefix)


class PagesInMlflow:
    """MLflow's application, with the status pages of a config beside it (ASGI).

    prefix: Where MLflow's own pages and its API begin, its ``--static-prefix``.
    """

    def __init__(self, mlflow: ASGI, config: Path, prefix: str = "") -> None:
        self._mlflow = mlflow
        self._prefix = prefix
        self._root = f"{prefix}/pr-monitor"
        self._monitors = ConfiguredMonitors(config)
        self._pages = _pages(self._monitors.now, self._root)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request for the pages; MLflow answers every other."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not f"{path}/".startswith(f"{self._root}/"):
            await self._mlflow(scope, receive, send)
            return
        page = path.removeprefix(self._root)
        refused, readable = await self._let_in(scope, page)
        if refused is not None:
            refused.headers.update({**HEADERS, **refused.headers})
            await refused(scope, receive, send)
            return
        inner = {"path": page, "raw_path": page.encode(), "root_path": "", _READABLE: readable}
        await self._pages({**scope, **inner}, receive, send)

    async def _let_in(self, scope: Any, page: str) -> tuple[Response | None, Collection[str]]:
        """Return the monitors that a request may see, or the response that refuses it."""
        if scope["method"] != "GET":
            status = HTTPStatus.METHOD_NOT_ALLOWED
            return PlainTextResponse(_READ_ONLY, status, {"allow": "GET"}), ()
        if not page:
            return RedirectResponse(f"{self._root}/"), ()
        try:
            application = await run_in_threadpool(self._monitors.now)
        except MonitorError as error:
            log.error("the pages in MLflow cannot be shown", reason=str(error))  # noqa: TRY400
            return PlainTextResponse(_NO_CONFIG, HTTPStatus.SERVICE_UNAVAILABLE), ()
        names = application.names
        needed = [name for name in names if page.startswith(f"/monitors/{name}")] or names
        if page.startswith("/static/"):
            needed = names[:1]  # these files are the same for all users
        prefix = application.config.mlflow.experiment_prefix
        answers = await self._ask(scope, [f"{prefix}/{name}" for name in needed])
        if (other := next(filter(_decides_nothing, answers), None)) is not None:
            login = {key: of for key, of in other.headers.items() if key in _OF_A_LOGIN}
            return Response(other.content, other.status_code, login), ()
        of_names = zip(needed, answers, strict=True)
        readable = {name for name, answer in of_names if answer.status_code == HTTPStatus.OK}
        if not readable and not page.startswith("/monitors/"):  # those are not there, for them
            return PlainTextResponse(_NOTHING, HTTPStatus.FORBIDDEN), ()
        return None, readable

    async def _ask(self, scope: Any, experiments: Sequence[str]) -> list[httpx.Response]:
        """Ask MLflow for experiments as the user of the request, in the same process."""
        headers = [(key, of) for key, of in scope["headers"] if key not in _OF_A_BODY]
        client = scope.get("client") or ("127.0.0.1", 0)
        transport = httpx.ASGITransport(self._mlflow, raise_app_exceptions=False, client=client)
        base = f"{scope['scheme']}://mlflow"  # the header of the request names the host
        async with httpx.AsyncClient(transport=transport, base_url=base) as mlflow:
            ask = partial(mlflow.get, self._prefix + _EXPERIMENT, headers=headers, timeout=None)
            return await asyncio.gather(
                *(ask(params={"experiment_name": name}) for name in experiments)
            )


def _decides_nothing(answer: httpx.Response) -> bool:
    """Whether an answer of MLflow neither grants nor denies reading an experiment.

    MLflow asks for a login, or cannot answer now.
    """
    if answer.status_code == HTTPStatus.NOT_FOUND:
        return b"RESOURCE_DOES_NOT_EXIST" not in answer.content
    return answer.status_code not in (HTTPStatus.OK, HTTPStatus.FORBIDDEN)


class ConfiguredMonitors:
    """The application of a config, built again when its file changes."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self._read: tuple[object, Application] | None = None

    def now(self) -> Application:
        """Return the current application. Raises `MonitorError` if nothing can be shown."""
        files = self._config.stat().st_mtime_ns if self._config.exists() else None
        if self._read is None or self._read[0] != files:
            self._read = files, build(load_config(self._config, hooks=False))
        schema.check(self._read[1].database)
        return self._read[1]


def _pages(application: Callable[[], Application], root: str) -> FastAPI:
    """Make the status pages, with links under a root, for users who may read some monitors."""

    def board_for(request: Request) -> Board:
        def readable() -> list[MonitorSettings]:
            return [one for one in board.monitors() if one.name in request.scope[_READABLE]]

        board = board_of(application)
        return replace(board, monitors=readable, shows_all=False)

    app = status_app()
    app.dependency_overrides[addresses.board_of] = board_for
    app.dependency_overrides[session_of] = lambda: WebSession("", "", Role.VIEWER)

    @app.middleware("http")
    async def from_root(request: Request, pages: Callable[[Request], Awaitable[Any]]) -> Response:
        answer = await pages(request)
        body = b"".join([part async for part in answer.body_iterator])
        if answer.headers.get("content-type", "").startswith("text/html"):
            for link in _LINKS:
                body = body.replace(link.encode(), f"{link[:-1]}{root}/".encode())
        headers = {**HEADERS, **answer.headers}
        headers.pop("content-length", None)
        return Response(body, answer.status_code, headers)

    return app
