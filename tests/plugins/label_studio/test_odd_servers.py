"""What answers in place of a Label Studio, and answers that a real one rarely gives."""

import json
from datetime import UTC, datetime

import pytest

from monitor.domain.errors import LabelsRefused, LabelsUnavailable
from monitor.domain.model import Answer, LabelEvent, Task
from monitor.plugins.label_studio import projects as projects_of_server
from monitor.plugins.label_studio import server as over_http
from monitor.plugins.label_studio.labeler import answer_of, read_answers
from monitor.plugins.label_studio.projects import Project, StudioAnnotation, StudioTask, marker_of
from tests.label_studio import TOKEN, labeler_on, result, settings
from tests.tracking.conftest import Stub

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
STORE = "one store"
TASKS = {"aa": Task("aa", "item-a", {"text": "canary text"})}
PROJECT = Project(3, marker_of(STORE, "r", second=False))
LISTED = {"results": [{"id": PROJECT.id, "description": PROJECT.marker}]}


def answering(*answers):
    """Serve these answers in turn, the last one for ever."""
    turns = iter(answers)
    last = answers[-1]

    def answer(_):
        status, content, *headers = next(turns, last)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return status, body, *headers

    return Stub(answer)


def refusal_of(kind, *answers):
    with answering(*answers) as server, pytest.raises(kind) as refused:
        labeler_on(server.url).collect(TASKS, None)
    return str(refused.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, b"<html>"), "its answer is not JSON; is labeling.url the address"),
        ((200, {"projects": []}), "its answer is not what Label Studio 1.23 gives (at results)"),
        ((200, b"[" * 100_000), "its answer is not JSON"),
        ((302, b"", ("location", "http://127.0.0.1:1/")), "answered 302; that is a redirect"),
        ((403, {"detail": "You may not."}), "answered 403 (You may not.); the account"),
        ((404, b"<html>"), "answered 404; nothing is there"),
        ((400, {"validation_errors": {"a": ["\x1b[31m"]}}), "({'a': ['\\x1b[31m']}); the log"),
    ],
)
def test_what_answers_otherwise_is_refused_with_what_came(answer, said):
    message = refusal_of(LabelsRefused, answer)

    assert said in message
    assert "was asked GET /api/projects/" in message


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_server_that_cannot_now_is_asked_again_later(status):
    assert f"answered {status}" in refusal_of(LabelsUnavailable, (status, b""))


def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error():
    echo = (401, {"detail": f"no such token: {TOKEN}"})

    message = refusal_of(LabelsRefused, echo)

    assert "no such token: <token>" in message


def test_an_error_about_an_answer_repeats_no_text_of_a_task():
    odd = {"total": 1, "total_annotations": 0, "tasks": [{"id": "canary text", "data": {}}]}

    with answering((200, LISTED), (200, odd)) as server, pytest.raises(LabelsRefused) as no:
        labeler_on(server.url, store=STORE).collect(TASKS, None)

    assert len(server.asked) == 2
    assert "(at tasks.0.id)" in str(no.value)
    assert "canary" not in str(no.value)


@pytest.mark.parametrize("token", [TOKEN, "canary.of.token"], ids=["legacy", "personal"])
def test_nothing_that_a_library_logs_holds_a_token_or_a_text(caplog, token):
    caplog.set_level(1)
    empty = {"total": 0, "total_annotations": 0, "tasks": []}
    exchanged = [] if token == TOKEN else [{"access": "canary-access"}]
    answers: list[object] = [*exchanged, LISTED, LISTED, empty, {}]

    with answering(*((200, answer) for answer in answers)) as server:
        labeler = labeler_on(server.url, token, store=STORE)
        with pytest.raises(LabelsRefused, match="not what Label Studio"):
            labeler.send("r", list(TASKS.values()))

    assert any("/import" in path for path in server.asked)
    assert "send_request_body" in caplog.text
    for secret in (token, "canary-access", "canary text"):
        assert secret not in caplog.text


def test_an_answer_that_is_too_long_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(over_http, "MOST_BYTES", 1000)

    assert "longer than" in refusal_of(LabelsRefused, (200, b" " * 2000))
    assert "longer than" in refusal_of(LabelsRefused, (200, "\u00e4".encode() * 800))


def test_a_server_that_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(over_http, "SECONDS", 0.05)

    with (
        Stub(200, wait=0.5) as server,
        pytest.raises(LabelsUnavailable, match=r"did not answer within 0\.05 s"),
    ):
        labeler_on(server.url).usable()


def test_tasks_that_come_or_go_while_they_are_read_withdraw_nothing(monkeypatch):
    """A task that moved to another page would else be missing, and its answer withdrawn."""
    monkeypatch.setattr(projects_of_server, "_PAGE", 1)
    page = {"total": 2, "total_annotations": 0, "tasks": [{"id": 1, "data": {}}]}
    with answering((200, page)) as server:
        projects = labeler_on(server.url, store=STORE).projects

        with pytest.raises(LabelsUnavailable, match="tasks of project 3 came or went"):
            projects.tasks(PROJECT)

    assert len(server.asked) == 2


def test_projects_of_all_pages_are_found_and_those_of_others_are_not():
    def listed(number, description, following):
        one = {"id": number, "description": description}
        return 200, {"next": following, "results": [one]}

    mine = marker_of(STORE, "r", second=True)
    about = f"Please keep this: {mine}."
    pages = [
        listed(9, "pr-monitor-of-mine", "more"),
        listed(8, None, "more"),
        listed(7, about, "more"),
        listed(6, marker_of("another", "r", second=True), None),
    ]
    with answering(*pages) as server:
        found = labeler_on(server.url, store=STORE).projects.all()

    [project] = found
    assert (project.id, project.marker) == (7, mine)


def test_a_task_that_was_deleted_is_told_whole():
    tasks = {key: Task(key, key, {"text": key}) for key in ("aa", "bb")}

    def page(*keys, change=0):
        there = [{"id": number, "data": {"task": key}} for number, key in enumerate(keys)]
        at = f"2026-03-02T09:00:0{change}Z"
        state = {"total": len(keys), "total_annotations": 0, "tasks": [{"id": 1, "updated_at": at}]}
        return {"total": len(keys), "total_annotations": 0, "tasks": there}, state

    (both, first), (one, second) = page("aa", "bb"), page("bb", change=1)
    turns = [LISTED, both, first, both, [], LISTED, second, one, []]
    with answering(*((200, turn) for turn in turns)) as server:
        labeler = labeler_on(server.url, store=STORE)
        before = labeler.collect(tasks, None)
        after = labeler.collect(tasks, before.cursor)

    assert (before.complete, after.complete) == (tasks.keys(), tasks.keys())


def test_tasks_that_come_without_their_data_withdraw_nothing():
    """Their keys are in it: all of them would seem to be gone, and all answers taken back."""
    state = {"total": 1, "total_annotations": 0, "tasks": [{"id": 1, "updated_at": f"{NOW}"}]}
    bare = {**state, "tasks": [{"id": 1}]}
    whole = {**state, "tasks": [{"id": 1, "data": {"task": "aa"}}]}
    later = {**state, "total_annotations": 1}
    turns = [LISTED, whole, state, whole, [], LISTED, later, bare]
    with answering(*((200, turn) for turn in turns)) as server:
        labeler = labeler_on(server.url, store=STORE)
        before = labeler.collect(TASKS, None)

        with pytest.raises(LabelsRefused, match=r"not what Label Studio 1\.23 gives \(at tasks"):
            labeler.collect(TASKS, before.cursor)


def test_a_project_that_was_seen_before_its_tasks_came_is_read_once_it_has_some():
    """As where the import of a round failed, and another round was read in between."""
    marks = {number: marker_of(STORE, f"r{number}", second=False) for number in (3, 4)}
    listed = {"results": [{"id": number, "description": mark} for number, mark in marks.items()]}
    annotated = {"id": 1, "completed_by": 1, "updated_at": f"{NOW}", "result": result("no")}
    added = {"id": 1, "data": {"task": "AA added by somebody"}}

    def page(*tasks):
        return {"total": len(tasks), "total_annotations": 0, "tasks": list(tasks)}

    def task(key, number, *annotations):
        return {"id": number, "data": {"task": key}, "annotations": list(annotations)}

    state, ours = page({"id": 1, "updated_at": f"{NOW}"}), page(task("aa", 7))
    filled = page(task("bb", 8, annotated), {**added, "id": 9})
    turns = [listed, ours, page(), state, ours, []]
    turns += [listed, filled, state, state, ours, filled, []]
    both = {**TASKS, "bb": Task("bb", "item-b", {"text": "more"})}
    with answering(*((200, turn) for turn in turns)) as server:
        labeler = labeler_on(server.url, store=STORE)
        before = labeler.collect(TASKS, None)
        after = labeler.collect(both, before.cursor)

    assert [event.task_key for event in after.events] == ["bb"]
    assert after.complete == both.keys()


def annotation(**more):
    return StudioAnnotation(**{"id": 5, "completed_by": 1, "updated_at": NOW, **more})


@pytest.mark.parametrize("given", [None, "yes", ["yes"], [{"from_name": "answer", "value": "yes"}]])
def test_what_has_another_shape_is_no_answer(given):
    with pytest.raises(ValueError, match=r"no answer|does not ask for"):
        answer_of(annotation(result=given))


def test_an_annotation_of_nobody_is_refused_and_one_of_somebody_who_left_counts():
    of_nobody = annotation(id=1, completed_by=None, result=result("yes"))
    of_gone = annotation(id=2, completed_by=17, result=result("no"))
    task = StudioTask(id=4, data={"task": "aa"}, annotations=[of_nobody, of_gone])

    events, refused = read_answers([(PROJECT, task)], {"aa"}, {1: "ada@example.com"})

    assert [refusal.where[-13:] for refusal in refused] == [" annotation 1"]
    assert events == [LabelEvent("aa", "user 17", Answer.NEGATIVE, NOW)]


@pytest.mark.parametrize(
    "url",
    [
        "labels.example.org",
        "https://ada:secret@labels.example.org",
        "https://labels.example.org/?token=1",
        "https://labels.example org",
    ],
)
def test_an_address_must_be_one_of_a_web_server_and_hold_no_secret(url):
    with pytest.raises(ValueError, match="url") as refused:
        settings(url)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("token", ["", "n\u00f6", "a\nb", "ab ", " ab"])
def test_a_token_must_fit_in_a_header(token):
    with pytest.raises(ValueError, match="one line of ASCII"):
        settings("https://labels.example.org", token)


def test_no_setting_that_a_round_keeps_holds_the_token():
    kept = settings("https://labels.example.org")

    assert TOKEN not in json.dumps(kept.own()) + repr(kept) + kept.model_dump_json()
    assert kept.own()["url"] == "https://labels.example.org"
