"""A service of its own process, on a config with an address to listen on."""

from __future__ import annotations

import pytest

from tests.servers import free_port
from tests.small_config import configure
from tests.web.serving import Place


@pytest.fixture
def place(folder):
    """A folder with a config that says where to listen."""
    place = Place(folder, free_port())
    configure(folder, more=place.web)
    return place
