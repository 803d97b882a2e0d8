"""Entry point of the labeler that asks in Label Studio."""

from __future__ import annotations

from monitor.domain.adapters import Adapter, LabelerSite
from monitor.domain.ports import Labeler
from monitor.plugins.label_studio.settings import LabelStudioSettings


def _make(settings: LabelStudioSettings, site: LabelerSite) -> Labeler:
    # httpx and SQLAlchemy take 0.3 s to import, and reading a config needs neither.
    from monitor.plugins.label_studio.labeler import LabelStudioLabeler  # noqa: PLC0415
    from monitor.storage.schema import store_id  # noqa: PLC0415

    def store() -> str:
        with site.store.read() as connection:
            return store_id(connection)

    return LabelStudioLabeler(settings, store)


ADAPTER = Adapter(LabelStudioSettings, _make)
