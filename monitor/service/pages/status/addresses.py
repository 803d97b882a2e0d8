"""The status pages' addresses: all monitors, one monitor, its figures, one round."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from monitor.domain.errors import InputRefused
from monitor.domain.report import Status
from monitor.domain.settings import MonitorSettings
from monitor.presentation.classes import block_lines
from monitor.presentation.numbers import minute_text, plural
from monitor.presentation.round_document import drawn_section, head_lines, page_sections
from monitor.report.figures import metric_svg
from monitor.report.html import policy, report_html
from monitor.service.pages.rendering import html_page
from monitor.service.pages.requests import PageRefused, Viewing, Visitor
from monitor.service.pages.status.board import Board
from monitor.service.pages.status.cards import (
    alert_table,
    card_of,
    event_table,
    limits_of,
    plan_facts,
    round_table,
)
from monitor.storage.rounds.round_lists import MOST

router = APIRouter()

ROUNDS = 26  # Rounds that the page of a monitor lists: half a year of weeks
MONITORS = 100  # Monitors of which a page shows the cards

MOST_PAGES = 10_000

OLDER = 100  # Rounds that a page lists of those before one


def board_of(request: Request) -> Board:
    """Find what the pages read."""
    board: Board = request.app.state.board
    return board


FromBoard = Annotated[Board, Depends(board_of)]


def named_monitor(board: FromBoard, name: str) -> MonitorSettings:
    """Find the monitor of an address."""
    settings = board.settings(name)
    if settings is None:
        message = "The config has no such monitor. It may have been renamed or removed."
        raise PageRefused(HTTPStatus.NOT_FOUND, message)
    return settings


Named = Annotated[MonitorSettings, Depends(named_monitor)]


@contextmanager
def _refused_as_404() -> Iterator[None]:
    """Answer 404 where the store has no such round."""
    try:
        yield
    except InputRefused as refused:
        raise PageRefused(HTTPStatus.NOT_FOUND, f"{refused}.") from None


@router.get("/")
def first_page(
    board: FromBoard, session: Visitor, page: Annotated[int, Query(ge=1, le=MOST_PAGES)] = 1
) -> Response:
    """Show all monitors, the gravest first; who only labels goes on to the labeling page."""
    if not session.role.views:
        return RedirectResponse("/label", HTTPStatus.SEE_OTHER)
    fleet = board.fleet()
    # Those of one state stay as the config has them.
    ordered = sorted(fleet.monitors, key=lambda one: one[1].status.grade)
    shown = ordered[(page - 1) * MONITORS : page * MONITORS]
    counts = Counter(overview.status for _, overview in ordered)
    states = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    return html_page(
        "status/monitors.html",
        visit=session,
        now=minute_text(fleet.now),
        counted=f"{plural(len(ordered), 'monitor')}: {states}",
        cards=[card_of(settings, overview, board.mlflow) for settings, overview in shown],
        page_number=page,
        pages=max(1, -(-len(ordered) // MONITORS)),
        removed=[one.sentence for one in fleet.removed],
        blocks=[block_lines(block) for block in fleet.blocks],
    )


@router.get("/monitors/{name}")
def monitor_page(
    session: Viewing,
    board: FromBoard,
    settings: Named,
    before: Annotated[int | None, Query(ge=-MOST, le=MOST)] = None,
) -> Response:
    """Show one monitor with its newest rounds, or those before one."""
    with _refused_as_404():
        monitor = board.monitor(settings, ROUNDS if before is None else OLDER, before)
    rounds = round_table(monitor.rounds)
    return html_page(
        "status/monitor.html",
        visit=session,
        card=card_of(settings, monitor.overview, board.mlflow),
        now=minute_text(board.clock()),
        plan=plan_facts(settings),
        drawn=monitor.drawn,
        plan_of_strata=None if monitor.drawn is None else drawn_section(monitor.drawn),
        rounds=rounds,
        skipped=plural(monitor.rounds.hidden, "skipped round") if monitor.rounds.hidden else "",
        older=rounds[-1].number if monitor.rounds.has_older else None,
        before=before,
        alerts=alert_table(monitor.alerts),
    )


@router.get("/monitors/{name}/{metric}.svg")
def monitor_figure(
    session: Viewing,  # noqa: ARG001  it is checked
    board: FromBoard,
    settings: Named,
    metric: Literal["precision", "recall"],
) -> Response:
    """Draw the timeline of a metric."""
    timeline = board.timeline(settings.name)
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
    """Show one round."""
    with _refused_as_404():
        result = board.round(settings.name, number, version)
    page = result.page
    return html_page(
        "status/round.html",
        visit=session,
        name=settings.name,
        found=result,
        page=page,
        head=list(head_lines(page)),
        sections=page_sections(page),
        events=event_table(page),
    )


@router.get("/monitors/{name}/rounds/{number}/report")
def round_report(
    session: Viewing,  # noqa: ARG001  it is checked
    board: FromBoard,
    settings: Named,
    number: int,
    version: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """Give the report of a round: its own page, with the style that it holds."""
    with _refused_as_404():
        report = board.report(settings.name, number, version)
    headers = {"content-security-policy": f"{policy()}; frame-ancestors 'none'; sandbox"}
    return HTMLResponse(report_html(report), headers=headers)
