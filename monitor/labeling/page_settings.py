"""What the config says of labels given on the labeling page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Question
from monitor.domain.settings import Labeling


class PageSettings(Labeling):
    """What the labeling page asks: ``question`` must be one that "yes" and "no" answer.

    In a block of ``classes`` people may be asked for the class instead: with ``answer: class`` they
    see each item once, and choose one of the classes, for all monitors of the block that drew it.
    ``guideline`` is a Markdown file that says what counts as yes, with examples. ``repeats`` is
    the share of their tasks that people are asked once more, later and unmarked. ``gold`` is a CSV
    file of items whose truth is known and is in the column ``truth``; for ``gold_share`` of a
    person's tasks one of them comes as well, and with ``gold_feedback`` who got it wrong is told.
    Neither changes a label, a count or evidence. A round keeps all of this as it was when its tasks
    went out.
    """

    kind: Literal["page"] = "page"
    question: Question
    answer: Literal["yes_no", "class"] = "yes_no"
    guideline: Annotated[str, Field(min_length=1)] | None = None
    repeats: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    gold: Annotated[str, Field(min_length=1)] | None = None
    gold_share: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    gold_feedback: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> PageSettings:
        reasons = {
            "gold": "the truth of a gold item is yes or no, and people are asked for the class",
            "audit": (
                "an audit counts how yes and no were labeled, and people are asked for the class; "
                "errors of one class say nothing of another's"
            ),
        }
        for name, why in reasons.items():
            if self.answer == "class" and getattr(self, name) is not None:
                raise SettingRefused(setting=name, why=f"{why}; leave it out, or answer: class")
        # By value: the settings that a round keeps name all of them.
        for name in ("gold_share", "gold_feedback"):
            if self.gold is None and getattr(self, name) != type(self).model_fields[name].default:
                message = "there are no gold items; name their file with gold, or leave this out"
                raise SettingRefused(setting=name, why=message)
        return self
