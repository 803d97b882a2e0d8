"""What `pr-monitor check` tries of the pages for people: address, certificate, login."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from monitor.cli.commands.data_checks import CheckResult
from monitor.config.several import labelers_of
from monitor.domain.errors import TryLater
from monitor.labeling.page_settings import PageSettings
from monitor.presentation.numbers import plural
from monitor.service.pages.certificates import certificate_warnings
from monitor.service.pages.mlflow_accounts import MlflowAccounts
from monitor.service.pages.roles import Role
from monitor.service.web.server import listening
from monitor.storage.pages import people_store

if TYPE_CHECKING:
    from monitor.config.pages import LoginSettings, PagesSettings
    from monitor.wiring import Application


def page_checks(
    application: Application,
) -> Iterator[tuple[str, Callable[[], CheckResult | str]]]:
    """Name what there is to try, and how; nothing without pages."""
    settings = application.config.pages
    if settings is not None:
        yield "pages", partial(_pages, application, settings)
        if settings.login is not None:
            yield "login of pages", partial(_login, application, settings.login)


def _pages(application: Application, settings: PagesSettings) -> CheckResult:
    text, warnings = str(settings.address), list[str]()
    if settings.tls is not None:
        names = settings.names
        end, warnings = certificate_warnings(
            settings.tls, application.config.folder, names, application.clock()
        )
        text = f"{text}; {end}"
    try:
        listening(settings.address, "pages.listen").close()
    except TryLater:
        text = f"{text}; in use now, by serve or another program"
    return CheckResult(text, tuple(warnings))


def _login(application: Application, login: LoginSettings) -> CheckResult:
    if login.kind == "mlflow":
        accounts = MlflowAccounts(application.config.mlflow.tracking_uri, login)
        return CheckResult(accounts.check(), _mlflow_adjudicators(application, login))
    with application.database.read() as connection:
        users = people_store.users(connection)
    if users:
        roles = {user.name: user.role for user in users}
        return CheckResult(plural(len(users), "user"), _adjudicators(application, roles))
    add = "nobody can sign in yet; run: pr-monitor users add NAME --role labeler|viewer|admin"
    return CheckResult("0 users", (add,))


def _adjudicators(application: Application, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Name the adjudicators who cannot open the page on which they should decide."""
    warnings = []
    for name, monitors in _deciding(application).items():
        who = f"labeling.adjudicator of {monitors} is {name}"
        role = roles.get(name)
        if role is None:
            warnings.append(
                f"{who}, who cannot sign in, so nobody decides conflicts; run: "
                f"pr-monitor users add {name!r} --role admin"
            )
        elif role != Role.ADMIN:
            warnings.append(
                f"{who}, who is {role} and cannot open the page of conflicts; run: "
                f"pr-monitor users role {name!r} admin"
            )
    return tuple(warnings)


def _mlflow_adjudicators(application: Application, login: LoginSettings) -> tuple[str, ...]:
    """Name the adjudicators to whom the config does not give the role that they need."""
    return tuple(
        f"labeling.adjudicator of {monitors} is {name}, who is no admin and cannot open the page "
        "of conflicts; add the name to pages.login.admins"
        for name, monitors in _deciding(application).items()
        if name not in login.admins
    )


def _deciding(application: Application) -> dict[str, str]:
    """Name who decides conflicts on the labeling page, each with the monitors."""
    result: dict[str, list[str]] = {}
    for monitor in application.config.monitors:
        adjudicator = monitor.labeling.adjudicator
        on_page = any(isinstance(one, PageSettings) for _, one in labelers_of(monitor.labeling))
        if on_page and adjudicator is not None:
            result.setdefault(adjudicator, []).append(monitor.name)
    return {name: ", ".join(monitors) for name, monitors in result.items()}
