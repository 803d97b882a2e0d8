"""A person labels a round: by plain forms, alone and with others, through restarts."""

from datetime import timedelta

from monitor.domain.state import RoundState
from monitor.service.pages.labeling.task_queue import HELD
from tests.service.pages.people import place_of


def answer_all(person, values=("1", "0")):
    """Answer until nothing is left; returns what was said, by task."""
    said: dict[str, str] = {}
    while person.task is not None:
        assert person.task not in said
        said[person.task] = values[len(said) % len(values)]
        person.answer(said[person.task])
    return said


def test_a_round_is_labeled_by_plain_forms_and_closes_and_who_answered_is_thanked(place, ada):
    said = answer_all(ada, ("1", "0", "cannot tell"))
    bob = place.person("bob").get()
    place.scene.run()

    assert len(said) == 12
    assert place.labels() == {f"{task}/ada": answer for task, answer in said.items()}
    assert place.scene.round(1).state is RoundState.CLOSED
    assert "Thank you. What was asked is answered" in ada.page.text
    assert "Nothing left to label" in bob.page.text
    assert "answers into the estimates" not in bob.page.text


def test_a_key_that_somebody_else_was_handed_takes_no_answer(place, ada):
    first = ada.task

    bob = place.person("bob").post("/label/answer", task=first, answer="0")
    refused = bob.response
    ada.answer("1")
    again = bob.get().post("/label/answer", task=first, answer="0").response

    assert (refused.status_code, again.status_code) == (409, 409)
    assert "not on your screen" in refused.text
    assert [(row["annotator"], row["answer"]) for row in place.said] == [("ada", "1")]


def test_an_answer_after_a_long_pause_counts_unless_the_item_went_to_somebody_else(place, ada):
    kept = ada.task
    place.scene.now += 3 * HELD
    ada.answer("1")
    lost = ada.task
    place.scene.now += HELD + timedelta(seconds=1)
    bob = place.person("bob").get(f"/label?task={lost}")

    ada.answer("1")
    late = ada.response.status_code
    bob.answer("0")

    assert (late, bob.response.status_code) == (409, 200)
    assert [(row["task_key"], row["annotator"]) for row in place.said] == [
        (kept, "ada"),
        (lost, "bob"),
    ]


def test_who_finds_all_that_is_left_on_other_screens_is_told_when_to_come_back(place, ada):
    place.person("bob")
    for _ in range(10):
        ada.answer("1")

    assert ada.task is None
    assert "2 more are on somebody else's screen" in ada.page.text
    assert "within 15 minutes" in ada.page.text


def test_both_copies_of_an_item_go_to_different_people(database, tmp_path):
    place = place_of(database, tmp_path, overlap=1.0)
    copies = {row["key"]: row["item_id"] for row in place.scene.rows("select * from tasks")}

    mine = answer_all(place.person("ada"))
    theirs = answer_all(place.person("bob"))
    place.scene.run()

    assert len(copies) == 24
    assert len(mine) == len(theirs) == 12
    assert {copies[task] for task in mine} == {copies[task] for task in theirs}
    assert not set(mine) & set(theirs)
    assert len(place.labels()) == 24


def test_what_is_sent_twice_counts_once_and_an_answer_after_its_undoing_not_at_all(place, ada):
    form = {**ada.page.forms["/label/answer"], "answer": "1"}
    answered = [ada.client.post("/label/answer", data=form).status_code for _ in range(2)]
    undo = ada.get().page.forms["/label/undo"]
    undone = [ada.client.post("/label/undo", data=undo).status_code for _ in range(2)]

    late = ada.client.post("/label/answer", data=form)

    assert (answered, undone, late.status_code) == ([200, 200], [200, 200], 409)
    assert "Undo brings the item back" in late.text
    assert [row["answer"] for row in place.said] == ["1", None]


def test_the_guideline_stands_on_the_page_and_its_html_stays_text(database, tmp_path):
    guideline = (
        "# Yes\n\n- a **booked** trip\n\n<script>alert(1)</script> ![x](http://a.test/x.png)"
    )
    ada = place_of(database, tmp_path, guideline=guideline).person("ada")

    html = ada.response.text

    assert "<strong>booked</strong>" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<img" not in html
