"""People who use the pages: sessions, users with their roles, and failed sign-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, select

from monitor.storage.database import add_missing, change, insert_all, remove
from monitor.storage.pages.page_tables import page_attempts, page_sessions, page_users

FORGOTTEN_AFTER = timedelta(days=1)  # Time after the last failed sign-in until the count is reset


# Sessions


class Session(NamedTuple):
    """A person's session; ``login`` is the method of signing in, None for a link."""

    annotator: str
    login: str | None


def add_session(
    connection: Connection, digest: str, session: Session, *, now: datetime, until: datetime
) -> None:
    """Add a session, and delete expired ones."""
    remove(connection, page_sessions, page_sessions.c.expires_at <= now)
    row = {"digest": digest, "expires_at": until, **session._asdict()}
    insert_all(connection, page_sessions, [row])


def session_of(connection: Connection, digest: str, now: datetime) -> Session | None:
    """Return a session; None if it does not exist or has expired."""
    query = select(page_sessions.c.annotator, page_sessions.c.login).where(
        page_sessions.c.digest == digest, page_sessions.c.expires_at > now
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else Session._make(row)


def end_session(connection: Connection, digest: str) -> None:
    """End a session."""
    remove(connection, page_sessions, page_sessions.c.digest == digest)


def end_sessions(connection: Connection, session: Session) -> None:
    """End all sessions of an annotator with the same login method."""
    is_login = page_sessions.c.login.is_not_distinct_from(session.login)
    remove(connection, page_sessions, page_sessions.c.annotator == session.annotator, is_login)


def end_all_sessions(connection: Connection, annotator: str) -> int:
    """End all sessions of an annotator; returns their number."""
    return remove(connection, page_sessions, page_sessions.c.annotator == annotator)


# Users


class StoredUser(NamedTuple):
    """A user with a token for the pages."""

    name: str
    role: str
    added_at: datetime


def add_user(connection: Connection, user: StoredUser, token_hash: str) -> bool:
    """Add a user; False if one with this name exists."""
    if role_of(connection, user.name) is not None:
        return False
    insert_all(connection, page_users, [{"token_hash": token_hash, **user._asdict()}])
    return True


def users(connection: Connection) -> Sequence[StoredUser]:
    """Read all users, in the order of their names."""
    query = select(*(page_users.c[name] for name in StoredUser._fields)).order_by(page_users.c.name)
    return [StoredUser._make(row) for row in connection.execute(query)]


def remove_user(connection: Connection, name: str) -> bool:
    """Remove a user; false if no user has this name."""
    return bool(remove(connection, page_users, page_users.c.name == name))


def give_role(connection: Connection, name: str, role: str) -> bool:
    """Change the role of a user; False if no user has this name."""
    return bool(change(connection, page_users, page_users.c.name == name, role=role))


def role_of(connection: Connection, name: str) -> str | None:
    """Find the role of a user; None if no user has this name."""
    query = select(page_users.c.role).where(page_users.c.name == name)
    return connection.scalar(query)


def token_hash_of(connection: Connection, name: str) -> str | None:
    """Find the hash of a user's token; None if no user has this name."""
    query = select(page_users.c.token_hash).where(page_users.c.name == name)
    return connection.scalar(query)


# Failed sign-ins


class StoredAttempts(NamedTuple):
    """Number of failed sign-ins of a name or an address, and the time of the last one."""

    failures: int
    last_at: datetime


def locked_attempts(
    connection: Connection, digests: Sequence[str], now: datetime
) -> Mapping[str, StoredAttempts]:
    """Read counts of failed sign-ins, and lock them until the transaction ends."""
    old = page_attempts.c.last_at <= now - FORGOTTEN_AFTER
    remove(connection, page_attempts, old)
    ordered = sorted(digests)  # two transactions that lock the same rows cannot deadlock
    rows = [{"digest": digest, "failures": 0, "last_at": now} for digest in ordered]
    add_missing(connection, page_attempts, rows)
    query = select(page_attempts).where(page_attempts.c.digest.in_(ordered))
    locked = query.order_by(page_attempts.c.digest).with_for_update()
    return {
        row.digest: StoredAttempts(row.failures, row.last_at) for row in connection.execute(locked)
    }


def note_failure(connection: Connection, digest: str, now: datetime) -> None:
    """Count one more failed sign-in."""
    c = page_attempts.c
    change(connection, page_attempts, c.digest == digest, failures=c.failures + 1, last_at=now)


def take_back_failure(connection: Connection, digest: str) -> None:
    """Count one failed sign-in less, if it turned out not to be one."""
    c = page_attempts.c
    failed = (c.digest == digest, c.failures > 0)
    change(connection, page_attempts, *failed, failures=c.failures - 1)


def forget_failures(connection: Connection, digest: str) -> None:
    """Reset the count."""
    remove(connection, page_attempts, page_attempts.c.digest == digest)
