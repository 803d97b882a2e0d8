"""Labels given on the labeling page: the labeler's side of it."""

# ruff: noqa: ARG002  the contract passes more than each way needs

from datetime import UTC, datetime, timedelta

import pytest

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Answer, LabelKind, Task
from monitor.labeling.page import MOST_BYTES, PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.labeling.shown import parts_of
from monitor.storage.pages import page_store
from monitor.storage.pages.page_tables import page_answers
from monitor.testing import LabelerContract

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


def say(database, key, answer, *, who="ada", now=NOW):
    with database.write() as connection:
        mine = [one for one in page_store.statements(connection, [key]) if one.annotator == who]
        before = mine[-1] if mine else None
        page_store.record_answer(connection, key, who, answer, before=before, now=now)


class TestPage(LabelerContract):
    @pytest.fixture(autouse=True)
    def _store(self, database, tmp_path):
        self.database, self.folder = database, tmp_path

    def labeler(self):
        return page_labeler(self.database, self.folder)

    def give(self, labeler, answers):
        for task in self.tasks:
            if task.item_id in answers:
                say(self.database, task.key, answers[task.item_id])

    def seen_by_people(self, labeler, round_name):
        with self.database.read() as connection:
            tasks = page_store.read_page_tasks(connection, [round_name])
            shown = page_store.read_shown(connection, tasks)
        return "".join(str(parts_of(shown[task.key], task.key)) for task in tasks)


def page_labeler(database, folder, **asked):
    settings = PageSettings.model_validate({"question": "Is it about travel?", **asked})
    return PageLabeler(settings, folder, lambda: NOW, database)


@pytest.fixture
def labeler(database, tmp_path):
    labeler = page_labeler(database, tmp_path)
    labeler.send("r", list(TASKS.values()))
    return labeler


def test_what_is_taken_back_comes_as_a_withdrawal_after_the_answer(labeler, database):
    say(database, "aa", Answer.POSITIVE)
    say(database, "aa", None)

    events = labeler.collect(TASKS, None).events

    assert [(event.kind, event.answer) for event in events] == [
        (LabelKind.GIVEN, Answer.POSITIVE),
        (LabelKind.WITHDRAWN, None),
    ]
    assert events[0].at < events[1].at, "of statements at one moment the later would not count"


def test_a_later_answer_is_later_also_where_the_clock_was_set_back(labeler, database):
    say(database, "aa", Answer.POSITIVE)
    say(database, "aa", Answer.NEGATIVE, now=NOW - timedelta(hours=1))

    events = labeler.collect(TASKS, None).events

    assert max(events, key=lambda event: event.at).answer is Answer.NEGATIVE


def test_nothing_is_read_anew_until_somebody_says_more(labeler, database):
    say(database, "aa", Answer.POSITIVE)
    state = labeler.state()
    cursor = labeler.collect(TASKS, None).cursor

    again = labeler.collect(TASKS, cursor)
    same = labeler.state()
    say(database, "bb", Answer.CANNOT_TELL)

    assert not again.was_read
    assert same == state
    assert labeler.state() != state
    assert labeler.collect(TASKS, cursor).was_read


def test_an_answer_of_a_transaction_that_ended_late_is_not_passed_over(labeler, database):
    """PostgreSQL gives out ids before it is known whose transaction ends first."""
    [first, second] = (
        {"id": id_, "task_key": key, "annotator": "ada", "revision": 1, "answer": "1", "at": NOW}
        for id_, key in ((7, "aa"), (8, "bb"))
    )
    with database.write() as connection:
        connection.execute(page_answers.insert(), [second])
    cursor, state = labeler.collect(TASKS, None).cursor, labeler.state()
    with database.write() as connection:
        connection.execute(page_answers.insert(), [first])

    events = labeler.collect(TASKS, cursor).events

    assert labeler.state() != state
    assert {event.task_key for event in events} == {"aa", "bb"}


def test_tasks_stand_in_an_order_that_only_their_keys_decide(database, tmp_path):
    labeler = page_labeler(database, tmp_path)
    tasks = [Task(f"t{number:03}", f"item-{number}") for number in range(100)]

    labeler.send("forwards", tasks)
    labeler.send("backwards", tasks[::-1])

    with database.read() as connection:
        forwards, backwards = (
            [task.key for task in page_store.read_page_tasks(connection, [name])]
            for name in ("forwards", "backwards")
        )
    assert forwards == backwards
    assert forwards != sorted(forwards)


def test_a_round_keeps_its_question_and_guideline(database, tmp_path):
    (tmp_path / "guideline.md").write_text("first")
    page_labeler(database, tmp_path, guideline="guideline.md").send("r", list(TASKS.values())[:1])
    (tmp_path / "guideline.md").write_text("second")

    changed = page_labeler(database, tmp_path, guideline="guideline.md", question="Is it urgent?")
    changed.send("r", list(TASKS.values()))

    with database.write() as connection:
        [asked] = page_store.lock(connection, ["r"])
        keys = {task.key for task in page_store.read_page_tasks(connection, ["r"])}
    assert (asked.question, asked.guideline) == ("Is it about travel?", "first")
    assert keys == set(TASKS)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: no such file or directory; check the path"),
        (b"\xff\xfe", "is not UTF-8 (at byte 0)"),
        (b"a" * (MOST_BYTES + 1), "is longer than 0.1 MB"),
    ],
)
def test_a_guideline_that_cannot_be_read_is_refused_by_its_path(database, tmp_path, content, said):
    if content is not None:
        (tmp_path / "g.md").write_bytes(content)
    labeler = page_labeler(database, tmp_path, guideline="g.md")

    with pytest.raises(LabelsRefused, match=r"labeling\.guideline") as refused:
        labeler.send("r", list(TASKS.values()))

    assert said in str(refused.value)
    assert str(tmp_path / "g.md") in str(refused.value)
