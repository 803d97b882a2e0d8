"""Answers of the pages: HTML from templates, or JSON where the script of a page asks."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def html_page(template: str, /, **values: Any) -> HTMLResponse:
    """Make a page of a template."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(**values))


def message_page(status: HTTPStatus, message: str) -> HTMLResponse:
    """Make a page that has one sentence."""
    signed_in = status is not HTTPStatus.UNAUTHORIZED
    page = html_page("message.html", message=message, signed_in=signed_in)
    page.status_code = status
    return page


def message_answer(request: Request, status: HTTPStatus, message: str) -> Response:
    """Answer with one sentence, as a page or to a script."""
    if wants_json(request):
        return JSONResponse({"message": message}, status)
    return message_page(status, message)


def wants_json(request: Request) -> bool:
    """Whether a script asks."""
    return "application/json" in request.headers.get("accept", "")
