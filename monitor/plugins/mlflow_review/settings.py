"""Settings of the labeler that asks in MLflow's review view."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from monitor.domain.errors import SettingRefused
from monitor.domain.setting_types import Duration, Question
from monitor.domain.settings import Labeling

CANNOT_TELL = "Or can you not tell?"
"""The second question of every item: the view has no button for it."""

_TAKEN = frozenset({CANNOT_TELL.lower(), "feedback"})  # the latter by MLflow's own question


def _is_free(value: str) -> str:
    if value.lower() in _TAKEN:
        message = f"{value!r} is asked there in another sense already; ask in other words"
        raise ValueError(message)
    return value


class ReviewSettings(Labeling):
    """What MLflow's review view asks: ``question`` must be one that "yes" and "no" answer.

    A round keeps the question that its first tasks went out with. ``timeout`` is how long one
    request to MLflow may take; it is the server that `mlflow.tracking_uri` names.

    People label copies that show ``source.columns.show`` only. With ``on: traces`` they label the
    traces of a source of kind `mlflow_traces` themselves, and see the decision: such labels are not
    blind. ``forget`` then leaves the traces to the application.
    """

    kind: Literal["mlflow"] = "mlflow"
    question: Annotated[Question, Field(max_length=250), AfterValidator(_is_free)]
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=10))] = (
        timedelta(seconds=60)
    )
    on: Literal["copies", "traces"] = "copies"

    def as_opened(self, opened_with: Mapping[str, Any]) -> ReviewSettings:
        """Return the settings for a round that was opened with another ``on`` or question."""
        on = opened_with.get("on", "copies")
        # Copies keep their question themselves.
        question = opened_with["question"] if on == "traces" else self.question
        if (on, question) == (self.on, self.question):
            return self
        return self.model_copy(update={"on": on, "question": question})

    @model_validator(mode="after")
    def _one_person_a_trace(self) -> ReviewSettings:
        if self.on == "traces" and self.overlap > 0:
            why = "a trace is in one queue, where everybody sees it; remove it, or on: traces"
            raise SettingRefused(setting="overlap", why=why)
        return self
