"""Users of the store, who sign in with a token; the store has its hash (argon2)."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from monitor.domain.people import Role, annotator_name
from monitor.storage.database import Database
from monitor.storage.pages import people_store

_BYTES = 24
# OWASP's recommended parameters with the least memory, since a service has many callers.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


def new_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(_BYTES)


def hash_of(token: str) -> str:
    """Return the hash of a token, as stored."""
    return _HASHER.hash(token)


@cache
def _nobodys() -> str:
    return hash_of(new_token())


class StoreUsers:
    """The users added to the store by `pr-monitor users add`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def name_of(self, name: str, password: str) -> str | None:
        """Return the name if the token is this user's, else None; unknown users take as long."""
        try:
            user = annotator_name(name)
        except ValueError:
            user = ""  # nobody's
        with self._database.read() as connection:
            token_hash = people_store.token_hash_of(connection, user)
        try:
            _HASHER.verify(token_hash or _nobodys(), password.strip())
        except VerifyMismatchError:
            return None
        return user if token_hash else None

    def role(self, name: str) -> Role | None:
        """Return the role of a user; None if no user has this name."""
        with self._database.read() as connection:
            role = people_store.role_of(connection, name)
        return None if role is None else Role(role)
