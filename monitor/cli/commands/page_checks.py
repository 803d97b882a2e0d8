"""What `pr-monitor check` tries of the pages for people: address, certificate, login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.cli.commands.data_checks import Found
from monitor.domain.errors import TryLater
from monitor.presentation.numbers import plural
from monitor.service.pages.certificates import certificate_looks
from monitor.service.pages.mlflow_accounts import MlflowAccounts
from monitor.service.web.server import listening
from monitor.storage import people_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from monitor.config.pages import LoginSettings, PagesSettings
    from monitor.wiring import Application


def page_checks(application: Application) -> dict[str, Callable[[], Found | str]]:
    """Name what there is to try, by what it is about; nothing without pages."""
    settings = application.config.pages
    if settings is None:
        return {}
    found: dict[str, Callable[[], Found | str]] = {
        "pages": lambda: _pages(application, settings),
    }
    if settings.login is not None:
        login = settings.login
        found["login of pages"] = lambda: _login(application, login)
    return found


def _pages(application: Application, settings: PagesSettings) -> Found:
    text, looks = str(settings.address), list[str]()
    if settings.tls is not None:
        names = settings.names
        end, looks = certificate_looks(
            settings.tls, application.config.folder, names, application.clock()
        )
        text = f"{text}; {end}"
    try:
        listening(settings.address, "pages.listen").close()
    except TryLater:
        text = f"{text}; in use now, by serve or another program"
    return Found(text, tuple(looks))


def _login(application: Application, login: LoginSettings) -> Found | str:
    if login.kind == "mlflow":
        return MlflowAccounts(application.config.mlflow.tracking_uri, login).check()
    with application.database.read() as connection:
        users = people_store.users(connection)
    if users:
        return plural(len(users), "user")
    add = "nobody can sign in yet; run: pr-monitor users add NAME --role labeler|viewer|admin"
    return Found("0 users", (add,))
