"""Commands about who may use the pages by their own token: users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.common import CONFIG, ConfigOption, JsonOption, minute, opened
from monitor.cli.views.printing import echo, echo_json, echo_table
from monitor.presentation.numbers import plural
from monitor.service.pages.roles import Role

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from monitor.wiring import Application

NameArgument = Annotated[
    str, typer.Argument(help="Their name; answers are kept under it.", metavar="NAME")
]
RoleOption = Annotated[
    Role, typer.Option("--role", help="labeler, viewer or admin.", metavar="ROLE")
]
RoleArgument = Annotated[Role, typer.Argument(help="labeler, viewer or admin.", metavar="ROLE")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    users_app = typer.Typer(
        help="Let people sign in to the pages by a token of their own.", no_args_is_help=True
    )
    users_app.command("add")(add)
    users_app.command("list")(list_users)
    users_app.command("role")(give_role)
    users_app.command("remove")(remove)
    users_app.command("sign-out")(sign_out)
    app.add_typer(users_app, name="users")


def add(
    name: NameArgument,
    role: RoleOption = Role.LABELER,
    config: ConfigOption = CONFIG,
    json: JsonOption = False,
) -> None:
    """Let somebody in, and print the token that they sign in with.

    It is shown this once, since the store has its hash only; anyone who lost one is removed and
    added again. A labeler answers, a viewer sees how the monitors fare, an admin does both.
    """
    from monitor.domain.errors import InputRefused
    from monitor.service.pages import tokens
    from monitor.storage.pages import people_store

    token = tokens.new_token()
    with _writing(name, config) as work:
        work.refuse_similar_name()
        user = people_store.StoredUser(work.name, role, work.application.clock())
        if not people_store.add_user(work.connection, user, tokens.hash_of(token)):
            message = (
                f"there is a user {work.name} already; for another role run: pr-monitor users role "
                f"{work.name!r} {role}, for a new token: pr-monitor users remove {work.name!r}, "
                "then add them again"
            )
            raise InputRefused(message)
    if json:
        echo_json({"name": user.name, "role": role, "token": token})
        return
    echo(f"{user.name} can sign in as {role}, with this token, which is not shown again:")
    echo(token)


def list_users(config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """List who was added, with their roles."""
    from monitor.storage.pages import people_store

    with opened(config) as application, application.database.read() as connection:
        users = people_store.users(connection)
    if json:
        echo_json({"users": [user._asdict() for user in users]})
    elif users:
        rows = [[user.name, user.role, minute(user.added_at)] for user in users]
        echo_table(["name", "role", "added"], rows)
    else:
        echo("nobody was added; do it with: pr-monitor users add NAME --role labeler|viewer|admin")


def give_role(
    name: NameArgument, role: RoleArgument, config: ConfigOption = CONFIG, json: JsonOption = False
) -> None:
    """Give somebody another role, from their next request on."""
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        if not people_store.give_role(work.connection, work.name, role):
            raise work.unknown()
    if json:
        echo_json({"name": work.name, "role": role})
    else:
        echo(f"{work.name} is {role} now")


def remove(name: NameArgument, config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Remove a user; what they answered is kept.

    Who is signed in is out from the next request on.
    """
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        if not people_store.remove_user(work.connection, work.name):
            raise work.unknown()
        people_store.end_all_sessions(work.connection, work.name)
    if json:
        echo_json({"name": work.name, "removed": True})
    else:
        echo(f"{work.name} can no longer sign in; their answers are kept")


def sign_out(name: NameArgument, config: ConfigOption = CONFIG, json: JsonOption = False) -> None:
    """Sign somebody out, in every browser.

    Also who signed in with an account of MLflow: where that is removed, a session that began with
    it goes on for up to 12 hours otherwise.
    """
    from monitor.storage.pages import people_store

    with _writing(name, config) as work:
        ended = people_store.end_all_sessions(work.connection, work.name)
    if json:
        echo_json({"name": work.name, "ended": ended})
    else:
        echo(f"{plural(ended, 'session')} of {work.name} ended")


@dataclass(frozen=True, slots=True)
class _UserChange:
    """What is done about a user, in one transaction."""

    name: str
    application: Application
    connection: Connection

    def refuse_similar_name(self) -> None:
        """Refuse a name that people would confuse with another user's."""
        from monitor.domain.errors import InputRefused
        from monitor.service.pages.accounts import similar_name
        from monitor.storage.pages import people_store

        for user in people_store.users(self.connection):
            if user.name != self.name and similar_name(user.name, self.name):
                message = (
                    f"there is a user {user.name} already, and people would take {self.name} for "
                    "the same: the names differ in capitals, or in the form of a letter, alone. "
                    "Choose a name that shows who it is, such as one with a surname; pr-monitor "
                    "users list has all names"
                )
                raise InputRefused(message)

    def unknown(self) -> Exception:
        """State that there is no such user."""
        from monitor.domain.errors import InputRefused

        return InputRefused(f"there is no user {self.name}; pr-monitor users list has all names")


@contextmanager
def _writing(name: str, config: Path) -> Iterator[_UserChange]:
    from monitor.service.pages.accounts import annotator_name

    try:
        named = annotator_name(name)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="NAME") from None
    with opened(config) as application, application.database.write() as connection:
        yield _UserChange(named, application, connection)
