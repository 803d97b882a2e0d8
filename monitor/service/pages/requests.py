"""What every address needs to know of a request: its form, and who asks."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from monitor.service.pages.visits import Visit

_MOST_FIELDS = 8

_NO_VISIT = (
    "You are not signed in here, or no longer. Where pr-monitor runs it shows a link: open that. "
    "Answers that wait in this tab are kept, and sent then."
)


class PageRefused(Exception):
    """A request that is answered with a sentence."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise PageRefused(HTTPStatus.BAD_REQUEST, "This is no form of the page.") from None
    return dict(fields)


def visit_of(request: Request) -> Visit:
    """Find who asks."""
    state = request.app.state
    visit: Visit | None = state.visits.find(request.cookies.get(state.cookie, ""))
    if visit is None:
        raise PageRefused(HTTPStatus.UNAUTHORIZED, _NO_VISIT)
    return visit


Form = Annotated[dict[str, str], Depends(form_of)]
Visitor = Annotated[Visit, Depends(visit_of)]


def own_form(visit: Visitor, form: Form) -> dict[str, str]:
    """Take a form of a page of the same visit, and no other."""
    if not visit.made(form.get("form_token", "")):
        raise PageRefused(HTTPStatus.FORBIDDEN, "This form is of another visit; reload the page.")
    return form


OwnForm = Annotated[dict[str, str], Depends(own_form)]
