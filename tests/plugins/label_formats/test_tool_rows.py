"""Prodigy, doccano and Argilla: what is written for them, and what of theirs is an answer."""

import json
from datetime import UTC, datetime
from importlib.metadata import EntryPoint, entry_points

import pytest

from monitor.domain.model import Answer, Task
from monitor.labeling import formats
from monitor.labeling.blanking import WITHOUT_NOTES, blank
from monitor.labeling.label_files import read_keys, read_labels, write_tasks

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}
QUESTION = "Is it about travel?"
RESPONSES, USERS, STATUS = "label.responses", "label.responses.users", "label.responses.status"


def written(tmp_path, format, shown):
    write_tasks(tmp_path / "t.jsonl", [Task("aa", "i", shown)], format, question=QUESTION)
    assert read_keys(tmp_path / "t.jsonl") == {"aa"}
    return json.loads((tmp_path / "t.jsonl").read_text())


@pytest.fixture
def read(tmp_path):
    def of(*rows):
        path = tmp_path / "eve.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return read_labels(path, TASKS)

    return of


def test_no_other_package_adds_a_format_or_takes_the_place_of_one(monkeypatch):
    group = "pr_monitor.label_formats"
    others = [EntryPoint(name, "no_such_module", group) for name in ("acme", "xlsx", "prodigy")]
    ours = [*entry_points(group=group)]
    monkeypatch.setattr(formats, "entry_points", lambda **_: [*ours, *others])

    assert formats.formats.__wrapped__() == formats.formats()
    assert formats.formats().keys() == {"argilla", "doccano", "prodigy", "xlsx"}


def said(collected):
    return [(event.task_key, event.answer, event.annotator) for event in collected.events]


def reason(collected):
    [refusal] = collected.refused
    return str(refusal).removeprefix("eve.jsonl row 1: ")


# Out


WRITTEN = {
    "prodigy": {"label": QUESTION, "text": "Hi", "input": "aa", "meta": {"task": "aa"}},
    "doccano": {"task": "aa", "text": "Hi", "label": []},
    "argilla": {"id": "aa", "text": "Hi"},
}


@pytest.mark.parametrize("format", WRITTEN)
def test_each_tool_gets_the_key_where_it_keeps_it_and_prodigy_the_question(tmp_path, format):
    assert written(tmp_path, format, {"body": "Hi"}) == WRITTEN[format]


@pytest.mark.parametrize("format", WRITTEN)
def test_several_columns_are_one_text_with_their_names(tmp_path, format):
    row = written(tmp_path, format, {"subject": "Trip", "body": "To \x1b[2J Rome"})

    assert row["text"] == "subject: Trip\n\nbody: To \\x1b[2J Rome"


# Prodigy


def prodigy(answer, **more):
    return {"text": "Hi", "meta": {"task": "aa"}, "answer": answer, **more}


@pytest.mark.parametrize(
    ("answer", "means"),
    [("accept", Answer.POSITIVE), ("reject", Answer.NEGATIVE), ("ignore", Answer.CANNOT_TELL)],
)
def test_each_answer_of_prodigy_has_its_meaning_its_person_and_its_time(read, answer, means):
    row = prodigy(answer, _annotator_id="travel-ada", _timestamp=1_700_000_000, label="yes")

    [event] = read(row).events

    assert (event.answer, event.annotator) == (means, "travel-ada")
    assert event.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_a_session_without_a_name_makes_no_person_of_its_time(read):
    rows = [
        prodigy("accept", _session_id="2026-11-22_23-30-00", _timestamp=1),
        prodigy("reject", _annotator_id="travel-2026-11-22_23-59-00", _timestamp=2),
    ]

    assert {event.annotator for event in read(*rows).events} == {"unnamed"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"_view_id": "choice"}, "was answered in Prodigy's interface 'choice', where accept does"),
        ({"accept": ["no"]}, "was answered in Prodigy's interface 'classification', where accept"),
        ({"answer": "maybe"}, "answer 'maybe' is not known; Prodigy's are accept, reject, ignore"),
        ({"answer": ["accept"]}, "answer \"['accept']\" is not known"),
        ({"_timestamp": "now"}, "_timestamp 'now' is not a time; Prodigy writes seconds"),
        ({"_timestamp": 1e300}, "_timestamp '1e+300' is not a time"),
        ({"_annotator_id": "x" * 201}, "annotator 'xxx"),
    ],
)
def test_what_prodigy_writes_otherwise_is_refused_with_what_to_do(read, more, why):
    collected = read({**prodigy("accept"), **more})

    assert reason(collected).startswith(why)
    assert collected.events == ()


# doccano


def doccano(*labels, **more):
    return {"id": 7, "text": "Hi", "task": "aa", "label": list(labels), "Comments": [], **more}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (doccano("yes"), [("aa", Answer.POSITIVE, "unnamed")]),
        (doccano("No"), [("aa", Answer.NEGATIVE, "unnamed")]),
        (doccano("cannot tell", annotator="ada"), [("aa", Answer.CANNOT_TELL, "ada")]),
        (doccano(), []),
    ],
)
def test_the_one_label_of_doccano_is_the_answer_of_who_may_be_named(read, row, expected):
    collected = read(row)

    assert (said(collected), collected.refused) == (expected, ())


def test_two_labels_of_doccano_are_refused_with_the_setting_that_makes_them(read):
    assert reason(read(doccano("no", "yes"))).startswith(
        "has 2 labels, such as 'no' and 'yes'; keep one: in doccano let a project allow a single"
    )


# Argilla


def argilla(*given, **more):
    answers, users, statuses = ([each[place] for each in given] for place in range(3))
    row = {"id": "aa", "_server_id": "s", "text": "Hi", RESPONSES: answers, USERS: users}
    return {**row, STATUS: statuses, **more}


def test_every_user_of_argilla_answers_and_a_draft_is_no_answer(read):
    row = argilla(
        ("yes", "u1", "submitted"),
        ("no", "u2", "submitted"),
        ("no", "u3", "draft"),
        ("yes", "u4", "discarded"),
    )

    assert said(read(row)) == [
        ("aa", Answer.POSITIVE, "u1"),
        ("aa", Answer.NEGATIVE, "u2"),
        ("aa", Answer.CANNOT_TELL, "u4"),
    ]


@pytest.mark.parametrize("responses", [None, []])
def test_a_record_of_argilla_that_nobody_answered_is_no_fault(read, responses):
    collected = read({"id": "aa", "text": "Hi", RESPONSES: responses, USERS: None, STATUS: None})

    assert (collected.events, collected.refused) == ((), ())


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (argilla(("yes", "u1", "submitted"), **{STATUS: []}), "has 1 answers in label.responses"),
        (argilla(("yes", "u1", "seen")), "status 'seen' is not known; Argilla's are submitted"),
        (argilla((["yes"], "u1", "submitted")), "label \"['yes']\" is not known; a label is 1"),
        (argilla(("yes", "u1", "submitted"), **{USERS: "u1"}), "label.responses.users is 'u1', "),
        (
            {"id": "aa", "_server_id": "s", "quality.responses": ["yes"]},
            "answers the question 'quality'; name the question of the dataset label",
        ),
        (
            {"id": "aa", "_server_id": "s", "fields": {}, "responses": {"label": []}},
            "is a nested record of Argilla, which does not say what is a draft; write the file",
        ),
    ],
)
def test_what_argilla_writes_otherwise_is_refused_with_what_to_do(read, row, why):
    collected = read(row)

    assert reason(collected).startswith(why)
    assert collected.events == ()


def test_another_file_with_ids_is_not_taken_for_argillas(read):
    assert "is not an object with the keys task and label" in reason(read({"id": "aa", "score": 1}))


# Away


@pytest.mark.parametrize(
    "row",
    [
        prodigy("accept", _annotator_id="ada", _timestamp=5, _task_hash=3, label=QUESTION),
        doccano("yes", Comments=["Hi there"]),
        argilla(("yes", "u1", "submitted")),
    ],
    ids=["prodigy", "doccano", "argilla"],
)
def test_texts_go_and_answers_stay_as_they_were(tmp_path, row):
    path = tmp_path / "eve.jsonl"
    path.write_text(json.dumps(row) + "\n")
    before = read_labels(path, TASKS)

    changed = blank(path, {"aa"}, WITHOUT_NOTES)
    again = blank(path, {"aa"}, WITHOUT_NOTES)

    assert (changed, again) == (True, False)
    assert "Hi" not in path.read_text()
    assert read_labels(path, TASKS) == before
    assert len(before.events) == 1


def test_comments_of_annotators_stay_until_the_task_is_forgotten(tmp_path):
    path = tmp_path / "eve.jsonl"
    path.write_text(json.dumps(doccano("yes", Comments=["sure"])) + "\n")

    blank(path, {"aa"})

    assert json.loads(path.read_text()) == {"task": "aa", "label": ["yes"], "Comments": ["sure"]}
