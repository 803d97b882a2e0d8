"""What of an item has its own address on the labeling page: pictures, and HTML."""

import re
from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from monitor.domain.shown import Value, image_type, picture_bytes
from monitor.service.pages.labeling.framed import HEADERS, framed
from monitor.service.pages.requests import Labeling, PageRefused
from monitor.service.pages.sessions import WebSession

router = APIRouter(prefix="/label")

_LOCATION = re.compile(r"[0-9]{1,4}")
_NOT_THERE = "There is nothing to show here, or no longer."


@router.get("/picture")
def show_picture(request: Request, session: Labeling, task: str = "", part: str = "") -> Response:
    """Give a picture of a task that is on the person's screen, or was."""
    value = _part_of(request, session, task, part)
    if isinstance(value, str) or value["kind"] != "image" or "value" not in value:
        raise PageRefused(HTTPStatus.NOT_FOUND, _NOT_THERE)
    data = picture_bytes(value["value"])
    media_type = image_type(data)
    if media_type is None:
        raise PageRefused(HTTPStatus.NOT_FOUND, _NOT_THERE)
    return Response(data, media_type=media_type)


@router.get("/html")
def show_html(request: Request, session: Labeling, task: str = "", part: str = "") -> Response:
    """Give HTML of such a task, for a frame that neither runs nor loads anything."""
    value = _part_of(request, session, task, part)
    if isinstance(value, str) or value["kind"] != "html":
        raise PageRefused(HTTPStatus.NOT_FOUND, _NOT_THERE)
    return HTMLResponse(framed(value["value"]), headers=HEADERS)


def _part_of(request: Request, session: WebSession, task: str, part: str) -> Value:
    shown = None if "\0" in task else request.app.state.desk.shown_to(session.annotator, task)
    by_position = dict(enumerate((shown or {}).values()))
    value: Value | None = by_position.get(int(part) if _LOCATION.fullmatch(part) else -1)
    if value is None:
        raise PageRefused(HTTPStatus.NOT_FOUND, _NOT_THERE)
    return value
