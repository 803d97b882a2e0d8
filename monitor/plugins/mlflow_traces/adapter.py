"""Entry point of the source of MLflow's traces."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Adapter, ProposedMonitor
from monitor.domain.ports import Source
from monitor.plugins.mlflow_traces.settings import TracesSettings


def _make(*parts: Any) -> Source:
    from monitor.plugins.mlflow_traces.source import TracesSource  # noqa: PLC0415  as for lakes

    return TracesSource(*parts)


def _propose(*parts: Any) -> ProposedMonitor:
    from monitor.plugins.mlflow_traces.proposal import propose  # noqa: PLC0415  as above

    return propose(*parts)


ADAPTER = Adapter(TracesSettings, _make, _propose)
