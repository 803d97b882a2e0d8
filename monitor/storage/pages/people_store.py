"""People who use the pages: sessions, users with their roles, and sign-ins that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, select

from monitor.storage.database import add_missing, change, insert_all, remove
from monitor.storage.pages.page_tables import page_attempts, page_sessions, page_users

FORGOTTEN_AFTER = timedelta(days=1)  # How long after the last one failed sign-ins are counted


# Sessions


class Session(NamedTuple):
    """Somebody's session; ``login`` is what let them in, None a link."""

    annotator: str
    login: str | None


def add_session(
    connection: Connection, digest: str, session: Session, *, now: datetime, until: datetime
) -> None:
    """Begin a session, and delete those that have expired."""
    remove(connection, page_sessions, page_sessions.c.expires_at <= now)
    row = {"digest": digest, "expires_at": until, **session._asdict()}
    insert_all(connection, page_sessions, [row])


def session_of(connection: Connection, digest: str, now: datetime) -> Session | None:
    """Whose session it is; None if there is no such session, or none any more."""
    query = select(page_sessions.c.annotator, page_sessions.c.login).where(
        page_sessions.c.digest == digest, page_sessions.c.expires_at > now
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else Session._make(row)


def end_session(connection: Connection, digest: str) -> None:
    """End a session."""
    remove(connection, page_sessions, page_sessions.c.digest == digest)


def end_sessions(connection: Connection, session: Session) -> None:
    """End all sessions that somebody has by one login."""
    is_login = page_sessions.c.login.is_not_distinct_from(session.login)
    remove(connection, page_sessions, page_sessions.c.annotator == session.annotator, is_login)


def end_all_sessions(connection: Connection, annotator: str) -> int:
    """End all sessions of a name; returns how many there were."""
    return remove(connection, page_sessions, page_sessions.c.annotator == annotator)


# Users


class StoredUser(NamedTuple):
    """Who may use the pages by their own token."""

    name: str
    role: str
    added_at: datetime


def add_user(connection: Connection, user: StoredUser, token_hash: str) -> bool:
    """Add a user; false where there is one of this name."""
    if role_of(connection, user.name) is not None:
        return False
    insert_all(connection, page_users, [{"token_hash": token_hash, **user._asdict()}])
    return True


def users(connection: Connection) -> Sequence[StoredUser]:
    """All users, by their names."""
    query = select(*(page_users.c[name] for name in StoredUser._fields)).order_by(page_users.c.name)
    return [StoredUser._make(row) for row in connection.execute(query)]


def remove_user(connection: Connection, name: str) -> bool:
    """Remove a user; false if no user has this name."""
    return bool(remove(connection, page_users, page_users.c.name == name))


def give_role(connection: Connection, name: str, role: str) -> bool:
    """Give a user another role; false if no user has this name."""
    return bool(change(connection, page_users, page_users.c.name == name, role=role))


def role_of(connection: Connection, name: str) -> str | None:
    """Find the role of a user; None if no user has this name."""
    query = select(page_users.c.role).where(page_users.c.name == name)
    return connection.scalar(query)


def token_hash_of(connection: Connection, name: str) -> str | None:
    """Find the hash of a user's token; None if no user has this name."""
    query = select(page_users.c.token_hash).where(page_users.c.name == name)
    return connection.scalar(query)


# Sign-ins that failed


class StoredAttempts(NamedTuple):
    """Failed sign-ins of a name or of an address, and when the last one was."""

    failures: int
    last_at: datetime


def locked_attempts(
    connection: Connection, digests: Sequence[str], now: datetime
) -> Mapping[str, StoredAttempts]:
    """Read what failed before, and keep others from reading it until this transaction ends."""
    old = page_attempts.c.last_at <= now - FORGOTTEN_AFTER
    remove(connection, page_attempts, old)
    ordered = sorted(digests)  # two that lock the same rows then never wait for each other
    rows = [{"digest": digest, "failures": 0, "last_at": now} for digest in ordered]
    add_missing(connection, page_attempts, rows)
    query = select(page_attempts).where(page_attempts.c.digest.in_(ordered))
    locked = query.order_by(page_attempts.c.digest).with_for_update()
    return {
        row.digest: StoredAttempts(row.failures, row.last_at) for row in connection.execute(locked)
    }


def note_failure(connection: Connection, digest: str, now: datetime) -> None:
    """Count one more."""
    c = page_attempts.c
    change(connection, page_attempts, c.digest == digest, failures=c.failures + 1, last_at=now)


def take_back_failure(connection: Connection, digest: str) -> None:
    """Count one less: it was none."""
    c = page_attempts.c
    failed = (c.digest == digest, c.failures > 0)
    change(connection, page_attempts, *failed, failures=c.failures - 1)


def forget_failures(connection: Connection, digest: str) -> None:
    """Reset the count."""
    remove(connection, page_attempts, page_attempts.c.digest == digest)
