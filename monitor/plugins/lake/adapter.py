"""Entry point of the lake source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.adapters import SourceAdapter
from monitor.plugins.lake.settings import LakeSettings

if TYPE_CHECKING:
    from monitor.domain.ports import Source


def _make(*parts: Any) -> Source:
    from monitor.plugins.lake.source import LakeSource  # noqa: PLC0415  few configs have one

    return LakeSource(*parts)


ADAPTER = SourceAdapter(LakeSettings, _make)
