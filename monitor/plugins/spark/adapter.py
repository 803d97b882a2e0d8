"""Entry point of the Spark source."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Adapter
from monitor.domain.ports import Source
from monitor.plugins.spark.settings import SparkSettings


def _make(*parts: Any) -> Source:
    from monitor.plugins.spark.source import SparkSource  # noqa: PLC0415  few configs have one

    return SparkSource(*parts)


ADAPTER = Adapter(SparkSettings, _make)
