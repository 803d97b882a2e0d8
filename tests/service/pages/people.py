"""A labeling page over a round of a classifier in memory, and people who use it without a browser.

They read the page as a browser without JavaScript shows it: the fields of its forms are all they
can send.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import httpx
from sqlalchemy import update

from monitor.config.pages import PagesSettings
from monitor.domain.model import Answer
from monitor.domain.sample_settings import Bands, Sample
from monitor.domain.settings import MonitorSettings
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.link_login import LinkLogin
from monitor.service.pages.serving import PagesServer, pages_app
from monitor.service.pages.status.addresses import Board
from monitor.storage.pages.page_tables import page_tasks
from tests.rounds.scene import Scene, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from monitor.storage.database import Database

HOST, PORT = "127.0.0.1", 8089
BASE = f"http://{HOST}:{PORT}"
QUESTION = "Is this mail really about travel?"


class Client:
    """A browser as far as it asks and keeps cookies; what is asked goes straight to the page."""

    def __init__(self, application, *, base=BASE, address="127.0.0.1", **more):
        self._asking = httpx.AsyncClient(
            transport=httpx.ASGITransport(application, client=(address, 50_000)),
            base_url=base,
            follow_redirects=True,
            **more,
        )
        self.cookies = self._asking.cookies

    def request(self, method, path, **more):
        return asyncio.run(self._asking.request(method, path, **more))

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, **more):
        return self.request("POST", path, **more)


def sent_to(application, receive, path, **headers):
    """Let a server receive what a test gives it; returns what it sends back."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[dict[str, Any]] = []

    async def send(message):
        sent.append(message)

    async def ask():
        await asyncio.wait_for(application(scope, receive, send), 5)

    asyncio.run(ask())
    return sent


class Reader(HTMLParser):
    """Texts, forms and addresses of a page."""

    def __init__(self, html):
        super().__init__()
        self.forms: dict[str, dict[str, str]] = {}
        self.buttons: list[dict[str, str | None]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._form = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.elements.append((tag, named))
        if tag == "form":
            self._form = named["action"] or ""
            self.forms[self._form] = {}
        if tag == "input" and "name" in named:  # the search has none: no form sends it
            self.forms[self._form][named["name"] or ""] = named.get("value") or ""
        if tag == "button":
            self.buttons.append(named)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@dataclass
class Person:
    """Somebody with a browser."""

    client: Client
    page: Any = None
    response: Any = None

    def get(self, path="/label"):
        self.response = self.client.get(path)
        self.page = Reader(self.response.text)
        return self

    def post(self, path, **more):
        self.response = self.client.post(path, data={**self.page.forms[path], **more})
        self.page = Reader(self.response.text)
        return self

    def answer(self, value):
        return self.post("/label/answer", answer=value)

    @property
    def task(self):
        """The task on the screen; None where nothing is left."""
        form = self.page.forms.get("/label/answer")
        return None if form is None else form["task"]

    @property
    def form_token(self):
        return self.page.forms["/leave"]["form_token"]


@dataclass
class Place:
    """A page, the round that stands on it, and the link to it."""

    scene: Any
    entered: list[str] = field(default_factory=list)
    mlflow: str | None = None

    def __post_init__(self):
        self.links = LinkLogin("account", self.entered.append)

    def application(self):
        """The page as it is after a start; what people said before is in the store."""
        settings = PagesSettings(listen=f"{HOST}:{PORT}")
        return pages_app(self.desk(), self.links, self.board(), settings)

    def desk(self, *, ahead=timedelta(0)):
        """What the page asks and tells, without a page; its clock may be ahead."""
        scene = self.scene
        return TaskQueue(scene.database, lambda: scene.now + ahead, lambda: [scene.name])

    def answer_all(self, name, *values, answer_of=None):
        """Let somebody answer all that is left, at the desk; returns what was said, by task.

        By turns the values, or what a function says of a task.
        """
        desk = self.desk()
        said: dict[str, Answer] = {}
        while tasks := desk.screen(name).tasks:
            task = tasks[0]
            answer = answer_of(task.key) if answer_of else values[len(said) % len(values)]
            said[task.key] = Answer(answer)
            taken = desk.record_answer(name, task.key, said[task.key], task.revision)
            assert taken is AnswerOutcome.TAKEN
        return said

    def board(self):
        scene = self.scene
        return Board(scene.database, lambda: scene.now, self.settings, lambda *_: self.mlflow)

    def settings(self):
        """The monitors of the config."""
        return [MonitorSettings(name=self.scene.name, round=self.scene.settings)]

    def client(self, **more):
        return Client(self.application(), **more)

    def person(self, name):
        """Let somebody come in by the link that works."""
        one = Person(self.client()).get(f"/enter?key={self.links.key}")
        return one.post("/enter", name=name)

    @property
    def said(self):
        return self.scene.rows("select * from page_answers order by id")

    def labels(self):
        """Current label events that the round has, by task and annotator."""
        rows = self.scene.rows("select external_id, answer from label_events order by at")
        return {row["external_id"]: row["answer"] for row in rows}


def scene_of(database: Database, *, labels=12, overlap=0.0) -> Scene:
    """A classifier whose rounds ask for so many labels."""
    sample = Sample(max_labels=labels, bands=Bands(flagged=1, passed=1))
    return Scene(database, settings(sample=sample, overlap=overlap))


def on_page(scene: Scene, folder: Path, **more) -> Scene:
    """Let its rounds be labeled on the page."""
    page = PageSettings.model_validate({"question": QUESTION, **more})
    scene.labeler = PageLabeler(page, folder, lambda: scene.now, scene.database)
    return scene


def place_of(database: Database, folder: Path, *, guideline=None, **asked) -> Place:
    """Draw a round, and put it on the page."""
    more = {} if guideline is None else {"guideline": "guideline.md"}
    if guideline is not None:
        (folder / "guideline.md").write_text(guideline)
    scene = on_page(scene_of(database, **asked), folder, **more)
    scene.week(1)
    scene.run(1)
    return Place(scene)


def hand(database: Database, key: str, who: str) -> None:
    """Let a task be on somebody's screen, whoever's turn it is."""
    with database.write() as connection:
        connection.execute(update(page_tasks).where(page_tasks.c.key == key).values(held_by=who))


def put_on_screen(place: Place, task: str, shown: dict[str, str] | None) -> None:
    """Let a task show these texts; None of what was deleted."""
    place.scene.execute(update(page_tasks).where(page_tasks.c.key == task).values(shown=shown))


@contextmanager
def served(board: Board, settings: PagesSettings, *, notified: Any, **more: Any) -> Iterator[None]:
    """Serve pages by a real server."""
    server = PagesServer(lambda: ["mail"], board, settings=settings, notified=notified, **more)
    server.start()
    try:
        yield
    finally:
        server.stop()
