"""Files of these tests were saved by somebody who has left."""

import pytest

from monitor.labeling import file_stability


@pytest.fixture(autouse=True)
def _files_settle_at_once(monkeypatch):
    monkeypatch.setattr(file_stability, "SETTLED", 0.02)
