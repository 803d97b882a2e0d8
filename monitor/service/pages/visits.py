"""Who may use the page: links that work once, and the sessions that begin with them.

A link lives in the memory of the process that printed it. A session lives in the store, so that
who labels goes on where they were when the page is started again. The store has the hash of its
token only.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING

from monitor.domain.visible import shows
from monitor.storage import page_store

if TYPE_CHECKING:
    from monitor.domain.ports import Clock
    from monitor.storage.database import Database

VISIT = timedelta(hours=12)
"""How long a session lasts: a day of work."""

LONGEST_NAME = 100
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and marks that leave no trace, so that two names would look the same."""
_BYTES = 32


class Links:
    """The one link that works now; whoever uses it makes it useless."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._key = secrets.token_urlsafe(_BYTES)

    @property
    def key(self) -> str:
        """The secret in the link."""
        return self._key

    def works(self, key: str) -> bool:
        """Whether a link can be used."""
        return hmac.compare_digest(key.encode(), self._key.encode())

    def use(self, key: str) -> bool:
        """Use a link, and make another for the next person; false where it does not work."""
        with self._lock:
            if not self.works(key):
                return False
            self._key = secrets.token_urlsafe(_BYTES)
            return True


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who uses the page; ``form_token`` proves that a form is of a page of theirs."""

    annotator: str
    form_token: str

    def made(self, form_token: str) -> bool:
        """Whether a form was on a page of this visit."""
        return hmac.compare_digest(form_token.encode(), self.form_token.encode())


class Visits:
    """Begins sessions and knows them again."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def begin(self, annotator: str) -> str:
        """Begin a session; returns its token."""
        token, now = secrets.token_urlsafe(_BYTES), self._clock()
        with self._database.write() as connection:
            page_store.add_session(
                connection, _digest("session", token), annotator, now=now, until=now + VISIT
            )
        return token

    def find(self, token: str) -> Visit | None:
        """Find whose session it is; None where it is none, or none any more."""
        with self._database.read() as connection:
            annotator = page_store.session_of(connection, _digest("session", token), self._clock())
        return None if annotator is None else Visit(annotator, _digest("form", token))

    def end(self, token: str) -> None:
        """End a session."""
        with self._database.write() as connection:
            page_store.end_session(connection, _digest("session", token))


def annotator_name(text: str) -> str:
    """Read the name of who labels; a `ValueError` says what is wrong with it.

    The wide and narrow forms of a letter are the same, and so are those of a letter with its marks.

    Examples
    --------
    >>> annotator_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    if not name:
        message = "Write a name: answers are kept under it."
        raise ValueError(message)
    if len(name) > LONGEST_NAME:
        message = f"A name has up to {LONGEST_NAME} characters; this one has {len(name)}."
        raise ValueError(message)
    if _UNSEEN.search(name) or not all(map(shows, name)):
        message = "A name has letters, digits and signs that show; leave the others out."
        raise ValueError(message)
    return name


def _digest(purpose: str, token: str) -> str:
    return hashlib.sha256(f"{purpose} {token}".encode(errors="replace")).hexdigest()
