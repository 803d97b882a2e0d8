"""Settings of the labeler that asks in MLflow's review view."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

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
    """

    kind: Literal["mlflow"] = "mlflow"
    question: Annotated[Question, Field(max_length=250), AfterValidator(_is_free)]
    timeout: Annotated[Duration, Field(ge=timedelta(seconds=1), le=timedelta(minutes=10))] = (
        timedelta(seconds=60)
    )
