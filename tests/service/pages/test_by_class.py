"""Asking for the class: what the page offers, without a script, and what it tells nobody."""

import re

import pytest

from tests.rounds.class_block import CLASSES
from tests.rounds.class_page import ClassPage
from tests.service.pages.people import Place

WHAT_IS_LEFT = re.compile(r'<p id="progress".*?</p>')
MANY = ("<b>News</b>", *(f"c{place}" for place in range(11)))


@pytest.fixture
def block(database, tmp_path):
    return drawn(database, tmp_path)


def drawn(database, folder, classes=CLASSES, **more):
    found = ClassPage(database, folder, classes, **more)
    found.week()
    found.run(number=1)
    return found


class OfBlock(Place):
    """The page of a block, without its status."""

    def desk(self, **_):
        return self.scene.desk()

    def settings(self):
        return []


def person(block, name="ada"):
    """Let somebody in."""
    return OfBlock(block).person(name)


def offers(one):
    """What the answers on the screen send, with the keys that stand for them."""
    return [
        (button["value"], button.get("aria-keyshortcuts"))
        for button in one.page.buttons
        if button.get("name") == "answer"
    ]


def test_the_classes_stand_in_the_order_of_the_config_with_a_key_each(block):
    ada = person(block)

    assert offers(ada) == [
        ("class 0", "1"),
        ("class 1", "2"),
        ("class 2", "3"),
        ("0", "0"),
        ("cannot tell", "?"),
    ]
    assert "travel 1 finance 2 news 3 None of these 0 Cannot tell ?" in ada.page.text


def test_all_is_labeled_without_a_script_and_an_answer_changed_among_ones_own(block):
    ada, items = person(block), block.items
    while ada.task is not None:
        ada.answer(str(block.chosen(items[ada.task])))
    ada.get("/label/mine")
    item = items[ada.page.forms["/label/mine"]["task"]]
    truth = block.truth[item]
    pressed = [one["value"] for one in ada.page.buttons if one.get("aria-pressed") == "true"]

    block.truth[item] = "news" if truth == "travel" else "travel"
    ada.post("/label/mine", answer=str(block.chosen(item)))
    block.run()

    assert pressed[-1] == ("0" if truth == "other" else f"class {CLASSES.index(truth)}")
    assert {value: block.labels(value) for value in CLASSES} == {
        value: block.wanted(value) for value in CLASSES
    }


def test_of_many_classes_a_list_is_searched_and_ones_own_answers_have_a_menu(database, tmp_path):
    ada = person(drawn(database, tmp_path, MANY))

    assert [value for value, _ in offers(ada)][:12] == [f"class {place}" for place in range(12)]
    assert [keys for _, keys in offers(ada)] == [None] * 12 + ["0", "?"]
    assert "<b>News</b>" in ada.page.text
    assert ("input", "class") in {(tag, of.get("id")) for tag, of in ada.page.elements}
    ada.answer("class 11").get("/label/mine")
    options = [of for tag, of in ada.page.elements if tag == "option"]
    assert [of["value"] for of in options if "selected" in of] == ["class 11"]
    ada.post("/label/mine", answer="class 12")
    assert ada.response.status_code == 400


def test_the_page_tells_nothing_of_which_monitors_drew_an_item(database, tmp_path):
    """An item looks and comes the same where one of them asks about it and where all do."""
    block = ClassPage(database, tmp_path)
    block.week()
    block.run("travel", number=1)
    alone = block.rows("select key from page_tasks order by place")
    ada = person(block)
    task, before = ada.task, ada.response.text

    block.run()
    together = block.rows("select key from page_tasks order by place")
    ada.get(f"/label?task={task}")

    assert [row for row in together if row in alone] == alone
    assert WHAT_IS_LEFT.sub("", ada.response.text) == WHAT_IS_LEFT.sub("", before)
    words = ada.page.text.replace("pr-monitor", "")
    assert not re.search(r"mail-|travel-|monitor|score|stratum", words)


def test_people_who_name_different_classes_are_a_conflict_that_one_decides(database, tmp_path):
    block = drawn(database, tmp_path, overlap=1.0, adjudicator="eve")
    ada, bob, eve = (person(block, name) for name in ("ada", "bob", "eve"))
    item = block.items[ada.task]
    ada.answer("class 0")
    key = bob.task
    while block.items[key] != item:
        bob.answer("cannot tell")
        key = bob.task
    bob.answer("class 1")

    eve.get("/label/conflicts")
    found = [value for value, _ in offers(eve)]
    overview = eve.get("/label/overview").page.text
    eve.get("/label/conflicts").post("/label/conflicts", answer="class 1")
    block.run()

    assert found == ["class 0", "class 1", "class 2", "0", "cannot tell"]
    assert "1 item on which people differ" in overview
    assert "Nothing to decide" in eve.page.text
    for value in CLASSES:
        if item in block.drawn(value):
            assert block.labels(value, "eve")[item] == ("1" if value == "finance" else "0")
