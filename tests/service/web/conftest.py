"""A service of its own process, on a config with an address to listen on."""

import pytest

from tests.servers import free_port
from tests.service.web.serving import Place
from tests.small_config import configure


@pytest.fixture
def place(folder):
    """A folder with a config that says where to listen."""
    place = Place(folder, free_port())
    configure(folder, more=place.web)
    yield place
    place.store.close()
