"""Estimates of these tests are coarse; a module that looks at second digits has more `POINTS`."""

import pytest

from tests.coarse import coarse
from tests.rounds.scene import Scene, settings


@pytest.fixture(autouse=True)
def _coarse(request):
    with coarse(getattr(request.module, "POINTS", 2**8)):
        yield


@pytest.fixture
def scene(request, database):
    """A monitor that has no round yet; a module may say its settings by ``SETTINGS``."""
    return Scene(database, getattr(request.module, "SETTINGS", settings()))
