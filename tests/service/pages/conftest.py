from __future__ import annotations

import pytest

from tests.service.pages.people import place_of


@pytest.fixture
def place(database, tmp_path):
    """A page with a round of twelve labels."""
    return place_of(database, tmp_path)


@pytest.fixture
def ada(place):
    return place.person("ada")
