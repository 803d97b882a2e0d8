"""What comes at the same moment, from several people or twice from one."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from monitor.domain.model import Answer
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.service.pages.labeling.task_queue import AT_ONCE
from tests.service.pages.people import place_of

PEOPLE = ("ada", "bob", "eve", "joe")


def at_once(*calls):
    """Let each call begin when all are there; returns what they return."""
    barrier = Barrier(len(calls))

    def begin(call):
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(begin, calls))


def test_people_who_come_at_the_same_moment_get_different_items(database, tmp_path):
    desk = place_of(database, tmp_path, labels=60).desk()

    screens = at_once(*(lambda name=name: desk.screen(name) for name in PEOPLE))

    keys = [task.key for screen in screens for task in screen.tasks]
    assert len(keys) == len(set(keys)) == AT_ONCE * len(PEOPLE)


def test_who_looked_at_the_clock_first_and_came_second_gets_other_items(database, tmp_path):
    """A request waits for the one before it, with the time at which it came."""
    place = place_of(database, tmp_path, labels=60)

    first = place.desk(ahead=timedelta(milliseconds=1)).screen("bob")
    second = place.desk().screen("ada")

    assert not {task.key for task in first.tasks} & {task.key for task in second.tasks}


def test_two_tabs_of_one_person_never_get_both_copies_of_an_item(database, tmp_path):
    place = place_of(database, tmp_path, labels=30, overlap=1.0)
    desk = place.desk()
    item_of = {row["key"]: row["item_id"] for row in place.scene.rows("select * from tasks")}

    at_once(*[lambda: desk.screen("ada")] * 4)

    held = place.scene.rows("select key from page_tasks where held_by = 'ada'")
    items = [item_of[row["key"]] for row in held]
    assert len(items) == len(set(items)) == AT_ONCE


def test_an_answer_that_comes_twice_at_the_same_moment_is_taken_once(place):
    desk = place.desk()
    key = desk.screen("ada").tasks[0].key

    same = at_once(*[lambda: desk.record_answer("ada", key, Answer.POSITIVE, 0)] * 4)
    two = at_once(
        lambda: desk.record_answer("ada", key, Answer.NEGATIVE, 1),
        lambda: desk.record_answer("ada", key, None, 1),
    )

    assert same == [AnswerOutcome.TAKEN] * 4
    assert sorted(outcome.name for outcome in two) == ["OUTDATED", "TAKEN"]
    assert [row["revision"] for row in place.said] == [1, 2]
