"""A block whose monitors share the labeling page, and people who name classes there."""

from dataclasses import replace
from pathlib import Path

from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.model import Answer
from monitor.domain.page_answer import ClassChosen
from monitor.domain.sample_settings import Bands, Sample
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.pages.labeling.outcome import AnswerOutcome
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.storage.database import Database
from tests.rounds.class_block import CLASSES, ClassBlock, OfClass
from tests.rounds.scene import MONDAY, WEEK
from tests.service.pages.people import hand

QUESTION = "What is this mail about?"
AVERAGES = "select payload from effects where kind = 'class_averages' order by id"
SAMPLE = Sample(max_labels=24, bands=Bands(flagged=1, passed=1))


class OnPage(OfClass):
    """The monitor of one class, whose rounds ask as they were opened."""

    block: "ClassPage"

    @property
    def context(self):
        return replace(
            super().context,
            labeler=self.block.labeler(self.settings),
            labelers=lambda of_round: (AssignedLabeler(self.block.labeler(of_round)),),
        )


class ClassPage(ClassBlock):
    """A block that has one page for all of its monitors."""

    kind = OnPage

    def __init__(self, database: Database, folder: Path, classes=CLASSES, *, sample=SAMPLE, **more):
        self.folder, self.now = folder, MONDAY
        self.asked = {"question": QUESTION, "answer": "class", **more.pop("asked", {})}
        super().__init__(database, classes, sample=sample, **more)

    def labeler(self, of_round):
        asked = PageSettings.model_validate(self.asked)
        return PageLabeler(asked, self.folder, lambda: self.now, self.database, of_round.block)

    def run(self, *values, number=None):
        """Look at the monitors of some classes, or of all, in this order."""
        if number is not None:
            self.now = MONDAY + (number - 1) * WEEK
        for value in values or self.monitors:
            self[value].now = self.now
            self[value].run()

    def states(self):
        return {value: str(scene.round(1).state) for value, scene in self.monitors.items()}

    def estimates(self):
        """All that the rounds estimate."""
        query = (
            "select m.name, r.number, e.metric, e.estimand, e.basis, e.point, e.low, e.high "
            "from estimates e join rounds r on r.id = e.round_id "
            "join monitors m on m.id = r.monitor_id order by 1, 2, 3, 4, 5"
        )
        return self.rows(query)

    def averages(self):
        """All that was reported of the classes together."""
        return [row["payload"] for row in self.rows(AVERAGES)]

    # The page

    def desk(self, *values):
        """The page of the monitors of some classes, or of all."""
        names = [self[value].name for value in values or self.monitors]
        return TaskQueue(self.database, lambda: self.now, lambda: names)

    @property
    def items(self):
        """The item that each task on the page is about."""
        query = (
            "select distinct s.page_key, t.item_id from page_shares s join tasks t on "
            "t.key = s.task_key"
        )
        return {row["page_key"]: row["item_id"] for row in self.rows(query)}

    def chosen(self, item):
        """What somebody says who knows the truth."""
        truth = self.truth[item]
        if truth is None:
            return Answer.CANNOT_TELL
        return ClassChosen([*self.monitors].index(truth)) if truth in self.monitors else Answer("0")

    def answer(self, who="ada", *, at_most=10_000, desk=None):
        """Let somebody answer what is asked of them; returns the items in that order."""
        said: list[str] = []
        desk = desk or self.desk()
        while len(said) < at_most and (tasks := desk.screen(who).tasks):
            items = self.items
            for task in tasks[: at_most - len(said)]:
                item = items[task.key]
                outcome = desk.record_answer(who, task.key, self.chosen(item), task.revision)
                assert outcome is AnswerOutcome.TAKEN
                said.append(item)
        return said

    def record_answer(self, item, answer, who="ada", desk=None):
        """Let somebody say something else about an item; returns what came of it."""
        key = {of: key for key, of in self.items.items()}[item]
        query = (
            "select max(revision) as n from page_answers where task_key = :key and annotator = :who"
        )
        [row] = self.rows(query, key=key, who=who)
        hand(self.database, key, who)
        return (desk or self.desk()).record_answer(who, key, answer, row["n"] or 0)

    # What the rounds have

    def drawn(self, value):
        """Items of a class's rounds."""
        query = (
            "select i.id from items i join rounds r on r.id = i.round_id "
            "join monitors m on m.id = r.monitor_id where m.name = :name"
        )
        return {row["id"] for row in self.rows(query, name=self[value].name)}

    def labels(self, value, who="ada"):
        """What stands of somebody's answers in a class's rounds, by item."""
        query = (
            "select e.item_id, e.answer from label_events e join rounds r on r.id = e.round_id "
            "join monitors m on m.id = r.monitor_id "
            "where m.name = :name and e.annotator = :who order by e.at, e.id"
        )
        rows = self.rows(query, name=self[value].name, who=who)
        found = {row["item_id"]: row["answer"] for row in rows}
        return {item: answer for item, answer in found.items() if answer is not None}

    def wanted(self, value, items=None):
        """The labels that a class's rounds are to have by the truth, of some items or all."""
        drawn = self.drawn(value) if items is None else self.drawn(value) & set(items)
        return {item: "1" if self.truth[item] == value else "0" for item in drawn}
