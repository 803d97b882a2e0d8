"""The status pages' addresses: all monitors, one monitor, its figures, one round."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from monitor.domain.alerting import AlertState
from monitor.domain.ports import Clock
from monitor.domain.report import Status
from monitor.domain.settings import MonitorSettings
from monitor.domain.state import RoundState
from monitor.presentation.classes import block_table
from monitor.presentation.numbers import plural
from monitor.presentation.round_document import drawn_section, head_lines, page_sections
from monitor.report.figures import metric_svg
from monitor.report.html import policy, report_html
from monitor.rounds.opening.removed_monitors import removed_monitors
from monitor.rounds.reporting.report import read_monitor_timeline
from monitor.rounds.round_page import class_overviews, find_round, listed, read_page, read_report
from monitor.rounds.status import overviews
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import PageRefused, Viewing, Visitor
from monitor.service.pages.status.cards import card_of, limits_of, plan_facts
from monitor.storage.database import Database
from monitor.storage.results import alert_store, report_store
from monitor.storage.rounds import round_lists, round_store
from monitor.storage.rounds.round_lists import MOST, ListQuery

router = APIRouter()

ROUNDS = 26  # Rounds that the page of a monitor lists: half a year of weeks
MONITORS = 100  # Monitors of which a page shows the cards

MOST_PAGES = 10_000

OLDER = 100  # Rounds that a page lists of those before one


@dataclass(frozen=True, slots=True)
class Board:
    """Data of the status pages.

    ``monitors`` returns the monitors of the present config. ``mlflow`` returns the address of a
    round in MLflow, by monitor and round key; None if MLflow has no pages. Without ``shows_all``
    only these monitors are shown: no removed ones, no blocks of classes.
    """

    database: Database
    clock: Clock
    monitors: Callable[[], Sequence[MonitorSettings]]
    mlflow: Callable[[str, str], str | None]
    shows_all: bool = True


def board_of(request: Request) -> Board:
    """Return the board of a request's application."""
    board: Board = request.app.state.board
    return board


FromBoard = Annotated[Board, Depends(board_of)]


def named_monitor(board: FromBoard, name: str) -> MonitorSettings:
    """Find the monitor of an address."""
    settings = next((one for one in board.monitors() if one.name == name), None)
    if settings is None:
        message = "The config has no such monitor. It may have been renamed or removed."
        raise PageRefused(HTTPStatus.NOT_FOUND, message)
    return settings


Named = Annotated[MonitorSettings, Depends(named_monitor)]


@router.get("/")
def first_page(
    board: FromBoard, session: Visitor, page: Annotated[int, Query(ge=1, le=MOST_PAGES)] = 1
) -> Response:
    """Show all monitors, most severe first; people who only label go to the labeling page."""
    if not session.role.views:
        return RedirectResponse("/label", HTTPStatus.SEE_OTHER)
    now, monitors = board.clock(), board.monitors()
    of_all = zip(monitors, overviews(board.database, monitors, now), strict=True)
    with board.database.read() as connection:
        removed = removed_monitors(connection, [one.name for one in monitors])
    # Those of one state stay as the config has them.
    ordered = sorted(of_all, key=lambda one: one[1].status.grade)
    shown = ordered[(page - 1) * MONITORS : page * MONITORS]
    counts = Counter(overview.status for _, overview in ordered)
    states = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    return html_page(
        "status/monitors.html",
        visit=session,
        now=now,
        counted=f"{plural(len(ordered), 'monitor')}: {states}",
        cards=[card_of(settings, overview, board.mlflow) for settings, overview in shown],
        page_number=page,
        pages=max(1, -(-len(ordered) // MONITORS)),
        removed=[one.sentence for one in removed if board.shows_all],
        blocks=[
            block_table(block)
            for block in class_overviews(board.database, monitors if board.shows_all else [])
        ],
    )


@router.get("/monitors/{name}")
def monitor_page(
    session: Viewing,
    board: FromBoard,
    settings: Named,
    before: Annotated[int | None, Query(ge=-MOST, le=MOST)] = None,
) -> Response:
    """Show one monitor with its newest rounds, or those before one."""
    name = settings.name
    [overview] = overviews(board.database, [settings], board.clock())
    with board.database.read() as connection:
        until = None if before is None else find_round(connection, name, before).slot
        last = ROUNDS if before is None else OLDER
        rounds = listed(connection, ListQuery(monitor=name, before=until, last=last))
        newest = round_lists.newest_drawn(connection, name)
        drawn = None if newest is None else read_page(connection, name, newest, None)
        alerts = alert_store.find_alerts(connection, monitor=name)
    return html_page(
        "status/monitor.html",
        visit=session,
        card=card_of(settings, overview, board.mlflow),
        now=board.clock(),
        plan=plan_facts(settings),
        drawn=drawn,
        plan_of_strata=None if drawn is None else drawn_section(drawn),
        rounds=rounds.rows[::-1],
        skipped=plural(rounds.hidden, "skipped round") if rounds.hidden else "",
        older=rounds.rows[0].round.number if rounds.has_older else None,
        before=before,
        alerts=sorted(
            alerts, key=lambda one: (one.state != AlertState.FIRING, -one.fired_at.timestamp())
        ),
    )


@router.get("/monitors/{name}/{metric}.svg")
def monitor_figure(
    session: Viewing,  # noqa: ARG001  it is checked
    board: FromBoard,
    settings: Named,
    metric: Literal["precision", "recall"],
) -> Response:
    """Draw the timeline of a metric."""
    with board.database.read() as connection:
        timeline = read_monitor_timeline(connection, settings.name, board.clock())
    picture = metric_svg(timeline, metric, limits_of(settings, metric), monitor=settings.name)
    return Response(picture, media_type="image/svg+xml")


@router.get("/monitors/{name}/rounds/{number}")
def round_page(
    session: Viewing,
    board: FromBoard,
    settings: Named,
    number: int,
    version: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """Show one version of a round, the latest unless one is named."""
    with board.database.read() as connection:
        round_ = find_round(connection, settings.name, number)
        page = read_page(connection, settings.name, number, version)
        key = report_store.first_key(connection, round_.id)
        before = round_store.round_before(connection, round_.monitor_id, round_.slot)
        after = round_store.round_after(connection, round_.monitor_id, round_.slot)
    has_ended = round_.state in (RoundState.CLOSED, RoundState.ABANDONED)
    return html_page(
        "status/round.html",
        visit=session,
        name=settings.name,
        page=page,
        head=list(head_lines(page)),
        sections=page_sections(page),
        has_report=has_ended and key is not None,
        link=None if key is None else board.mlflow(settings.name, key),
        # A round that was done again has no earlier ones.
        versions=range(round_.first_version, round_.estimated_version + 1),
        before=before,
        after=after,
    )


@router.get("/monitors/{name}/rounds/{number}/report")
def round_report(
    session: Viewing,  # noqa: ARG001  it is checked
    board: FromBoard,
    settings: Named,
    number: int,
    version: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """Return the report of a round as a page with its own style."""
    with board.database.read() as connection:
        report = read_report(connection, settings.name, number, version)
    headers = {"content-security-policy": f"{policy()}; frame-ancestors 'none'; sandbox"}
    return HTMLResponse(report_html(report), headers=headers)
