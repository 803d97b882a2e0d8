"""Whose name and password let them in: the users of the store, or what else knows accounts."""

from __future__ import annotations

import re
import secrets
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Protocol

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from monitor.domain.visible import shows
from monitor.service.pages.roles import Role
from monitor.storage.pages import people_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.database import Database

_LONGEST_NAME = 100
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
"""Letters and marks that leave no trace, so that two names would look the same."""


_BYTES = 24
# Of what OWASP names as enough the one with the least memory, since a service has many callers.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


def new_token() -> str:
    """Make a token."""
    return secrets.token_urlsafe(_BYTES)


def hash_of(token: str) -> str:
    """Hash a token as the store keeps it (argon2)."""
    return _HASHER.hash(token)


def fits(token_hash: str | None, token: str) -> bool:
    """Whether a token is the one; where there is no user, None, finding out takes as long."""
    try:
        _HASHER.verify(_nobodys() if token_hash is None else token_hash, token)
    except VerifyMismatchError:
        return False
    return token_hash is not None


@cache
def _nobodys() -> str:
    return hash_of(new_token())


class AccountsAway(Exception):
    """Nobody can be asked now whether a password is right; the text is for the log."""


class NameRefused(Exception):
    """The account is right, and answers cannot be kept under its name; the text says why."""


class Accounts(Protocol):
    """Something that knows people by a name and a password."""

    kind: str  # As the config calls it, and as sessions note it
    password: str  # What people call it

    def name_of(self, name: str, password: str) -> str | None:
        """Find whose they are; None if the two do not go together.

        Raises `AccountsAway` if that cannot be found out now; `NameRefused` if answers cannot be
        kept under the name.
        """

    def role(self, connection: Connection, name: str) -> Role | None:
        """Find what somebody may do now; None if they may come in no more."""


class StoreUsers:
    """The users that `pr-monitor users add` put into the store."""

    kind = "users"
    password = "Token"  # noqa: S105  what the field of the form is called

    def __init__(self, database: Database) -> None:
        self._database = database

    def name_of(self, name: str, password: str) -> str | None:
        """Compare a token with a user's; without such a user it takes as long."""
        try:
            user = annotator_name(name)
        except ValueError:
            user = ""  # nobody's
        with self._database.read() as connection:
            token_hash = people_store.token_hash_of(connection, user)
        return user if fits(token_hash, password.strip()) else None

    def role(self, connection: Connection, name: str) -> Role | None:
        """Find the role of a user."""
        role = people_store.role_of(connection, name)
        return None if role is None else Role(role)


def annotator_name(text: str) -> str:
    """Read the name of who labels; a `ValueError` says what is wrong with it.

    Wide and narrow forms of a letter are the same, and so are compositions of letters and marks.

    >>> annotator_name("  Ada   Lovelace ")
    'Ada Lovelace'
    """
    name = " ".join(unicodedata.normalize("NFKC", text).split())
    if not name:
        message = "Write a name: answers are kept under it."
        raise ValueError(message)
    if len(name) > _LONGEST_NAME:
        message = f"A name has up to {_LONGEST_NAME} characters; this one has {len(name)}."
        raise ValueError(message)
    if _UNSEEN.search(name) or not all(map(shows, name)):
        message = "A name has letters, digits and signs that show; leave the others out."
        raise ValueError(message)
    return name


def similar_name(name: str, other: str) -> bool:
    """Whether two names differ in capitals, or in the form of a letter, at most.

    >>> similar_name("Ada Weiß", "ada weiss"), similar_name("ada", "adam")
    (True, False)
    """
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
