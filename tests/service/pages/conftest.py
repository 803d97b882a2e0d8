from dataclasses import replace
from pathlib import Path

import pytest

from monitor.domain.people import Role
from monitor.service.pages.sessions import Sessions
from tests.rounds.played import played
from tests.service.pages.people import Place, on_page, place_of


@played
def drawn(database):
    """A round of twelve labels on the page, and no labeler."""
    scene = place_of(database, Path()).scene
    scene.labeler = None
    return scene


@pytest.fixture
def place(drawn, tmp_path):
    """A page with a round of twelve labels."""
    return Place(on_page(drawn, tmp_path))


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
