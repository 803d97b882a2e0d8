"""Entry point of the labeler that asks in Label Studio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.adapters import LabelerAdapter
from monitor.plugins.label_studio.settings import LabelStudioSettings

if TYPE_CHECKING:
    from monitor.domain.ports import Labeler


def _make(settings: Any, _folder: Any, _clock: Any, database: Any) -> Labeler:
    # httpx and SQLAlchemy take 0.3 s to import, and reading a config needs neither.
    from monitor.plugins.label_studio.labeler import LabelStudioLabeler  # noqa: PLC0415
    from monitor.storage.schema import store_id  # noqa: PLC0415

    def store() -> str:
        with database.read() as connection:
            return store_id(connection)

    return LabelStudioLabeler(settings, store)


ADAPTER = LabelerAdapter(LabelStudioSettings, _make, wants_store=True)
