"""Labels given in a real Label Studio."""

# ruff: noqa: ARG002  the contract passes more than each way needs

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, Task
from monitor.testing import LabelerContract
from tests.label_studio import labeler_on, result

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


class TestLabelStudio(LabelerContract):
    @pytest.fixture(autouse=True)
    def _server(self, label_studio):
        self.server = label_studio

    def labeler(self):
        return labeler_on(self.server.url)

    def give(self, labeler, answers):
        for task in self.tasks:
            if task.item_id in answers:
                self.server.answer(labeler, task.key, answers[task.item_id])

    def seen_by_people(self, labeler, round_name):
        return self.server.seen(labeler)


@pytest.fixture
def labeler(label_studio):
    labeler = labeler_on(label_studio.url)
    labeler.send("r", list(TASKS.values()))
    return labeler


def said(events):
    return {(e.task_key, e.annotator, e.answer) for e in events}


def test_a_personal_access_token_works_as_a_legacy_token_does(label_studio):
    labeler = labeler_on(label_studio.url, label_studio.personal_token)

    labeler.send("r", list(TASKS.values()))
    label_studio.answer(labeler, "aa", Answer.POSITIVE)

    assert said(labeler.collect(TASKS, None).events) == {("aa", "ada@example.com", Answer.POSITIVE)}


def test_an_access_token_that_was_ended_is_asked_for_again(label_studio):
    labeler = labeler_on(label_studio.url, label_studio.personal_token)
    before = labeler.usable()

    labeler._server._access = labeler._server._access[:-3] + "abc"

    assert labeler.usable() == before


def test_people_see_the_question_as_it_is_written_and_three_answers(labeler, label_studio):
    [project] = label_studio.projects(labeler)

    made = label_studio.ask("GET", f"/api/projects/{project}/")

    config = made["label_config"].replace("\u2060", "")
    assert 'value="Is it about &lt;travel&gt; &amp; does it cost $100?"' in config
    assert made["parsed_label_config"]["answer"]["labels"] == ["yes", "no", "cannot tell"]
    assert made["show_collab_predictions"] is False
    assert made["sampling"] == "Uniform sampling"
    assert {frozenset(task["data"]) for task in label_studio.tasks(project)} == {
        frozenset({"text", "task"})
    }


def test_odd_characters_of_a_text_arrive_as_codes(label_studio):
    labeler = labeler_on(label_studio.url)
    odd = "nul \x00, half \ud800, turned \u202e, <b>&amp;\n\tend"

    labeler.send("r", [Task("aa", "i", {"text": odd}), Task("bb", "j", {"a": "x", "b": "y\nz"})])

    texts = [label_studio.task(labeler, key)["data"]["text"] for key in ("aa", "bb")]
    assert texts == [
        "nul \\x00, half \\ud800, turned \\u202e, <b>&amp;\n\tend",
        "a: x\n\nb: y\nz",
    ]


def test_a_skip_is_an_answer_that_cannot_tell(labeler, label_studio):
    skipped = {"result": [], "was_cancelled": True}
    label_studio.annotate(label_studio.task(labeler, "aa"), skipped)
    label_studio.answer(labeler, "bb", Answer.CANNOT_TELL)

    events = labeler.collect(TASKS, None).events

    assert said(events) == {
        ("aa", "ada@example.com", Answer.CANNOT_TELL),
        ("bb", "ada@example.com", Answer.CANNOT_TELL),
    }


def test_of_two_annotations_of_a_person_the_later_counts_and_then_the_other(labeler, label_studio):
    task = label_studio.task(labeler, "aa")
    label_studio.annotate(task, {"result": result("yes")})
    later = label_studio.annotate(task, {"result": result("no")})

    first = labeler.collect(TASKS, None)
    label_studio.ask("DELETE", f"/api/annotations/{later['id']}/")
    [second] = labeler.collect(TASKS, first.cursor).events

    assert [event.answer for event in first.events] == [Answer.NEGATIVE]
    assert second.answer is Answer.POSITIVE


@pytest.mark.parametrize("whole", [False, True], ids=["the annotation", "the task"])
def test_what_was_deleted_is_missing_of_a_task_that_is_told_whole(labeler, label_studio, whole):
    given = label_studio.answer(labeler, "aa", Answer.POSITIVE)
    label_studio.answer(labeler, "bb", Answer.NEGATIVE)
    first = labeler.collect(TASKS, None)

    gone = f"/api/tasks/{given['task']}/" if whole else f"/api/annotations/{given['id']}/"
    label_studio.ask("DELETE", gone)
    second = labeler.collect(TASKS, first.cursor)

    assert second.complete == TASKS.keys()
    assert said(second.events) == {("bb", "ada@example.com", Answer.NEGATIVE)}
    assert labeler.collect(TASKS, second.cursor).was_read is False


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"result": []}, "holds no answer"),
        ({"result": result("maybe")}, "answers 'maybe'; expected one of yes, no, cannot tell"),
        ({"result": result("yes") + result("no")}, "answers 'yes', 'no'"),
        ({"result": [{"from_name": "other", "value": {"choices": ["yes"]}}]}, "does not ask for"),
        ({"result": [{"from_name": "answer", "value": {"text": ["yes"]}}]}, "does not ask for"),
    ],
)
def test_an_annotation_that_is_no_answer_is_refused_with_its_place(
    labeler, label_studio, body, reason
):
    task = label_studio.task(labeler, "aa")
    label_studio.annotate(task, body)

    collected = labeler.collect(TASKS, None)

    [refusal] = collected.refused
    assert collected.events == ()
    assert reason in refusal.reason
    assert f"task {task['id']}, annotation " in refusal.where


def test_an_answer_to_a_task_that_somebody_added_is_refused(labeler, label_studio):
    [project] = label_studio.projects(labeler)
    added = [{"data": {"text": "mine", "task": "zz"}}, {"data": {"text": "mine"}}]
    label_studio.ask("POST", f"/api/projects/{project}/import", added)
    for task in label_studio.tasks(project)[-2:]:
        label_studio.annotate(task, {"result": result("yes")})

    collected = labeler.collect(TASKS, None)

    assert collected.events == ()
    assert ["not sent by this round" in one.reason for one in collected.refused] == [True, True]


def test_what_an_import_made_twice_is_deleted_but_no_answer(labeler, label_studio):
    """An import whose answer got lost is sent again, and Label Studio makes everything twice."""
    [project] = label_studio.projects(labeler)
    twice = [task["data"] for task in label_studio.tasks(project)]
    label_studio.ask("POST", f"/api/projects/{project}/import", [{"data": one} for one in twice])
    answered = next(t for t in label_studio.tasks(project)[3:] if t["data"]["task"] == "bb")
    label_studio.annotate(answered, {"result": result("yes")})
    oldest = [task["id"] for task in label_studio.tasks(project)[:3]]

    labeler.send("r", list(TASKS.values()))

    assert [task["id"] for task in label_studio.tasks(project)] == [*oldest, answered["id"]]
    assert said(labeler.collect(TASKS, None).events) == {("bb", "ada@example.com", Answer.POSITIVE)}


def test_a_second_project_that_a_crash_left_is_emptied_into_the_first(labeler, label_studio):
    labeler.projects.make("r", "Is it?", second=False)
    first, second = labeler.projects.of_round("r", second=False)
    labeler.projects.add(second, list(TASKS.values())[:2])

    labeler.send("r", list(TASKS.values()))

    assert label_studio.projects(labeler) == [first.id]
    assert len(label_studio.tasks(first.id)) == 3


def test_second_copies_are_in_a_project_of_their_own(label_studio):
    labeler = labeler_on(label_studio.url)
    copy = Task("aa2", "item-aa", {"text": "text of aa"}, slot=2)
    tasks = {**TASKS, "aa2": copy}
    labeler.send("r", list(tasks.values()))

    label_studio.answer(labeler, "aa", Answer.POSITIVE)
    label_studio.answer(labeler, "aa2", Answer.NEGATIVE, who="bob")

    first, second = label_studio.projects(labeler)
    assert label_studio.ask("GET", f"/api/projects/{second}/")["title"] == "r (second person)"
    assert [task["data"]["task"] for task in label_studio.tasks(second)] == ["aa2"]
    assert len(label_studio.tasks(first)) == 3
    assert said(labeler.collect(tasks, None).events) == {
        ("aa", "ada@example.com", Answer.POSITIVE),
        ("aa2", "bob@example.com", Answer.NEGATIVE),
    }


def test_rounds_and_stores_do_not_meet(labeler, label_studio):
    other_store = labeler_on(label_studio.url)
    other_tasks = {"dd": Task("dd", "item-d", {"text": "text of dd"})}
    labeler.send("r2", list(other_tasks.values()))
    other_store.send("r", list(TASKS.values()))
    label_studio.answer(labeler, "aa", Answer.POSITIVE)
    label_studio.answer(labeler, "dd", Answer.NEGATIVE)

    of_first = labeler.collect(TASKS, None)
    of_second = labeler.collect(other_tasks, of_first.cursor)
    of_both = labeler.collect({**TASKS, **other_tasks}, of_second.cursor)
    other_store.close("r")

    assert said(of_first.events) == {("aa", "ada@example.com", Answer.POSITIVE)}
    assert said(of_second.events) == {("dd", "ada@example.com", Answer.NEGATIVE)}
    assert said(of_both.events) == said(of_first.events) | said(of_second.events)
    assert (of_first.complete, of_second.complete) == (TASKS.keys(), other_tasks.keys())
    assert "text of aa" in label_studio.seen(labeler)
    assert label_studio.projects(other_store) == []


def test_a_deletion_between_two_looks_at_other_rounds_is_still_found(labeler, label_studio):
    other = {"dd": Task("dd", "item-d", {"text": "text of dd"})}
    labeler.send("r2", list(other.values()))
    given = label_studio.answer(labeler, "aa", Answer.POSITIVE)
    first = labeler.collect({**TASKS, **other}, None)
    label_studio.ask("DELETE", f"/api/annotations/{given['id']}/")

    second = labeler.collect(other, first.cursor)
    third = labeler.collect({**TASKS, **other}, second.cursor)

    assert "aa" not in second.complete
    assert "aa" in third.complete
    assert third.events == ()


def test_a_project_that_is_gone_withdraws_nothing_and_is_told_with_a_way_out(labeler, label_studio):
    label_studio.answer(labeler, "aa", Answer.POSITIVE)
    first = labeler.collect(TASKS, None)
    [project] = label_studio.projects(labeler)
    label_studio.ask("DELETE", f"/api/projects/{project}/")

    with pytest.raises(LabelsRefused, match=f"project {project} is not there any more") as gone:
        labeler.collect(TASKS, first.cursor)
    with pytest.raises(LabelsRefused, match="the project of 3 tasks is not there"):
        labeler.collect(TASKS, None)
    description = str(gone.value).partition("with the description ")[2]
    label_studio.ask("POST", "/api/projects/", {"title": "empty", "description": description})

    emptied = labeler.collect(TASKS, first.cursor)
    assert (emptied.events, emptied.complete) == ((), set())


def test_closing_deletes_what_nobody_answered_and_the_texts_of_the_rest(labeler, label_studio):
    labeler.send("nobody came", [Task("dd", "item-d", {"text": "text of dd"})])
    label_studio.answer(labeler, "aa", Answer.POSITIVE)

    labeler.close("r")
    labeler.close("nobody came")

    [project] = label_studio.projects(labeler)
    assert [task["data"]["task"] for task in label_studio.tasks(project)] == ["aa"]
    assert "text of" not in label_studio.seen(labeler)


def test_forgetting_names_the_project_where_the_text_stood(labeler, label_studio):
    [project] = label_studio.projects(labeler)

    places = labeler.forget("r", ["aa", "unknown"])

    assert places == (f"{label_studio.url}/projects/{project}",)
    assert "text of aa" not in label_studio.seen(labeler)


@pytest.mark.parametrize("token", ["f" * 40, "aaa.bbb.ccc"], ids=["legacy", "personal"])
def test_a_wrong_token_is_refused_and_never_shown(label_studio, token):
    labeler = labeler_on(label_studio.url, token)

    with pytest.raises(LabelsRefused, match=r"answered 401 .*; labeling\.token is not valid") as no:
        labeler.collect(TASKS, None)

    assert token not in str(no.value)


def test_a_hundred_and_more_tasks_are_all_sent_and_all_read(label_studio):
    labeler = labeler_on(label_studio.url)
    tasks = {f"k{n:03}": Task(f"k{n:03}", f"i{n}", {"text": f"text {n}"}) for n in range(250)}

    labeler.send("big", list(tasks.values()))
    label_studio.answer(labeler, "k249", Answer.POSITIVE)

    [project] = label_studio.projects(labeler)
    order = [task["data"]["task"] for task in label_studio.tasks(project)]
    assert sorted(order) == sorted(tasks)
    assert order != sorted(order)
    assert said(labeler.collect(tasks, None).events) == {
        ("k249", "ada@example.com", Answer.POSITIVE)
    }
