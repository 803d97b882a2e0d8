"""The way out."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from monitor.service.pages.requests import OwnForm, Visitor, end_session

router = APIRouter()


@router.post("/leave")
def leave(request: Request, session: Visitor, form: OwnForm) -> Response:  # noqa: ARG001  is checked
    """End a visit, in every browser."""
    return end_session(request, session)
