"""Entry point of the lake source."""

from __future__ import annotations

from typing import Any

from monitor.domain.adapters import Adapter
from monitor.domain.ports import Source
from monitor.plugins.lake.settings import LakeSettings


def _make(*parts: Any) -> Source:
    from monitor.plugins.lake.source import LakeSource  # noqa: PLC0415  few configs have one

    return LakeSource(*parts)


ADAPTER = Adapter(LakeSettings, _make)
