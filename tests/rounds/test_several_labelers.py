"""A monitor with several labelers: who is asked about what, and what waits for whom."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from monitor.domain.errors import LabelsRefused, SourceRefused, TryLater
from monitor.domain.label_parts import AssignedLabeler, role_of
from monitor.domain.state import RoundState
from monitor.rounds import run
from monitor.testing import MemoryLabeler
from tests.rounds.scene import Scene, settings

BY_CLASS = ["flagged", "passed"]
PASSED = ["passed", "otherwise"]  # as rounds of earlier versions may have it


def stored(roles, **of_each):
    """What a round keeps of labelers that have these roles."""
    parts: list[dict[str, Any]] = [{"kind": "files", "for": role} for role in roles]
    for place, changes in of_each.items():
        parts[int(place[1:])] |= changes
    return {"kind": "several", "parts": parts}


@dataclass
class Several(Scene):
    """A scene whose flagged items one labeler answers, and whose passed items another."""

    free: MemoryLabeler = field(default_factory=MemoryLabeler)
    people: MemoryLabeler = field(default_factory=MemoryLabeler)

    @property
    def context(self):
        both = enumerate([self.free, self.people])
        parts = tuple(AssignedLabeler(labeler, part, BY_CLASS[part]) for part, labeler in both)
        return replace(super().context, parts=parts)

    def answer_by(self, labeler):
        """Let a labeler answer all that it was asked."""
        for tasks in labeler.sent.values():
            labeler.answers |= {task.item_id: self.truth[task.item_id] for task in tasks.values()}


class Turned(Several):
    """The same, with the labelers in another order."""

    @property
    def context(self):
        return replace(super().context, labelers=self.of_round)

    def of_round(self, settings):
        """Find the labelers by the roles of a round."""
        by_role = {"flagged": self.free, "passed": self.people}
        roles = [role_of(settings.labeling, part) for part in range(2)]
        return tuple(AssignedLabeler(by_role[role], part, role) for part, role in enumerate(roles))


@pytest.fixture
def scene(database):
    scene = Several(database, settings(labeling=stored(BY_CLASS), overlap=0.5))
    scene.free.asks_people = False
    scene.week(1)
    scene.run(1)
    return scene


def asked(labeler):
    return {task.item_id for tasks in labeler.sent.values() for task in tasks.values()}


def test_answers_arrive_although_another_labeler_is_down(scene):
    scene.answer_by(scene.people)
    scene.free.down = True

    with pytest.raises(TryLater):
        scene.run()

    [answered] = scene.rows("select count(distinct item_id) as items from label_events")
    assert answered["items"] == len(asked(scene.people))


def test_what_one_labeler_says_of_the_items_of_another_is_not_taken(scene):
    scene.people.answers |= {item: scene.truth[item] for item in asked(scene.free)}

    scene.run()

    assert scene.rows("select * from label_events") == []


def test_tasks_go_out_although_a_labeler_before_is_down_and_its_own_once_it_is_back(database):
    scene = Several(database, settings(labeling=stored(BY_CLASS)))
    scene.free.down = True
    scene.week(1)
    with pytest.raises(TryLater):
        scene.run(1)
    assert asked(scene.people)
    assert asked(scene.people).isdisjoint(scene.flagged())

    scene.free.down = False
    run.run(scene.context)

    assert asked(scene.free)
    assert asked(scene.free) <= scene.flagged()


def test_a_labeler_keeps_its_items_when_the_list_is_turned_round(scene):
    scene.answer_by(scene.free)
    scene.answer_by(scene.people)
    scene.run()
    turned = Turned(scene.database, scene.settings.model_copy(update={"labeling": stored(PASSED)}))
    turned.__dict__ |= {
        name: getattr(scene, name) for name in ("source", "truth", "free", "people")
    }
    turned.week(2)
    turned.run(2)
    turned.answer_by(turned.free)
    turned.answer_by(turned.people)
    turned.run()

    flagged = turned.flagged()
    assert {item in flagged for item in asked(turned.free)} == {True}
    assert turned.round(2).state is RoundState.CLOSED


def test_what_was_said_of_passed_items_is_kept_while_the_labels_of_flagged_ones_are_late(scene):
    scene.answer_by(scene.people)
    scene.now += timedelta(days=6)  # the deadline is over
    with pytest.raises(LabelsRefused, match="is the labeler of flagged items running"):
        scene.run()

    scene.answer_by(scene.free)
    scene.run()

    assert scene.round(1).state is RoundState.CLOSED


def test_such_a_round_is_abandoned_once_labels_are_not_even_late(scene):
    scene.answer_by(scene.people)
    scene.now += timedelta(days=96)
    with pytest.raises(SourceRefused):  # of the weeks since, which nobody predicted
        scene.run()

    assert scene.round(1).state is RoundState.ABANDONED


def test_only_people_get_second_copies(database):
    labeling = stored(BY_CLASS, _1={"overlap": 0.25})
    scene = Several(database, settings(labeling=labeling, overlap=0.25))
    scene.week(1)
    scene.run(1)

    copies = {
        name: sum(task.slot == 2 for tasks in one.sent.values() for task in tasks.values())
        for name, one in {"free": scene.free, "people": scene.people}.items()
    }

    assert copies["free"] == 0
    assert copies["people"] > 0
