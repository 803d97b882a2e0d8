"""Sessions of signed-in people, in the store so that they survive a restart of the page.

The store has the hash of a session's token only, and no role: that is looked up at each request.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from monitor.domain.people import Role
from monitor.domain.ports import Clock
from monitor.storage.database import Database
from monitor.storage.pages import people_store
from monitor.storage.pages.people_store import Session

SESSION = timedelta(hours=12)  # How long a session lasts: a day of work

_BYTES = 32


@dataclass(frozen=True, slots=True)
class WebSession:
    """Somebody who uses the page; ``form_token`` proves that a form comes from their page."""

    annotator: str
    form_token: str
    role: Role

    def made(self, form_token: str) -> bool:
        """Whether a form was on a page of this session."""
        return hmac.compare_digest(form_token.encode(), self.form_token.encode())


class WayIn(Protocol):
    """How people come in: by a link, or by a name and a token."""

    @property
    def login(self) -> str | None:
        """Kind of accounts; None for a link."""

    def role(self, name: str) -> Role | None:
        """Return the current role of a person; None if they may no longer come in."""


class Sessions:
    """Starts and finds sessions, which are valid for the way of signing in that began them.

    A session that began with a link is invalid if the pages ask for names and tokens.
    """

    def __init__(self, database: Database, clock: Clock, way_in: WayIn) -> None:
        self._database = database
        self._clock = clock
        self._way_in = way_in

    def begin(self, annotator: str, *, before: str = "") -> str:
        """Begin a session and end the one ``before`` it; returns the new token."""
        token, now = secrets.token_urlsafe(_BYTES), self._clock()
        session = Session(annotator, self._way_in.login)
        with self._database.write() as connection:
            people_store.end_session(connection, digest_of("session", before))
            people_store.add_session(
                connection, digest_of("session", token), session, now=now, until=now + SESSION
            )
        return token

    def find(self, token: str) -> WebSession | None:
        """Return the session of a token; None if there is no such session, or it has ended."""
        digest, now = digest_of("session", token), self._clock()
        with self._database.read() as connection:
            session = people_store.session_of(connection, digest, now)
        if session is None or session.login != self._way_in.login:
            return None
        role = self._way_in.role(session.annotator)
        if role is None:
            return None
        return WebSession(session.annotator, digest_of("form", token), role)

    def end(self, session: WebSession) -> None:
        """End all sessions of a person, in every browser."""
        with self._database.write() as connection:
            people_store.end_sessions(connection, Session(session.annotator, self._way_in.login))


def digest_of(purpose: str, text: str) -> str:
    """Hash a text that the store must not hold; digests of different purposes differ."""
    return hashlib.sha256(f"{purpose} {text}".encode(errors="replace")).hexdigest()
