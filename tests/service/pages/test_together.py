"""What people see of their own answers, and who runs it of everybody's."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.service.pages.labeling.own_answers import AT_ONCE
from tests.rounds.played import played
from tests.service.pages.hostile import HOSTILE
from tests.service.pages.people import Place, on_page, place_of, put_on_screen, scene_of

ADMIN_PAGES = ("/label/overview", "/label/conflicts")


@played
def answered(database):
    """A round of which two people answered each item, eve decides, and there is no labeler."""
    return answered_twice(database, "eve")


def answered_twice(database, adjudicator):
    scene = on_page(scene_of(database, overlap=1.0), Path())
    scene.settings = scene.settings.model_copy(update={"adjudicator": adjudicator})
    scene.week(1)
    scene.run(1)
    place = Place(scene)
    place.answer_all("ada", "1")
    place.answer_all("bob", "1", "1", "0")
    scene.labeler = None
    return scene


@pytest.fixture
def doubled(answered, tmp_path):
    return Place(on_page(answered, tmp_path))


def mine(person, page=1):
    """Keys of the answers on a page of somebody's own, in order."""
    person.get(f"/label/mine?page={page}")
    inputs = [named for tag, named in person.page.elements if tag == "input"]
    return [named["value"] for named in inputs if named.get("name") == "task"]


def test_my_answers_come_in_pages(database, tmp_path):
    place = place_of(database, tmp_path, labels=2 * AT_ONCE + 5)
    said = place.answer_all("ada", "1", "0")
    ada = place.person("ada")

    pages = [mine(ada, number) for number in (1, 2, 3, 99)]

    listed = [key for page in pages[:3] for key in page]
    assert [len(page) for page in pages] == [AT_ONCE, AT_ONCE, 5, 5]
    assert "Page 3 of 3" in ada.page.text
    assert listed == [*said][::-1]


def test_my_answers_are_there_the_newest_first_and_each_is_corrected_once(place, ada):
    keys = []
    for _ in range(3):
        keys.append(ada.task)
        ada.answer("1")

    listed = mine(ada)
    form = {"form_token": ada.form_token, "task": keys[0], "revision": "1"}
    codes = [
        ada.client.post("/label/mine", data={**form, "answer": answer}).status_code
        for answer in ("1", "0", "cannot tell")  # as it stands, otherwise, and too late
    ]
    place.scene.run()

    said = [row for row in place.said if row["task_key"] == keys[0]]
    assert listed == keys[::-1]
    assert (codes[1:], len(place.said)) == ([200, 409], 4)
    assert [(row["revision"], row["answer"]) for row in said] == [(1, "1"), (2, "0")]
    assert place.labels()[f"{keys[0]}/ada"] == "0"


def test_another_persons_answer_is_neither_seen_nor_corrected(place, ada):
    first = ada.task
    ada.answer("1")
    bob = place.person("bob")

    seen = mine(bob)
    form = {"form_token": bob.form_token, "task": first, "revision": "1", "answer": "0"}
    refused = bob.client.post("/label/mine", data=form)
    new = bob.client.post("/label/mine", data={**form, "revision": "0"})

    assert seen == []
    assert first not in bob.response.text
    assert (refused.status_code, new.status_code) == (404, 404)
    assert len(place.said) == 1


def test_what_an_adjudicator_decides_counts_and_is_no_third_opinion(doubled):
    doubled.scene.run()
    before = doubled.scene.part(1, "agreement")
    eve = doubled.person("eve").get("/label/conflicts")

    decided = 0
    while eve.page.forms.get("/label/conflicts"):
        eve.post("/label/conflicts", answer="0")
        decided += 1
    doubled.scene.now += timedelta(minutes=1)
    doubled.scene.run()

    after = doubled.scene.part(1, "agreement")
    [counts] = doubled.scene.rows(
        "select sum(positive) as positive, sum(declined) as declined, sum(labeled) as labeled "
        "from counts where version = (select max(version) from counts)"
    )
    assert decided == 4
    assert counts == {"positive": 8, "declined": 0, "labeled": 12}
    assert before == after
    assert after["annotators"] == 2
    assert "No conflict for you to decide" in eve.page.text


def test_who_decides_sees_not_who_said_what_and_what_nobody_can_tell_not_again(doubled):
    eve = doubled.person("eve").get("/label/conflicts")
    first = eve.page.text
    names = re.findall(r"\b(?:ada|bob)\b", eve.response.text)  # hashes in it may hold "ada"

    for _ in range(4):
        eve.post("/label/conflicts", answer="cannot tell")

    assert "4 to decide" in first
    assert names == []
    assert "Is this mail really about travel?" in first
    assert "item " in first
    assert "No conflict for you to decide" in eve.page.text


@pytest.mark.parametrize(
    ("adjudicator", "told"), [("eve", "eve decides"), (None, "nobody decides")]
)
def test_who_is_not_the_adjudicator_reads_who_is_and_decides_nothing(
    database, tmp_path, adjudicator, told
):
    place = Place(on_page(answered_twice(database, adjudicator), tmp_path))
    ada = place.person("ada").get("/label/conflicts")
    [conflict] = place.scene.rows("select task_key from page_answers where answer = '0' limit 1")
    form = {"form_token": ada.form_token, "task": conflict["task_key"], "revision": "0"}

    refused = ada.client.post("/label/conflicts", data={**form, "answer": "1"})

    assert told in ada.page.text
    assert "/label/conflicts" not in ada.page.forms
    assert refused.status_code == 409
    assert len(place.said) == 24


def test_a_conflict_that_was_settled_meanwhile_is_not_decided(doubled):
    eve = doubled.person("eve").get("/label/conflicts")
    form = {**eve.page.forms["/label/conflicts"], "answer": "1"}
    doubled.scene.execute("update page_answers set answer = '1'")

    late = eve.client.post("/label/conflicts", data=form)

    assert late.status_code == 409
    assert "settled already" in late.text


def test_the_overview_counts_the_answered_tasks_and_the_conflicts(doubled):
    page = doubled.person("eve").get("/label/overview").page

    assert "24 of 24 tasks answered" in page.text
    assert "4 items on which people differ" in page.text


def test_labelers_see_their_own_answers_and_nobody_elses(ada, as_role):
    as_role("labeler")
    codes = [ada.client.get(path).status_code for path in ("/label", "/label/mine", *ADMIN_PAGES)]
    form = {"form_token": ada.get("/label/mine").form_token, "task": "t", "revision": "0"}
    decided = ada.client.post("/label/conflicts", data={**form, "answer": "1"})

    assert codes == [200, 200, 403, 403]
    assert decided.status_code == 403
    assert not any(path in ada.get().response.text for path in ADMIN_PAGES)


def test_texts_and_names_of_strangers_stay_texts_on_every_page(database, tmp_path):
    judge = "<img src=x onerror=alert(1)>"
    place = Place(on_page(answered_twice(database, judge), tmp_path))
    for row, text in zip(place.scene.rows("select key from page_tasks"), HOSTILE, strict=False):
        put_on_screen(place, row["key"], {"subject": text, text[:200]: "b"})
    place.person("<script>alert(1)</script>")
    judge = place.person(judge)
    ada = place.person("ada")

    known = {"html", "head", "meta", "title", "link", "body", "header", "main", "footer", "nav"}
    known |= {"p", "form", "input", "button", "span", "bdi", "a", "h1", "h2", "ul", "ol", "li"}
    known |= {"section", "article", "div", "details", "summary", "dl", "dt", "dd", "kbd", "code"}
    for path, person in (("/label/mine", ada), *((path, judge) for path in ADMIN_PAGES)):
        for _ in range(4):
            person.get(path)
            assert person.response.status_code == 200
            assert {tag for tag, _ in person.page.elements} <= known
            assert not [n for _, named in person.page.elements for n in named if n.startswith("on")]
            if path in person.page.forms:  # on to the next conflict, or a correction
                person.post(path, answer="0")
