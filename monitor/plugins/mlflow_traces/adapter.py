"""Entry points of the source of MLflow's traces, and of labels that are feedback on them."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Adapter, LabelerSite, ProposedMonitor
from monitor.domain.errors import SettingRefused
from monitor.domain.ports import Labeler, Source
from monitor.plugins.mlflow_traces.settings import FeedbackLabels, TracesSettings


def _make(*parts: Any) -> Source:
    from monitor.plugins.mlflow_traces.source import TracesSource  # noqa: PLC0415  as for lakes

    return TracesSource(*parts)


def _propose(*parts: Any) -> ProposedMonitor:
    from monitor.plugins.mlflow_traces.proposal import propose  # noqa: PLC0415  as above

    return propose(*parts)


ADAPTER = Adapter(TracesSettings, _make, _propose)


def _make_labeler(settings: FeedbackLabels, site: LabelerSite) -> Labeler:
    from monitor.plugins.mlflow_traces.labels import FeedbackLabeler  # noqa: PLC0415  as above
    from monitor.plugins.mlflow_traces.source import TracesSource  # noqa: PLC0415

    if not isinstance(site.source, TracesSource):
        why = "mlflow_feedback reads labels from traces, so source.kind must be mlflow_traces"
        raise SettingRefused(setting="kind", why=why)
    return FeedbackLabeler(settings, site.source.reader)


LABELS = Adapter(FeedbackLabels, _make_labeler)
