"""What the config says of labels given on the labeling page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling


class PageSettings(Labeling):
    """What the labeling page asks: ``question`` must be one that "yes" and "no" answer.

    In a block of ``classes`` people may be asked for the class instead: with ``answer: class`` they
    see each item once, and choose one of the classes, for all monitors of the block that drew it.
    ``guideline`` is a Markdown file that says what counts as yes, with examples. A round
    keeps all of this as it was when its tasks went out.
    """

    kind: Literal["page"] = "page"
    question: Question
    answer: Literal["yes_no", "class"] = "yes_no"
    guideline: Annotated[str, Field(min_length=1)] | None = None
