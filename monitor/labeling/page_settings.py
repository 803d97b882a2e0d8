"""What the config says of labels given on the labeling page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from monitor.domain.settings import Labeling


def _says_something(value: str) -> str:
    if not value.strip():
        message = "it asks nothing; write the question that people answer, with its question mark"
        raise ValueError(message)
    return value.strip()


Question = Annotated[str, Field(max_length=300), AfterValidator(_says_something)]
"""A question that "yes" and "no" answer."""


class PageSettings(Labeling):
    """What the labeling page asks: ``question`` must be one that "yes" and "no" answer.

    ``guideline`` is a Markdown file that says what counts as yes, with examples. A round keeps
    both as they were when its tasks went out.
    """

    kind: Literal["page"] = "page"
    question: Question
    guideline: Annotated[str, Field(min_length=1)] | None = None
