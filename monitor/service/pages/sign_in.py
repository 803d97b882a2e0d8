"""The way in by a name and a password."""

from datetime import timedelta
from http import HTTPStatus
from math import ceil
from threading import BoundedSemaphore

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from monitor.presentation.numbers import plural
from monitor.service.pages.accounts import Accounts, AccountsAway, NameRefused
from monitor.service.pages.attempts import SignInAttempts, attempt_of
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Form, address_of, create_session
from monitor.service.pages.roles import Role

router = APIRouter()
log = structlog.get_logger("monitor.pages")

MOST_AT_ONCE = 8  # Passwords that are looked at at a time: each takes 19 MB, or waits for MLflow

_HINTS = {
    "users": "Who runs pr-monitor gave you a name and a token.",
    "mlflow": "With the name and the password of your MLflow account.",
}
_WRONG = "This name and this {password} do not go together."
_WAIT = "Too many sign-ins failed. Try again in {wait}."
_BUSY = "Many people are signing in. Try again in a moment."
_AWAY = "MLflow, which knows the accounts, does not answer as it should. Try again in a moment."


class SignInRefused(Exception):
    """Somebody is not let in; the text is for them."""

    def __init__(self, status: HTTPStatus, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.wait = wait


class SignIn:
    """Lets in who has an account."""

    unauthenticated = (
        "You are not signed in here, or no longer. Sign in in this tab: answers that wait in it "
        "are kept, and sent then."
    )

    def __init__(self, accounts: Accounts, attempts: SignInAttempts) -> None:
        self.login: str | None = accounts.kind
        self.hint = _HINTS[accounts.kind]
        self.password = accounts.password
        self._accounts = accounts
        self._attempts = attempts
        self._room = BoundedSemaphore(MOST_AT_ONCE)

    def role(self, connection: Connection, name: str) -> Role | None:
        """Find what somebody may do now."""
        return self._accounts.role(connection, name)

    def name_of(self, name: str, password: str, address: str) -> str:
        """Find whose name and password these are."""
        # No thread waits here, or all of them would, and who is labeling with them.
        if not self._room.acquire(blocking=False):
            raise SignInRefused(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY)
        try:
            return self._name_of(name, password, address)
        finally:
            self._room.release()

    def _name_of(self, name: str, password: str, address: str) -> str:
        attempt = attempt_of(name, address)
        if wait := self._attempts.begin(attempt):
            raise SignInRefused(
                HTTPStatus.TOO_MANY_REQUESTS, _WAIT.format(wait=_wait_text(wait)), wait
            )
        try:
            annotator = self._accounts.name_of(name, password)
        except AccountsAway as away:
            self._attempts.undecided(attempt)
            log.warning("nobody can sign in now", reason=str(away))
            raise SignInRefused(HTTPStatus.SERVICE_UNAVAILABLE, _AWAY) from None
        except NameRefused as refused:
            self._attempts.succeeded(attempt)
            raise SignInRefused(HTTPStatus.FORBIDDEN, str(refused)) from None
        if annotator is None:
            message = _WRONG.format(password=self.password.lower())
            raise SignInRefused(HTTPStatus.UNAUTHORIZED, message)
        self._attempts.succeeded(attempt)
        return annotator


@router.get("/sign-in")
def sign_in_page(request: Request) -> Response:
    """Ask for a name and a password."""
    return _page(request.app.state.way_in)


@router.post("/sign-in")
def sign_in(request: Request, form: Form) -> Response:
    """Begin a visit."""
    way_in: SignIn = request.app.state.way_in
    name, address = form.get("name", ""), address_of(request)
    try:
        annotator = way_in.name_of(name, form.get("password", ""), address)
    except SignInRefused as refused:
        # Not the name: some write their password there.
        log.warning("sign-in refused", status=int(refused.status), address=address)
        page = _page(way_in, name, str(refused))
        page.status_code = refused.status
        if refused.wait is not None:
            page.headers["retry-after"] = str(ceil(refused.wait.total_seconds()))
        return page
    log.info("signed in", user=annotator, address=address)
    return create_session(request, annotator)


def _page(way_in: SignIn, name: str = "", problem: str = "") -> Response:
    return html_page(
        "sign-in.html", hint=way_in.hint, password=way_in.password, name=name, problem=problem
    )


def _wait_text(wait: timedelta) -> str:
    seconds = ceil(wait.total_seconds())
    if seconds < 60:  # noqa: PLR2004
        return plural(seconds, "second")
    return plural(ceil(seconds / 60), "minute")
