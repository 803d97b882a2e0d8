"""Whose name and password let them in: the users of the store, or what else knows accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from monitor.service.pages import tokens
from monitor.service.pages.names import annotator_name
from monitor.service.pages.roles import Role
from monitor.storage.pages import people_store

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.storage.database import Database


class AccountsAway(Exception):
    """Nobody can be asked now whether a password is right; the text is for the log."""


class NameRefused(Exception):
    """The account is right, and answers cannot be kept under its name; the text says why."""


class Accounts(Protocol):
    """Something that knows people by a name and a password."""

    kind: str
    """As the config calls it, and as sessions note it."""
    password: str
    """What people call it."""

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
        return user if tokens.fits(token_hash, password.strip()) else None

    def role(self, connection: Connection, name: str) -> Role | None:
        """Find the role of a user."""
        role = people_store.role_of(connection, name)
        return None if role is None else Role(role)
