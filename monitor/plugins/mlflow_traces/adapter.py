"""Entry point of the source of MLflow's traces."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Adapter
from monitor.domain.ports import Source
from monitor.plugins.mlflow_traces.settings import TracesSettings


def _make(*parts: Any) -> Source:
    from monitor.plugins.mlflow_traces.source import TracesSource  # noqa: PLC0415  as for lakes

    return TracesSource(*parts)


ADAPTER = Adapter(TracesSettings, _make)
