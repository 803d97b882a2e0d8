from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.service.pages.roles import Role
from monitor.service.pages.sessions import Sessions
from tests.service.pages.people import place_of


@pytest.fixture
def place(database, tmp_path):
    """A page with a round of twelve labels."""
    return place_of(database, tmp_path)


@pytest.fixture
def ada(place):
    return place.person("ada")


@pytest.fixture
def as_role(monkeypatch):
    """Give everybody who is signed in a role."""
    find = Sessions.find

    def give(role):
        monkeypatch.setattr(
            Sessions,
            "find",
            lambda self, token: (visit := find(self, token)) and replace(visit, role=Role(role)),
        )

    return give
