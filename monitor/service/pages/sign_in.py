"""Sign-in by name and password. After some failures, the next attempt has to wait.

Failures are counted in the store, for each name and each address, across restarts and replicas. An
attempt counts as failed until it succeeds, so parallel attempts gain nothing.
"""

import ipaddress
import unicodedata
from datetime import datetime, timedelta
from http import HTTPStatus
from math import ceil
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import Response

from monitor.domain.people import Role
from monitor.domain.ports import Clock
from monitor.presentation.numbers import plural
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import Form, address_of, create_session
from monitor.service.pages.sessions import digest_of
from monitor.storage.database import Database
from monitor.storage.pages import people_store
from monitor.storage.pages.people_store import StoredAttempts

if TYPE_CHECKING:
    from monitor.storage.pages.accounts import StoreUsers

router = APIRouter()
log = structlog.get_logger("monitor.pages")

FREE_FOR_A_NAME = 5  # Sign-ins under a name that may fail before the next has to wait
FREE_FOR_AN_ADDRESS = 20  # Those from an address: an office may have one for all
LONGEST = timedelta(minutes=5)  # Who guesses has 300 tries a day; whose name it is waits no longer
_IPV6_OF_ONE = 64  # Bits of an IPv6 address that its user cannot choose
MOST_AT_ONCE = 8  # Tokens that are checked at a time: each takes 19 MB

_WRONG = "This name and this token do not match."
_WAIT = "Too many sign-ins failed. Try again in {wait}."
_BUSY = "Many people are signing in. Try again in a moment."


class SignInRefused(Exception):
    """A refused sign-in; the message is for the person."""

    def __init__(self, status: HTTPStatus, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.wait = wait


class Attempt(NamedTuple):
    """Digests under which a sign-in is counted."""

    name: str
    address: str


class SignInAttempts:
    """Counts failed sign-ins, and decides how long the next one has to wait."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, attempt: Attempt) -> timedelta:
        """Count a sign-in as failed; if it has to wait, return how long and count nothing."""
        now = self._clock()
        with self._database.write() as connection:
            failures = people_store.locked_attempts(connection, attempt, now)
            wait = max(
                _wait(failures[attempt.name], FREE_FOR_A_NAME, now),
                _wait(failures[attempt.address], FREE_FOR_AN_ADDRESS, now),
            )
            if not wait:
                for digest in attempt:
                    people_store.note_failure(connection, digest, now)
        return wait

    def succeeded(self, attempt: Attempt) -> None:
        """Clear the failures of the name, and take this one back from the address."""
        with self._database.write() as connection:
            people_store.forget_failures(connection, attempt.name)
            people_store.take_back_failure(connection, attempt.address)


def attempt_of(name: str, address: str) -> Attempt:
    """Return the digests of a sign-in; spellings that may mean one account are equal."""
    spelled = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    return Attempt(digest_of("name", spelled), digest_of("address", _network(address)))


def _wait(failed: StoredAttempts, free: int, now: datetime) -> timedelta:
    if failed.failures < free:
        return timedelta(0)
    seconds = 2.0 ** min(failed.failures - free, 30)
    since = max(now - failed.last_at, timedelta(0))  # a clock may have been set back
    return max(min(timedelta(seconds=seconds), LONGEST) - since, timedelta(0))


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_OF_ONE), strict=False))


class SignIn:
    """Lets in the users of the store."""

    login: ClassVar[str | None] = "users"
    unauthenticated = (
        "You are not signed in here, or no longer. Sign in in this tab: answers that wait in it "
        "are kept, and sent then."
    )

    def __init__(self, users: "StoreUsers", attempts: SignInAttempts) -> None:
        self._users = users
        self._attempts = attempts
        self._room = BoundedSemaphore(MOST_AT_ONCE)

    def role(self, name: str) -> Role | None:
        """Return the current role of a person."""
        return self._users.role(name)

    def name_of(self, name: str, password: str, address: str) -> str:
        """Return the user with a name and a token (``password``), or raise `SignInRefused`."""
        # No thread waits here: else all threads could, and labeling would stop.
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
        annotator = self._users.name_of(name, password)
        if annotator is None:
            raise SignInRefused(HTTPStatus.UNAUTHORIZED, _WRONG)
        self._attempts.succeeded(attempt)
        return annotator


@router.get("/sign-in")
def sign_in_page() -> Response:
    """Ask for a name and a token."""
    return _page()


@router.post("/sign-in")
def sign_in(request: Request, form: Form) -> Response:
    """Start a session."""
    way_in: SignIn = request.app.state.way_in
    name, address = form.get("name", ""), address_of(request)
    try:
        annotator = way_in.name_of(name, form.get("password", ""), address)
    except SignInRefused as refused:
        # Not the name: some write their password there.
        log.warning("sign-in refused", status=int(refused.status), address=address)
        page = _page(name, str(refused))
        page.status_code = refused.status
        if refused.wait is not None:
            page.headers["retry-after"] = str(ceil(refused.wait.total_seconds()))
        return page
    log.info("signed in", user=annotator, address=address)
    return create_session(request, annotator)


def _page(name: str = "", problem: str = "") -> Response:
    return html_page("sign-in.html", name=name, problem=problem)


def _wait_text(wait: timedelta) -> str:
    seconds = ceil(wait.total_seconds())
    if seconds < 60:  # noqa: PLR2004
        return plural(seconds, "second")
    return plural(ceil(seconds / 60), "minute")
