"""Files of these tests were saved by somebody who has left."""

from __future__ import annotations

import pytest

from monitor.labeling import stillness


@pytest.fixture(autouse=True)
def _files_settle_at_once(monkeypatch):
    monkeypatch.setattr(stillness, "SETTLED", 0.02)
