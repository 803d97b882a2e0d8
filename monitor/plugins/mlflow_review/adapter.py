"""Entry point of the labeler that asks in MLflow's review view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.adapters import LabelerAdapter
from monitor.plugins.mlflow_review.settings import ReviewSettings

if TYPE_CHECKING:
    from monitor.domain.ports import Labeler


def _make(*parts: Any) -> Labeler:
    # SQLAlchemy takes 0.2 s to import, and commands that only read the config do without it.
    from monitor.plugins.mlflow_review.labeler import MlflowReviewLabeler  # noqa: PLC0415

    return MlflowReviewLabeler(*parts)


ADAPTER = LabelerAdapter(ReviewSettings, _make, wants_store=True, wants_mlflow=True)
