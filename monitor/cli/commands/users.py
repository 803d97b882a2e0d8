"""Commands for users who sign in to the pages with a token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from monitor.api import opened
from monitor.cli.common import CONFIG, ConfigOption, JsonOption, argument, minute, option
from monitor.cli.views.printing import echo_answer
from monitor.domain.errors import InputRefused
from monitor.domain.extras import needs_extra
from monitor.domain.people import Role, annotator_name, similar_name
from monitor.presentation.numbers import plural
from monitor.presentation.table import Table

if TYPE_CHECKING:
    from sqlalchemy import Connection

NameArgument = Annotated[str, argument("NAME", "Name of the user; answers are stored under it.")]


def add(
    name: NameArgument,
    role: Annotated[Role, option("ROLE", "labeler, viewer or admin.")] = Role.LABELER,
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Add a user, and print the token to sign in with.

    The token is shown only once, because the store has only its hash. To replace a lost token,
    remove and add the user. A labeler answers, a viewer sees the status pages, an admin does both.
    """
    with needs_extra("serve", "pr-monitor users add"):
        from monitor.storage.pages import accounts, people_store

    token = accounts.new_token()
    with _writing(name, config) as work:
        _refuse_similar_name(work.connection, work.name)
        user = people_store.StoredUser(work.name, role, work.now)
        if not people_store.add_user(work.connection, user, accounts.hash_of(token)):
            message = (
                f"there is a user {work.name} already; for another role run: pr-monitor users role "
                f"{work.name!r} {role}, for a new token: pr-monitor users remove {work.name!r}, "
                "then add them again"
            )
            raise InputRefused(message)
    shown = f"{user.name} can sign in as {role}, with this token, which is not shown again:"
    echo_answer({"name": user.name, "role": role, "token": token}, [shown, token], json=json)


def list_users(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """List users and their roles."""
    from monitor.storage.pages import people_store

    with opened(config) as application, application.database.read() as connection:
        users = people_store.users(connection)
    rows = [[user.name, user.role, minute(user.added_at)] for user in users]
    empty = "nobody was added; do it with: pr-monitor users add NAME --role labeler|viewer|admin"
    document = [Table(["name", "role", "added"], rows)] if users else empty
    echo_answer({"users": users}, document, json=json)


def give_role(
    name: NameArgument,
    role: Annotated[Role, argument("ROLE", "labeler, viewer or admin.")],
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Change a user's role, from their next request on."""
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        if not people_store.give_role(work.connection, work.name, role):
            raise _unknown(work.name)
    echo_answer({"name": work.name, "role": role}, f"{work.name} is {role} now", json=json)


def remove(name: NameArgument, config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Remove a user; their answers are kept.

    A signed-in user is signed out at the next request.
    """
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        if not people_store.remove_user(work.connection, work.name):
            raise _unknown(work.name)
        people_store.end_all_sessions(work.connection, work.name)
    sentence = f"{work.name} can no longer sign in; their answers are kept"
    echo_answer({"name": work.name, "removed": True}, sentence, json=json)


def sign_out(name: NameArgument, config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Sign a user out in every browser.

    They can sign in again with their token; to prevent that, remove the user.
    """
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        ended = people_store.end_all_sessions(work.connection, work.name)
    sentence = f"{plural(ended, 'session')} of {work.name} ended"
    echo_answer({"name": work.name, "ended": ended}, sentence, json=json)


def _refuse_similar_name(connection: Connection, name: str) -> None:
    from monitor.storage.pages import people_store

    for user in people_store.users(connection):
        if user.name != name and similar_name(user.name, name):
            message = (
                f"there is a user {user.name} already, and people would take {name} for "
                "the same: the names differ in capitals, or in the form of a letter, alone. "
                "Choose a name that shows who it is, such as one with a surname; pr-monitor "
                "users list has all names"
            )
            raise InputRefused(message)


def _unknown(name: str) -> InputRefused:
    return InputRefused(f"there is no user {name}; pr-monitor users list has all names")


class _UserChange(NamedTuple):
    name: str
    connection: Connection
    now: datetime


@contextmanager
def _writing(name: str, config: Path) -> Iterator[_UserChange]:
    try:
        named = annotator_name(name)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="NAME") from None
    with opened(config) as application, application.database.write() as connection:
        yield _UserChange(named, connection, application.clock())
