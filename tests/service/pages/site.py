"""Pages that ask for a name and a password, over a store without rounds, and people who sign in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import text

from monitor.config.pages import PagesSettings
from monitor.domain.people import Role
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.serving import pages_app
from monitor.service.pages.sign_in import SignIn, SignInAttempts
from monitor.service.pages.status.addresses import Board
from monitor.storage.pages import accounts as tokens
from monitor.storage.pages import people_store
from monitor.storage.pages.accounts import StoreUsers
from tests.service.pages.people import Client, Reader

if TYPE_CHECKING:
    from monitor.storage.database import Database

NAME = "labels.example.org"
HTTPS = f"https://{NAME}:8443"
FORWARDED = {"x-forwarded-proto": "https"}
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


def reachable(**more):
    """Settings of pages that other machines can reach."""
    given = {
        "listen": "0.0.0.0:8443",
        "names": [NAME],
        "login": "users",
        "behind_proxy": True,
        **more,
    }
    return PagesSettings.model_validate({key: of for key, of in given.items() if of is not None})


@dataclass
class Site:
    """Pages with a login, and a clock that a test sets."""

    database: Database
    settings: PagesSettings = field(default_factory=reachable)
    now: datetime = BEGAN

    def application(self):
        """The pages as they are after a start, or on another replica."""
        way_in = SignIn(StoreUsers(self.database), SignInAttempts(self.database, lambda: self.now))
        desk = TaskQueue(self.database, lambda: self.now, lambda: ["mail"])
        return pages_app(desk, way_in, self.board(), self.settings)

    def board(self):
        """Status pages of a config without a monitor."""
        return Board(self.database, lambda: self.now, list, lambda *_: None)

    def client(self, *, headers=FORWARDED, **more):
        """A browser behind a proxy that speaks https."""
        return Client(self.application(), base=HTTPS, headers=headers, **more)

    def add(self, name, role="labeler"):
        """Add a user; returns the token."""
        token = tokens.new_token()
        with self.database.write() as connection:
            user = people_store.StoredUser(name, Role(role), self.now)
            assert people_store.add_user(connection, user, tokens.hash_of(token))
        return token

    def sign_in(self, name, password, **more):
        """Sign in with a new browser; returns it and the answer."""
        client = self.client(**more)
        return client, client.post("/sign-in", data={"name": name, "password": password})

    def signed_in(self, name, role="labeler"):
        """Add a user and let them in."""
        client, answer = self.sign_in(name, self.add(name, role))
        assert answer.status_code == 200, answer.text
        return client

    def rows(self, table):
        with self.database.read() as connection:
            return connection.execute(text(f"select * from {table}")).mappings().all()


def problem(answer):
    """What a page says is wrong."""
    page = Reader(answer.text)
    assert ("p", {"id": "problem", "role": "alert", "class": "problem"}) in page.elements
    return page.text
