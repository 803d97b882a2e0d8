"""What strangers, clocks and slow connections do to the labeling page, and what becomes of it."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from monitor.config.pages import PagesSettings
from monitor.domain.errors import StoreUnavailable
from monitor.service.pages import guard
from monitor.service.pages.labeling.task_queue import HELD
from tests.servers import free_port
from tests.service.pages.people import PORT, hand, place_of, sent_to, served


def test_a_form_that_never_comes_to_its_end_is_given_up(place, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.05)

    async def receive():
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"k", "more_body": True}

    sent = sent_to(place.application(), receive, "/enter", host=f"127.0.0.1:{PORT}")

    assert sent[0]["status"] == 503, "the script of the page sends it again"
    assert (b"connection", b"close") in sent[0]["headers"]


def test_items_come_back_also_where_the_clock_was_ahead(place):
    place.scene.now += timedelta(days=3)
    place.person("bob")
    place.scene.now -= timedelta(days=3)

    ada = place.person("ada")

    assert "on somebody else's screen" not in ada.page.text
    assert ada.task is not None
    place.scene.now += HELD - timedelta(seconds=1)
    assert len(place.scene.rows("select * from page_tasks where held_by = 'ada'")) == 10


def test_who_took_an_answer_back_is_not_asked_for_the_other_copy(database, tmp_path):
    place = place_of(database, tmp_path, overlap=1.0)
    items = {row["key"]: row["item_id"] for row in place.scene.rows("select * from tasks")}
    ada = place.person("ada")
    first = ada.task
    [other] = [key for key in items if items[key] == items[first] and key != first]
    ada.answer("1").post("/label/undo")
    place.scene.now += HELD + timedelta(seconds=1)
    bob = place.person("bob")
    hand(database, first, "bob")
    bob.post("/label/answer", task=first, answer="0")

    asked = []
    while ada.get().task is not None:
        asked.append(ada.task)
        ada.answer("1")
    place.scene.run()

    assert other not in asked
    assert len(asked) == 11
    assert {f"{task}/ada" for task in asked} < set(place.labels()), "what was taken counts"


def test_undo_takes_back_what_was_said_last_also_where_the_clock_was_set_back(place, ada):
    ada.answer("1")
    second = ada.task
    place.scene.now -= timedelta(hours=1)

    ada.answer("0").get().post("/label/undo")

    assert ada.task == second
    assert [row["answer"] for row in place.said] == ["1", "0", None]


def test_a_store_without_a_free_connection_is_away_for_now(place, monkeypatch):
    database = place.scene.database
    pool = database.engine.pool
    monkeypatch.setattr(pool, "_timeout", 0.05)
    taken = [database.engine.connect() for _ in range(pool.size() + pool._max_overflow)]

    try:
        with pytest.raises(StoreUnavailable, match="all connections to it are in use"):
            database.read().__enter__()
        answer = place.client().get("/label")
    finally:
        for connection in taken:
            connection.close()

    assert answer.status_code == 503
    assert place.client().get("/label").status_code == 401


def test_who_came_in_is_in_also_where_nobody_reads_what_is_printed(place):
    links = []

    def told(link, entered):
        links.append(link)
        if entered is not None:
            raise BrokenPipeError

    def come_in():
        address, _, key = links[0].partition("?key=")
        data = {"key": key, "name": "ada"}
        return httpx.post(address, data=data, trust_env=False, follow_redirects=False)

    settings = PagesSettings(listen=f"localhost:{free_port()}")
    with served(place.board(), settings, notified=told):
        answer = come_in()

    assert links[0].startswith("http://127.0.0.1:"), "the address that is listened on"
    assert answer.status_code == 303
    assert "set-cookie" in answer.headers
