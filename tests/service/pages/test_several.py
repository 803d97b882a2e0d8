"""Several people on one round: orders of their own, repeats, gold items, and who decides."""

import re

import pytest

from monitor.domain.model import Answer
from monitor.domain.settings import Limits
from monitor.service.pages.labeling import task_queue
from monitor.service.pages.labeling.controls import REPEAT_AFTER
from monitor.service.pages.labeling.outcome import AnswerOutcome
from tests.service.pages.people import Place, on_page, place_of, scene_of
from tests.service.pages.test_at_once import at_once

NO_CONTROLS = {"repeats": 0, "gold": None, "gold_share": None}
GOLD = "truth,text\n1,a trip to Rome\n0,a bill for water\n1,a flight\n0,a reminder\n"


def controlled(database, folder, *, labels=60, overlap=0.0, **more):
    """A page on which half of the tasks come again, and gold items come with every fourth."""
    (folder / "gold.csv").write_text(GOLD)
    asked = {"repeats": 0.5, "gold": "gold.csv", "gold_share": 0.25, **more}
    asked = {name: value for name, value in asked.items() if value is not None}
    scene = on_page(scene_of(database, labels=labels, overlap=overlap), folder, **asked)
    limits = Limits.model_validate({"precision": 0.5, "recall": 0.5})
    scene.settings = scene.settings.model_copy(update={"limits": limits})
    scene.week(1)
    scene.run(1)
    return Place(scene)


@pytest.fixture
def mixed(database, tmp_path):
    return controlled(database, tmp_path)


def controls(place, kind):
    """Controls of a kind that were shown, by key."""
    column = {"repeats": "task_key", "gold": "gold_item"}[kind]
    rows = place.scene.rows(f"select * from page_controls where {column} is not null")
    return {row["key"]: row for row in rows}


def to_go(person):
    return int(re.findall(r"role=\"status\">(\d+) to go", person.response.text)[0])


def test_each_person_has_an_order_of_their_own_within_a_block_of_the_common_one(
    database, tmp_path, monkeypatch
):
    monkeypatch.setattr(task_queue, "BLOCK", 15)
    place = place_of(database, tmp_path, labels=30)
    common = [row["key"] for row in place.scene.rows("select * from page_tasks order by place")]

    orders = []
    for name in ("ada", "bob"):
        orders.append([*place.answer_all(name, "1")])
        forgotten = "update page_tasks set held_by = null, held_until = null"
        place.scene.execute("delete from page_answers", forgotten)

    assert orders[0] != orders[1]
    for said in orders:
        assert said != common
        assert set(said[:15]) == set(common[:15])
        assert sorted(said) == sorted(common)


def test_repeats_and_gold_items_come_among_the_others_and_nothing_tells_which_they_are(mixed):
    ada = mixed.person("ada")
    said, left, words, shapes = [], [], set(), set()

    while ada.task is not None:
        said.append(ada.task)
        left.append(to_go(ada))
        words.add(re.findall(r"role=\"status\">([^<]*)<", ada.response.text)[0].partition(";")[2])
        html = ada.response.text.replace(ada.task, "KEY").replace(ada.form_token, "TOKEN")
        html = re.sub(r"\d+ to go[^<]*|item \d+|a (?:trip|bill|flight|rem)[^<]*", "", html)
        shapes.add(re.sub(r"name=\"(?:task|revision)\" value=\"[^\"]*\"", "", html))
        ada.answer("1")

    repeats, gold = controls(mixed, "repeats"), controls(mixed, "gold")
    order = [key for key in said if key not in gold]
    for key, row in repeats.items():
        between = set(order[order.index(row["task_key"]) + 1 : order.index(key)])
        assert len(between - repeats.keys()) >= REPEAT_AFTER
    assert len(said) == 60 + len(repeats) + len(gold)
    assert (len(repeats) > 5, len(gold)) == (True, 4)
    assert left == list(range(len(left), 0, -1))
    assert len(words) == 1
    assert all(re.fullmatch(r"t[0-9a-f]{16}", key) for key in said)
    assert len(shapes) == 2, "the first, of which nothing can be undone, and all others"
    assert not any(word in str(shapes) for word in ("repeat", "gold", "control", "truth"))


def test_an_answer_to_a_control_is_taken_once_undone_and_shown_again_like_any_other(mixed):
    ada = mixed.person("ada")
    to_gold(mixed, ada)
    control, form = ada.task, {**ada.page.forms["/label/answer"], "answer": "0"}

    codes = [ada.client.post("/label/answer", data=form).status_code for _ in range(2)]
    late = ada.client.post("/label/answer", data={**form, "answer": "1"})
    ada.get().post("/label/undo")
    again = ada.task
    ada.answer("1")

    rows = mixed.scene.rows("select answer from page_control_answers order by id")
    assert (codes, late.status_code) == ([200, 200], 409)
    assert again == control != ada.task
    assert [row["answer"] for row in rows] == ["0", None, "1"]


def test_a_control_of_somebody_else_is_not_answered(mixed):
    ada = mixed.person("ada")
    to_gold(mixed, ada)
    bob = mixed.person("bob")
    form = {**bob.page.forms["/label/answer"], "answer": "1"}

    answer = bob.client.post("/label/answer", data={**form, "task": ada.task, "revision": "0"})

    assert answer.status_code == 404
    assert mixed.scene.rows("select * from page_control_answers") == []


def test_tabs_that_ask_or_answer_at_the_same_moment_have_the_same_controls(mixed):
    desk = mixed.desk()
    outcomes = set()

    for _ in range(12):
        screens = at_once(*[lambda: desk.screen("ada")] * 3)
        [key] = {screen.tasks[0].key for screen in screens}
        outcomes |= set(
            at_once(*[lambda key=key: desk.record_answer("ada", key, Answer.POSITIVE, 0)] * 3)
        )

    shown = mixed.scene.rows("select gold_item from page_controls")
    answers = mixed.scene.rows("select control_key from page_control_answers")
    assert outcomes == {AnswerOutcome.TAKEN}
    assert len({row["gold_item"] for row in shown}) == len(shown) > 1
    assert len({row["control_key"] for row in answers}) == len(answers) > 1


def to_gold(place, person):
    """Answer until a gold item is on the screen; returns the right answer to it."""
    while person.task not in controls(place, "gold"):
        person.answer("1")
    item = controls(place, "gold")[person.task]["gold_item"]
    [row] = place.scene.rows("select truth from page_gold where item = :item", item=item)
    return row["truth"]


OTHER = {"1": "0", "0": "1"}


def test_who_gets_a_gold_item_wrong_is_told_where_the_config_says_so(database, tmp_path):
    place = controlled(database, tmp_path, gold_feedback=True)
    ada = place.person("ada")

    wrong = OTHER[to_gold(place, ada)]
    told = ada.answer(wrong).page.text
    form = {**ada.get().page.forms["/label/undo"]}
    ada.post("/label/undo").answer(OTHER[wrong])
    right = ada.page.text

    assert form["task"] in controls(place, "gold")
    assert "The answer to the item before is known" in told
    assert "It counts for no result" in told
    assert "is known" not in right


def test_feedback_on_gold_items_is_off_unless_asked_for(mixed):
    ada = mixed.person("ada")
    answer = OTHER[to_gold(mixed, ada)]
    form = {**ada.page.forms["/label/answer"], "answer": answer}

    said = ada.client.post("/label/answer", data=form, headers={"accept": "application/json"})

    assert said.json().keys() == {"progress", "known"}
    assert said.json()["known"] is None


def figures(place):
    """All that a round makes of its labels, but times and keys."""
    wanted = {
        "counts": "stratum, version, labeled, positive, declined",
        "estimates": "version, metric, estimand, basis, point, low, high",
        "evidence": "*",
        "agreements": "*",
        "rounds": "state, label_revision, estimated_revision, version",
    }
    found = {}
    for table, columns in wanted.items():
        rows = place.scene.rows(f"select {columns} from {table}")
        found[table] = sorted(map(str, rows))
    events = place.scene.rows("select item_id, annotator, kind, answer from label_events")
    found["labels"] = sorted(map(str, events))
    return found


def test_a_round_says_the_same_with_and_without_controls(store_of, tmp_path):
    found, asked = [], []
    for store, more in (("without", NO_CONTROLS), ("with", {})):
        place = controlled(store_of(store), tmp_path, labels=30, overlap=0.5, **more)
        for name in ("ada", "bob"):
            answer_tasks(place, name, contradict=name == "bob")
        place.scene.run()
        found.append(figures(place))
        asked.append(len(place.scene.rows("select * from page_control_answers")))

    assert asked[0] == 0
    assert asked[1] > 8
    assert found[0] == found[1]
    assert all(found[0].values()), "there is something to compare"


def answer_tasks(place, name, *, contradict=False):
    """Answer tasks by the truth, or its opposite, and of every control that nobody can tell."""
    item_of = {row["key"]: row["item_id"] for row in place.scene.rows("select * from tasks")}

    def answer_of(key):
        if key not in item_of:
            return Answer.CANNOT_TELL
        item = item_of[key]
        truth = place.scene.truth[item]
        return OTHER[truth] if contradict and int(item[-1]) % 2 else truth

    place.answer_all(name, answer_of=answer_of)
