"""Entry point of the labeler that asks in MLflow's review view."""

from __future__ import annotations

from monitor.domain.adapters import Adapter, LabelerSite
from monitor.domain.ports import Labeler
from monitor.plugins.mlflow_review.settings import ReviewSettings


def _make(settings: ReviewSettings, site: LabelerSite) -> Labeler:
    # SQLAlchemy takes 0.2 s to import, and commands that only read the config do without it.
    from monitor.plugins.mlflow_review.labeler import MlflowReviewLabeler  # noqa: PLC0415

    return MlflowReviewLabeler(settings, site.clock, site.store, site.tracking_uri, site.experiment)


ADAPTER = Adapter(ReviewSettings, _make)
