"""What `pr-monitor check` tries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.cli.commands.data_checks import check_source
from monitor.cli.commands.results import promise_lines
from monitor.cli.commands.truth_checks import check_truth
from monitor.cli.views.checked import Check
from monitor.config.several import labelers_of
from monitor.domain.errors import DeliveryFailed, MonitorError, TryLater
from monitor.domain.extras import needs_extra
from monitor.domain.people import Role
from monitor.domain.ports import Checkable, CheckResult
from monitor.labeling.column import ColumnLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.presentation.forecasts import assured_text, smallest_drop_texts, unanswered_text
from monitor.presentation.numbers import plural
from monitor.rounds.answers import store_of_answers
from monitor.rounds.forecast.simulate import detected_soon, expected_round
from monitor.rounds.opening.removed_monitors import removed_monitors
from monitor.rounds.opening.setting_changes import pending_changes
from monitor.service.web.server import listening
from monitor.stats.detection.power import WITHIN
from monitor.storage import schema
from monitor.storage.pages import people_store
from monitor.wiring import Application, check_labels, mlflow_handler

if TYPE_CHECKING:
    from monitor.config.pages import PagesSettings
    from monitor.domain.label_parts import AssignedLabeler
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.forecast.simulate import ExpectedRound
    from monitor.storage.database import Database

_NO_USERS = "nobody can sign in yet; run: pr-monitor users add NAME --role labeler|viewer|admin"


def checks(application: Application, config: Path) -> Iterator[Check]:
    """Try one after the other, so that each is shown when it is known."""
    yield Check("config", "; ".join([str(config), *promise_lines(application.config)]))
    store = _tried("store", partial(_store, application.database))
    yield store
    is_usable = store.problem is None
    if is_usable:
        yield from _notes(application)
    for context in application.monitors if is_usable else ():  # they read rounds from it
        name = context.settings.name
        source = _tried(f"source of {name}", partial(check_source, context))
        yield source
        for one in context.today:
            what = f"labels of {name}, {one.title}" if one.title else f"labels of {name}"
            yield _tried(what, partial(_labels, context, one))
        stored = store_of_answers(context)
        if source.problem is None and stored is not None:
            yield _tried(f"stored answers of {name}", partial(stored.try_answers, name))
        if source.problem is None:  # else its next scan may hang as long as the first
            yield from _forecast(context)
    reached = _tried("MLflow", partial(_mlflow, application))
    yield reached
    yield from () if reached.problem else _models(application)
    yield from _page_checks(application)
    for name in application.config.hooks:
        handler = application.handlers[name]
        if isinstance(handler, Checkable):
            yield _tried(f"hook {name}", handler.usable)


def _models(application: Application) -> Iterator[Check]:
    """Find the model versions that monitors name, which nothing else would miss."""
    handler = mlflow_handler(application.config)
    for context in application.monitors:
        model = context.settings.round.model
        if model is not None:
            yield _tried(f"model of {context.settings.name}", partial(handler.check_model, model))


def _forecast(context: MonitorContext) -> Iterator[Check]:
    """Return the assurance of the next rounds, and the drops that their labels can find."""
    settings, name = context.settings.round, context.settings.name
    needs_people = context.asks_people(settings)
    if not (settings.limits.bounds or settings.sample.margin.wanted() or needs_people):
        return
    try:
        upcoming = expected_round(context)
    except MonitorError:
        return  # no label says anything yet
    for what, line in (("plan", plan_line(upcoming)), ("alerts", alerts_line(context, upcoming))):
        if line is not None:
            yield Check(f"{what} of {name}", line)
    if needs_people and upcoming.recall_lost:
        yield Check(f"answers of {name}", unanswered_text(upcoming.recall_lost))


def plan_line(upcoming: ExpectedRound) -> str | None:
    """Describe the half-widths expected and the assurance of the margins; None without margins."""
    plan = upcoming.plan
    sure = assured_text(plan.margins, plan.asked, plan.assured)
    if not sure:
        return None
    more = "" if plan.needed is None or plan.needed <= plan.total else f"; {plan.needed:,} needed"
    return f"{plan.total:,} labels in the next round: {sure}{more}"


def alerts_line(context: MonitorContext, upcoming: ExpectedRound) -> str | None:
    """Describe which drops a monitor's labels can find; None without limits from below."""
    limits = context.settings.round.limits
    if not limits.bounds:
        return None
    watched = limits.watched()
    broken = [f"{limit} is broken now" for limit in watched if upcoming.scenario.breaks(limit)]
    shown = smallest_drop_texts(detected_soon(upcoming, watched, limits.every_of_classifier()))
    drops = [f"found within {WITHIN} rounds in 8 of 10 cases: {', '.join(shown)}"] if shown else []
    if not broken and not drops:
        return None
    return (
        f"{'; '.join([*broken, *drops])} ({upcoming.scenario.labels:,} labels a round; more by "
        "simulate)"
    )


def _tried(what: str, act: Callable[[], CheckResult | str]) -> Check:
    try:
        result = act()
    except MonitorError as error:
        return Check(what, problem=str(error), code=error.exit_code)
    if isinstance(result, str):
        return Check(what, result)
    return Check(what, result.text, concerns=result.concerns)


def _labels(context: MonitorContext, assigned: AssignedLabeler) -> CheckResult | str:
    if isinstance(assigned.labeler, ColumnLabeler):
        return check_truth(context, assigned.labeler, assigned)
    return check_labels(assigned.labeler)


def _store(database: Database) -> str:
    schema.ready(database)
    return database.shown


def _notes(application: Application) -> Iterator[Check]:
    """Return what sources may lack, and what the config changes for stored rounds."""
    for monitor in application.config.monitors:
        if monitor.source.caveat is not None:
            yield Check(f"source of {monitor.name}", note=monitor.source.caveat)
    with application.database.read() as connection:
        for context in application.monitors:
            for sentence in pending_changes(connection, context):
                yield Check(f"changes of {context.settings.name}", note=sentence)
        for removed in removed_monitors(connection, application.names):
            yield Check("not in the config", note=removed.sentence)


def _mlflow(application: Application) -> str:
    handler = mlflow_handler(application.config)
    problems = handler.check(application.names)
    if problems:
        raise DeliveryFailed(problems[0])
    folders = dict.fromkeys(
        location.rpartition("/")[0] for location in handler.check_files(application.names)
    )
    first, *others = folders
    more = f" and {len(others)} more" if others else ""
    return f"{handler.shown}; files go to {first}{more}"


def _page_checks(application: Application) -> Iterator[Check]:
    settings = application.config.pages
    if settings is not None:
        yield _tried("pages", partial(_pages, settings))
        if settings.login is not None:
            yield _tried("login of pages", partial(_login, application))


def _pages(settings: PagesSettings) -> CheckResult:
    text = str(settings.address)
    try:
        listening(settings.address, "pages.listen").close()
    except TryLater:
        text = f"{text}; in use now, by serve or another program"
    return CheckResult(text)


def _login(application: Application) -> CheckResult:
    with needs_extra("serve", "login: users"):
        import monitor.storage.pages.accounts  # noqa: F401  what `serve` will import
    with application.database.read() as connection:
        roles = {user.name: Role(user.role) for user in people_store.users(connection)}
    concerns = [] if roles else [_NO_USERS]
    return CheckResult(plural(len(roles), "user"), (*concerns, *_adjudicators(application, roles)))


def _adjudicators(application: Application, roles: Mapping[str, Role]) -> Iterator[str]:
    """Name the adjudicators who cannot open the page on which they should decide."""
    for name, monitors in _deciding(application).items():
        role = roles.get(name)
        command = f"add {name!r} --role" if role is None else f"role {name!r}"
        if role is not Role.ADMIN:
            yield (
                f"labeling.adjudicator of {monitors} is {name}, who "
                f"{'cannot sign in' if role is None else f'is {role}'} and cannot open the page "
                f"of conflicts; run: pr-monitor users {command} admin"
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
