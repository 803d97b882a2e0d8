"""Settings of labels from the labeling page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling


class PageSettings(Labeling):
    """Content of the labeling page: ``question`` must be a yes-or-no question.

    In a block of ``classes``, ``answer: class`` asks for the class instead: people see each item
    once and choose one of the classes, for all monitors of the block that drew the item.
    ``guideline`` is a Markdown file that explains what counts as yes, with examples. A round
    stores these settings when its tasks are sent.
    """

    kind: Literal["page"] = "page"
    question: Question
    answer: Literal["yes_no", "class"] = "yes_no"
    guideline: Annotated[str, Field(min_length=1)] | None = None
