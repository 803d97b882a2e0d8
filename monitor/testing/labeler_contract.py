"""What every labeler keeps, as tests."""

# ruff: noqa: S101  assertions are the purpose of this file

from __future__ import annotations

from collections.abc import Mapping

from monitor.domain.model import Answer, LabelKind, Task
from monitor.domain.ports import Labeler
from monitor.domain.shown import plain_text


class LabelerContract:
    """What every labeler keeps. Derive, make a labeler, and define how its people answer."""

    tasks = tuple(
        Task(key=f"key{place:02d}", item_id=f"item-{place}", shown={"text": f"message {place}"})
        for place in range(12)
    )

    def labeler(self) -> Labeler:
        """Make a labeler that nobody has answered yet."""
        raise NotImplementedError

    def give(self, labeler: Labeler, answers: Mapping[str, Answer]) -> None:
        """Let people answer: item id to answer, replacing what they answered before."""
        raise NotImplementedError

    def seen_by_people(self, labeler: Labeler, round_name: str) -> str:
        """All that people see of a round's tasks, as one text; empty where they see nothing."""
        raise NotImplementedError

    def answered(self, answers: Mapping[str, Answer]) -> Labeler:
        """Make a labeler that has sent the tasks of ``round-1``, and let people answer."""
        labeler = self.labeler()
        labeler.send("round-1", self.tasks)
        self.give(labeler, answers)
        return labeler

    @property
    def by_key(self) -> dict[str, Task]:
        """The tasks as `collect` takes them."""
        return {task.key: task for task in self.tasks}

    def current(self, labeler: Labeler) -> dict[str, Answer]:
        """Collect from the beginning and replay the events as the store would."""
        answers: dict[str, Answer] = {}
        for event in labeler.collect(self.by_key, None).events:
            if event.kind is LabelKind.GIVEN and event.answer is not None:
                answers[event.task_key] = event.answer
            else:
                answers.pop(event.task_key, None)
        return answers

    def test_nothing_comes_before_anyone_answered(self) -> None:
        """Sending makes no labels."""
        labeler = self.labeler()

        labeler.send("round-1", self.tasks)

        assert self.current(labeler) == {}

    def test_each_answer_comes_back_with_its_task(self) -> None:
        """Positive, negative and cannot tell alike."""
        labeler = self.answered({"item-1": Answer.POSITIVE, "item-2": Answer.NEGATIVE})

        assert self.current(labeler) == {"key01": Answer.POSITIVE, "key02": Answer.NEGATIVE}

    def test_sending_twice_changes_nothing(self) -> None:
        """A crash between sending and noting it does no harm."""
        labeler = self.answered({"item-1": Answer.POSITIVE})
        before = self.seen_by_people(labeler, "round-1")

        labeler.send("round-1", self.tasks)

        assert self.seen_by_people(labeler, "round-1") == before
        assert self.current(labeler) == {"key01": Answer.POSITIVE}

    def test_collecting_twice_from_the_same_cursor_gives_the_same(self) -> None:
        """A crash between collecting and storing loses nothing."""
        labeler = self.answered({"item-1": Answer.POSITIVE, "item-5": Answer.NEGATIVE})

        first = labeler.collect(self.by_key, None)
        second = labeler.collect(self.by_key, None)

        assert first == second

    def test_a_changed_answer_comes_after_the_cursor(self) -> None:
        """People correct themselves."""
        labeler = self.answered({"item-1": Answer.POSITIVE})
        cursor = labeler.collect(self.by_key, None).cursor

        self.give(labeler, {"item-1": Answer.NEGATIVE})

        events = labeler.collect(self.by_key, cursor).events
        assert [e.answer for e in events if e.task_key == "key01"][-1] is Answer.NEGATIVE

    def test_only_requested_tasks_come_back(self) -> None:
        """Each round gets its own labels."""
        labeler = self.answered({"item-1": Answer.POSITIVE, "item-2": Answer.NEGATIVE})

        tasks = {"key02": self.by_key["key02"]}

        assert {event.task_key for event in labeler.collect(tasks, None).events} == {"key02"}

    def test_people_see_the_shown_columns_and_no_item_id(self) -> None:
        """Blind: an id could be looked up, a score could be believed."""
        labeler = self.labeler()

        labeler.send("round-1", self.tasks)

        seen = self.seen_by_people(labeler, "round-1")
        assert "item-" not in seen
        assert not seen or all(plain_text(task.shown["text"]) in seen for task in self.tasks)

    def test_closing_is_safe_to_repeat_and_keeps_answers(self) -> None:
        """Late labels still come after a round is closed."""
        labeler = self.answered({"item-1": Answer.POSITIVE})

        labeler.close("round-1")
        labeler.close("round-1")

        assert self.current(labeler) == {"key01": Answer.POSITIVE}
        assert "message" not in self.seen_by_people(labeler, "round-1")

    def test_forgetting_a_task_takes_its_texts_away_and_no_others(self) -> None:
        """A person may ask that their message be deleted while it is being labeled."""
        labeler = self.answered({"item-1": Answer.POSITIVE, "item-2": Answer.NEGATIVE})

        labeler.forget("round-1", ["key11"])
        repeated = labeler.forget("round-1", ["key11"])

        seen = self.seen_by_people(labeler, "round-1")
        assert not repeated
        assert "message 11" not in seen
        assert not seen or all(f"message {index}" in seen for index in range(11))
        assert self.current(labeler) == {"key01": Answer.POSITIVE, "key02": Answer.NEGATIVE}
