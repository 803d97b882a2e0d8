"""Entry point of the labeler that asks in MLflow's review view."""

from __future__ import annotations

from monitor.domain.adapters import Adapter, LabelerSite
from monitor.domain.errors import SettingRefused
from monitor.domain.ports import Labeler
from monitor.plugins.mlflow_review.settings import ReviewSettings


def _make(settings: ReviewSettings, site: LabelerSite) -> Labeler:
    # SQLAlchemy takes 0.2 s to import, and commands that only read the config do without it.
    from monitor.plugins.mlflow_review.labeler import MlflowReviewLabeler  # noqa: PLC0415
    from monitor.plugins.mlflow_review.on_traces import TraceQueueLabeler  # noqa: PLC0415

    parts = settings, site.clock, site.store, site.tracking_uri
    if settings.on == "copies":
        return MlflowReviewLabeler(*parts, site.experiment)
    traced = getattr(site.source, "settings", None)
    if getattr(traced, "kind", "") != "mlflow_traces":
        why = "on: traces needs predictions that are traces (source.kind: mlflow_traces)"
        raise SettingRefused(setting="on", why=why)
    if getattr(traced, "span", None) is not None:
        why = "a review queue holds whole traces; remove source.span, or on: traces"
        raise SettingRefused(setting="on", why=why)
    return TraceQueueLabeler(*parts, str(getattr(traced, "experiment", "")))


ADAPTER = Adapter(ReviewSettings, _make)
