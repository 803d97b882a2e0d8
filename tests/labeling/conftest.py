"""Files of these tests were saved by somebody who has left."""

import pytest

from monitor.labeling import folder_scan


@pytest.fixture(autouse=True)
def _files_settle_at_once(monkeypatch):
    monkeypatch.setattr(folder_scan, "SETTLED", 0.02)
